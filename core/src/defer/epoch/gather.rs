//! The tokens of a subtree, on their way up.
//!
//! A token is the difference between what is known of a rank and what was passed on about it. Each
//! chunk begun is a credit, and so is a rank without iterations, once an epoch. A node passes
//! tokens on when it has as many credits as its subtree has ranks, less those that were reported
//! hungry in this epoch and may have nothing more to report.

use super::message::Progress;
use crate::defer::Refusal;
use crate::id::Rank;
use alloc::vec::Vec;
use core::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gather {
    ranks: Range<u32>,
    known: Vec<Progress>,
    /// The report that the parent has of the same ranks.
    passed: Vec<Progress>,
    started: u64,
}

impl Gather {
    /// Creates the state of the node whose subtree is `ranks`. `left` is what a rank has to begin
    /// with.
    pub(super) fn new(ranks: Range<u32>, left: impl Fn(u32) -> u64) -> Self {
        let start = |rank| Progress {
            left: left(rank),
            ..Progress::default()
        };
        let known: Vec<Progress> = ranks.clone().map(start).collect();
        Self {
            ranks,
            passed: known.clone(),
            known,
            started: 0,
        }
    }

    /// Returns the ranks of the subtree.
    pub(super) fn ranks(&self) -> Range<u32> {
        self.ranks.clone()
    }

    /// Returns the iterations of the subtree that have begun.
    pub(super) fn started(&self) -> u64 {
        self.started
    }

    /// Returns the newest reports, by rank of the subtree, each with the one passed on before.
    pub(super) fn reports(&self) -> impl Iterator<Item = (&Progress, &Progress)> {
        self.known.iter().zip(&self.passed)
    }

    /// Checks reports about the ranks of `child`'s subtree; no number exceeds that of the epoch, of
    /// the iterations, and the work.
    pub(super) fn check(
        &self,
        tokens: &[(Rank, Progress)],
        child: &Range<u32>,
        (epoch, n, whole): (u64, u64, u64),
    ) -> Result<(), Refusal> {
        let mut next = child.start;
        let mut started = self.started;
        for (rank, progress) in tokens {
            if !(next..child.end).contains(&rank.0) {
                return Err(Refusal::Names(*rank));
            }
            next = rank.0 + 1;
            let known = &self.known[self.at(*rank)];
            if progress.check(*rank, known, (epoch, n, whole))? {
                started += progress.started - known.started;
            }
            if started > n {
                return Err(Refusal::Count);
            }
        }
        Ok(())
    }

    /// Records a report, unless a newer one is known.
    pub(super) fn record(&mut self, rank: Rank, progress: Progress) {
        let at = self.at(rank);
        let known = &mut self.known[at];
        let (new, old) = (&progress, &*known);
        if (new.chunks, new.hungry, new.epoch) > (old.chunks, old.hungry, old.epoch) {
            self.started += progress.started - known.started;
            *known = progress;
        }
    }

    /// Returns the number of chunks begun that were not passed on.
    pub(super) fn chunks(&self) -> u64 {
        let credit = |(known, passed): (&Progress, &Progress)| known.chunks - passed.chunks;
        self.reports().map(credit).sum()
    }

    /// Returns whether enough tokens of `epoch` are here to pass them on.
    pub(super) fn is_due(&self, epoch: u64) -> bool {
        let is_hungry = |progress: &Progress| progress.hungry == epoch + 1;
        let (mut credits, mut ranks) = (self.chunks(), self.ranks.len() as u64);
        for (known, passed) in self.reports() {
            if is_hungry(passed) {
                ranks -= 1;
            } else if is_hungry(known) {
                credits += 1;
            }
        }
        credits >= ranks.max(1)
    }

    /// Returns the news since the last call, to be passed on.
    pub(super) fn pass(&mut self) -> Vec<(Rank, Progress)> {
        let ranks = self.ranks.clone().map(Rank).zip(&self.known);
        let new = ranks.zip(&self.passed).filter(|((_, k), p)| *k != *p);
        let new = new.map(|((rank, known), _)| (rank, *known)).collect();
        self.passed.clone_from(&self.known);
        new
    }

    fn at(&self, rank: Rank) -> usize {
        (rank.0 - self.ranks.start) as usize
    }
}
