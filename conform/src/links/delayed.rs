//! Delays, in an order that a seed determines.

use crate::numbers::Numbers;
use std::collections::VecDeque;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};

/// A link that holds parcels back for a number of polls that it draws from a seed. Those of one
/// rank stay in order.
#[derive(Debug)]
pub struct Delayed<L> {
    inner: L,
    numbers: Numbers,
    /// By rank: what is held back.
    held: Vec<VecDeque<Vec<u8>>>,
    /// Losses whose ranks' parcels are not all passed on.
    losses: Vec<Lost>,
    /// A parcel is passed on by one poll in this many.
    odds: usize,
}

impl<L: Link> Delayed<L> {
    /// Wraps `inner`; each poll passes on one parcel of a rank with a probability of one in `odds`,
    /// and continues while it draws so.
    ///
    /// # Panics
    /// If `odds` is 0.
    pub fn new(inner: L, odds: usize, seed: u64) -> Self {
        assert_ne!(odds, 0, "a probability of one in none");
        Self {
            held: (0..inner.ranks()).map(|_| VecDeque::new()).collect(),
            inner,
            numbers: Numbers(seed),
            losses: Vec::new(),
            odds,
        }
    }
}

impl<L: Link> Link for Delayed<L> {
    fn here(&self) -> Rank {
        self.inner.here()
    }

    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.inner.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.inner.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let Self {
            inner,
            held,
            losses,
            numbers,
            odds,
        } = self;
        let polled = inner.poll(&mut |from, parcel| held[from.index()].push_back(parcel.to_vec()));
        losses.extend(polled.err());
        let mut moved = polled == Ok(true);
        for (rank, queue) in held.iter_mut().enumerate() {
            while !queue.is_empty() && numbers.below(*odds) == 0 {
                if let Some(parcel) = queue.pop_front() {
                    take(Rank(rank as u32), &parcel);
                    moved = true;
                }
            }
        }
        let through = losses
            .iter()
            .position(|lost| held[lost.rank.index()].is_empty());
        through.map_or(Ok(moved), |at| Err(losses.remove(at)))
    }

    fn arm(&mut self) -> bool {
        let holds_nothing = self.losses.is_empty() && self.held.iter().all(VecDeque::is_empty);
        holds_nothing && self.inner.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.inner.unsent(to)
    }
}
