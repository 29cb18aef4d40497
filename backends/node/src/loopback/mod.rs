//! Ranks inside one process: a link of threads, for tests and as the first world.
//!
//! # Algorithm
//! From each rank to each other leads a ring ([`tautline_core::channel`]). A parcel is a record, or
//! several if it is longer than a piece: the first one begins with the length of the parcel. What
//! does not fit into the ring waits in a queue of its sender. A rank that waits marks the rings
//! that it waits for, and sleeps on its bell. What comes through a ring is checked: a rank that
//! garbles one is lost for the other end.
//!
//! # Words
//! `Shared::gone`: set by each rank when its end is dropped. The rings have their own.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | LB1 | `Loopback::drop` sets `gone` | `poll` and `send` load it | the last records of the rank that is gone | the rings: `verify/tests/channel.rs` |
#![forbid(unsafe_code)]

#[cfg(test)]
mod garbled;
mod pair;
mod signal;

use pair::{Inward, Outward};
use signal::Signal;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_core::Rank;
use tautline_core::channel::Local;
use tautline_core::port::{Bell, Link, Lost};

/// Words of a ring.
const UNITS: usize = 1 << 12;

/// One rank's link to the other ranks of this process. A parcel has at most 1 GiB; sending a longer one panics.
///
/// ```
/// use tautline_core::port::Link;
/// use tautline_core::Rank;
/// use tautline_node::Loopback;
///
/// let [mut zero, mut one] = Loopback::all::<2>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || {
///         zero.send(Rank(1), b"hello");
///         while zero.unsent(Rank(1)) > 0 {
///             zero.poll(&mut |_, _| ()).expect("rank 1 waits for the parcel");
///         }
///     });
///     let mut got = Vec::new();
///     while got.is_empty() {
///         one.wait(1_000_000);
///         // Rank 0 ends after its parcel.
///         let _ = one.poll(&mut |from, parcel| got.push((from, parcel.to_vec())));
///     }
///     assert_eq!(got, [(Rank(0), b"hello".to_vec())]);
/// });
/// ```
pub struct Loopback {
    here: Rank,
    shared: Arc<Shared>,
    /// By rank; `None` at this one.
    peers: Vec<Option<Peer>>,
}

/// What all ranks share.
struct Shared {
    bells: Vec<Arc<Signal>>,
    gone: Vec<AtomicBool>,
}

/// Another rank.
struct Peer {
    out: Outward,
    inward: Inward,
    presence: Presence,
}

#[derive(Clone, Copy)]
enum Presence {
    Present,
    /// It is gone, or garbles the rings: what this rank was doing when it noticed.
    Lost(&'static str),
    /// Its loss was reported.
    Reported,
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the loopback link of {} of {}", self.here, self.ranks())
    }
}

impl Loopback {
    /// Connects `ranks` ranks. Dropping a link is the loss of its rank for the others; what they
    /// have not received of it by then still arrives, but for what waited for room.
    ///
    /// # Panics
    /// If `ranks` is 0.
    pub fn new(ranks: u32) -> Vec<Self> {
        Self::with_rings(ranks, UNITS)
    }

    /// As [`new`](Self::new), as an array.
    ///
    /// # Panics
    /// If `N` is 0.
    pub fn all<const N: usize>() -> [Self; N] {
        let all = Self::new(u32::try_from(N).expect("few ranks"));
        all.try_into().expect("one link for each rank")
    }

    /// As [`new`](Self::new), with rings of `units` words each: a power of two, at least 8.
    ///
    /// # Panics
    /// If `ranks` is 0, or `units` is not as stated.
    pub fn with_rings(ranks: u32, units: usize) -> Vec<Self> {
        assert_ne!(ranks, 0, "ranks of a program");
        assert!(units >= 8, "{units} words of a ring: at least 8");
        let ring = || Arc::new(Local::new(units));
        let rings: Vec<Vec<_>> = (0..ranks)
            .map(|_| (0..ranks).map(|_| ring()).collect())
            .collect();
        Self::over(&rings)
    }

    /// Connects ranks through `rings`, by sender and receiver.
    fn over(rings: &[Vec<Arc<Local>>]) -> Vec<Self> {
        let ranks = rings.len() as u32;
        let shared = Arc::new(Shared {
            bells: (0..ranks).map(|_| Arc::default()).collect(),
            gone: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
        });
        let link = |here: u32| Self {
            here: Rank(here),
            shared: shared.clone(),
            peers: (0..ranks as usize)
                .map(|there| {
                    let at = here as usize;
                    (there != at).then(|| Peer {
                        out: Outward::new(rings[at][there].clone()),
                        inward: Inward::new(rings[there][at].clone()),
                        presence: Presence::Present,
                    })
                })
                .collect(),
        };
        (0..ranks).map(link).collect()
    }
}

impl Shared {
    fn is_gone(&self, rank: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in drop (LB1): its last records are in the rings;
        // no mutant: no model runs the threads' links.
        self.gone[rank].load(Ordering::Acquire)
    }
}

impl Peer {
    /// Moves what waits for the other rank, and passes what has arrived from it to `take`. Returns whether anything moved.
    fn poll(&mut self, rank: Rank, shared: &Shared, take: &mut dyn FnMut(&[u8])) -> bool {
        if !matches!(self.presence, Presence::Present) {
            return false;
        }
        self.try_poll(rank.index(), shared, take)
            .unwrap_or_else(|doing| {
                self.out.drop_all();
                self.presence = Presence::Lost(doing);
                true
            })
    }

    fn try_poll(
        &mut self,
        rank: usize,
        shared: &Shared,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, &'static str> {
        let bell = &*shared.bells[rank];
        // Before its ring is read: what it sent last is then in the ring.
        let is_gone = shared.is_gone(rank);
        let pushed = if is_gone {
            self.out.drop_all();
            Ok(false)
        } else {
            self.out.push(bell)
        };
        let (moved, is_empty) = self.inward.drain(bell, take)?;
        if is_gone && is_empty {
            return Err("receiving from it");
        }
        Ok(pushed? | moved)
    }

    /// Marks the rings as waited for. Returns false if there is something to do at once.
    fn arm(&mut self, bell: &Signal) -> bool {
        self.out.push(bell).is_ok() && self.inward.sleep() && self.out.sleep()
    }
}

impl Link for Loopback {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.shared.bells[self.here.index()].clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        let ranks = self.peers.len();
        let peer = self.peers.get_mut(to.index()).and_then(Option::as_mut);
        let Some(peer) = peer else {
            panic!("{} sends to {to} of {ranks}", self.here);
        };
        if matches!(peer.presence, Presence::Present) && !self.shared.is_gone(to.index()) {
            peer.out.send(parcel);
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let Self { shared, peers, .. } = self;
        let mut moved = false;
        let mut found = None;
        for (rank, peer) in (0..).map(Rank).zip(peers) {
            let Some(peer) = peer else { continue };
            moved |= peer.poll(rank, shared, &mut |parcel| take(rank, parcel));
            if let (Presence::Lost(doing), None) = (peer.presence, &found) {
                peer.presence = Presence::Reported;
                found = Some(Lost { rank, doing });
            }
        }
        found.map_or(Ok(moved), Err)
    }

    fn arm(&mut self) -> bool {
        let Self { shared, peers, .. } = self;
        let mut may_sleep = true;
        for (rank, peer) in peers.iter_mut().enumerate() {
            let Some(peer) = peer else { continue };
            may_sleep &= match peer.presence {
                Presence::Present => {
                    let may_sleep = peer.arm(&shared.bells[rank]);
                    // After the marks: a rank that goes later rings.
                    may_sleep && !shared.is_gone(rank)
                }
                Presence::Lost(_) => false,
                Presence::Reported => true,
            };
        }
        may_sleep
    }

    fn unsent(&self, to: Rank) -> usize {
        let peer = self.peers.get(to.index()).and_then(Option::as_ref);
        peer.map_or(0, |p| p.out.unsent())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let Self {
            shared,
            peers,
            here,
        } = self;
        for (rank, peer) in peers.iter_mut().enumerate() {
            if let Some(peer) = peer {
                let _ = peer.out.push(&shared.bells[rank]);
            }
        }
        // ORDERING: Release, pairs with Acquire in is_gone (LB1): the last records of this rank;
        // no mutant: as there.
        shared.gone[here.index()].store(true, Ordering::Release);
        for bell in &shared.bells {
            bell.ring();
        }
    }
}
