//! Links with a fault, around any link.

use super::Broken;
use crate::links::Plain;
use crate::{carries, loses, waits};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};

/// A fault of a [`Faulty`] link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A parcel is lost.
    Lose,
    /// A parcel arrives twice.
    Double,
    /// A parcel is overtaken by the next one for the same rank.
    Swap,
    /// The bit of a parcel at this position, modulo its length, is flipped.
    Flip(usize),
    /// A parcel arrives without its last byte.
    Cut,
    /// A parcel arrives with a byte more.
    Extend,
    /// Empty parcels do not arrive.
    DropEmpty,
    /// The bell is not heard.
    Deaf,
    /// The loss of a rank is not reported.
    HideLoss,
    /// The loss of a rank is reported by every poll that follows.
    RepeatLoss,
    /// Parcels that have not been passed on are dropped when their sender is lost.
    LoseLast,
    /// All parcels seem to come from the next rank.
    Renamed,
    /// Parcels are dropped once 1000 were sent since the last poll.
    Overflow,
    /// Parcels that were sent seem to wait for ever.
    Stuck,
}

/// A link with a fault.
#[derive(Debug)]
pub struct Faulty<L> {
    inner: L,
    fault: Fault,
    /// Parcels to be sent before the one that suffers.
    before: usize,
    swapped: Option<(Rank, Vec<u8>)>,
    /// Parcels sent since the last poll.
    burst: usize,
    /// A loss that was reported.
    lost: Option<Lost>,
}

impl<L: Link> Faulty<L> {
    /// Wraps `inner`. A fault that concerns one parcel concerns the one sent after `before` others.
    pub fn new(inner: L, fault: Fault, before: usize) -> Self {
        Self {
            inner,
            fault,
            before,
            swapped: None,
            burst: 0,
            lost: None,
        }
    }

    /// Sends the parcel that suffers.
    fn spoil(&mut self, to: Rank, parcel: &[u8]) {
        let mut spoilt = parcel.to_vec();
        match self.fault {
            Fault::Lose => return,
            Fault::Double => self.inner.send(to, parcel),
            Fault::Swap => {
                self.swapped = Some((to, spoilt));
                return;
            }
            Fault::Flip(bit) if !spoilt.is_empty() => {
                let bit = bit % (8 * spoilt.len());
                spoilt[bit / 8] ^= 1 << (bit % 8);
            }
            Fault::Cut => drop(spoilt.pop()),
            Fault::Extend => spoilt.push(0),
            _ => {}
        }
        self.inner.send(to, &spoilt);
    }
}

/// The bell of a [`Faulty`] link.
struct Unsure {
    inner: Arc<dyn Bell>,
    is_heard: bool,
}

impl Bell for Unsure {
    fn ring(&self) {
        if self.is_heard {
            self.inner.ring();
        }
    }

    fn wait(&self, ticks: u64) {
        self.inner.wait(ticks);
    }
}

impl<L: Link> Link for Faulty<L> {
    fn here(&self) -> Rank {
        self.inner.here()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(Unsure {
            inner: self.inner.bell(),
            is_heard: self.fault != Fault::Deaf,
        })
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        if self.fault == Fault::DropEmpty && parcel.is_empty() {
            return;
        }
        self.burst += 1;
        if self.fault == Fault::Overflow && self.burst > 1000 {
            return;
        }
        let suffers = self.before == 0;
        self.before = self.before.wrapping_sub(1);
        if suffers {
            self.spoil(to, parcel);
        } else {
            self.inner.send(to, parcel);
        }
        if let Some((_, swapped)) = self.swapped.take_if(|(rank, _)| *rank == to && !suffers) {
            self.inner.send(to, &swapped);
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.burst = 0;
        let ranks = self.ranks();
        let mut last = Vec::new();
        let polled = self.inner.poll(&mut |from, parcel| match self.fault {
            Fault::Renamed => take(Rank((from.0 + 1) % ranks), parcel),
            Fault::LoseLast => last.push((from, parcel.to_vec())),
            _ => take(from, parcel),
        });
        for (from, parcel) in last {
            if polled.err().is_none_or(|lost| lost.rank != from) {
                take(from, &parcel);
            }
        }
        match (self.fault, polled) {
            (Fault::HideLoss, Err(_)) => Ok(false),
            (Fault::RepeatLoss, Err(lost)) => Err(*self.lost.insert(lost)),
            (Fault::RepeatLoss, _) => self.lost.map_or(polled, Err),
            _ => polled,
        }
    }

    fn arm(&mut self) -> bool {
        self.inner.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        let stuck = usize::from(self.fault == Fault::Stuck);
        self.inner.unsent(to) + stuck
    }
}

/// Returns a function that connects [`Plain`] links with a fault at the parcel after `before`
/// others.
fn faulty(fault: Fault, before: usize) -> impl Fn(u32) -> Vec<Faulty<Plain>> {
    move |ranks| {
        let links = Plain::new(ranks).into_iter();
        links.map(|link| Faulty::new(link, fault, before)).collect()
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let judged = |suite, faults: &[Fault], judge: fn(Fault)| {
        let broken = |fault| Broken::new(("Link", suite), fault, move || judge(fault));
        faults.iter().copied().map(broken).collect::<Vec<_>>()
    };
    let spoilt = [
        Lose,
        Double,
        Swap,
        Flip(12),
        Cut,
        Extend,
        DropEmpty,
        Renamed,
        Overflow,
        Stuck,
    ];
    let all = [
        judged("carries", &spoilt, |fault| carries(faulty(fault, 3))),
        judged("loses", &[HideLoss, RepeatLoss, LoseLast], |fault| {
            loses(faulty(fault, 0));
        }),
        judged("waits", &[Deaf], |fault| waits(faulty(fault, 0))),
    ];
    all.into_iter().flatten().collect()
}
