//! Messages about instances.

use super::Owned;
use super::parts::{insert, remove};
use crate::id::Rank;
use alloc::vec::Vec;
use core::ops::Range;

/// The report of a rank about an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Account {
    /// The sections of the iterations executed, in order: the number of iterations, and their work.
    pub sections: Vec<(u64, u64)>,
    /// The sum, over those of these iterations that the rank executed in the last instance too, of
    /// the shorter of both times.
    pub same: u64,
    /// The sum of the longer times.
    pub all: u64,
    /// The iterations that have yet to be executed.
    pub left: u64,
    /// The number of the newest plan of which all iterations that the rank is to receive have
    /// arrived.
    pub ready: u64,
}

/// A message between the [`Deferred`](crate::defer::Deferred)s of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Notice {
    /// The accounts of the ranks of a subtree about this instance, in order; for the parent.
    Accounts(u64, Vec<Account>),
    /// This instance begins; for the children.
    Next {
        /// Its number.
        instance: u64,
        /// Whether the plan takes effect: all data has arrived.
        switch: bool,
        /// A new plan: the moves that concern the subtree.
        plan: Option<Vec<Move>>,
    },
    /// A new plan in the course of an instance; for the children.
    Plan(Vec<Move>),
    /// The data of these iterations, for the plan of this number. Not a state that executions
    /// change: the sender executes them at least once more.
    Data(u64, Range<u64>),
}

/// Iterations that move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Move {
    /// The rank that executes them so far.
    pub from: Rank,
    /// The rank that will execute them.
    pub to: Rank,
    /// The iterations.
    pub part: Range<u64>,
}

/// Moves that take effect once all data has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// The number of plans so far, including this one.
    pub(super) number: u64,
    pub(super) moves: Vec<Move>,
}

impl Plan {
    /// Moves iterations between the ranks from `first` on.
    pub(super) fn apply(&self, first: Rank, owned: &mut [Owned]) {
        let at = |rank: Rank| rank.0.checked_sub(first.0).map(|at| at as usize);
        for Move { from, part, .. } in &self.moves {
            if let Some(own) = at(*from).and_then(|at| owned.get_mut(at)) {
                remove(own, part);
            }
        }
        for Move { to, part, .. } in &self.moves {
            if let Some(own) = at(*to).and_then(|at| owned.get_mut(at)) {
                insert(own, part.clone());
            }
        }
    }
}

/// The proposal of a geometry.
pub(super) struct Proposal {
    /// The most work of a rank once all of it is done.
    pub(super) most: u64,
    /// The most iterations that one rank, or one split point, has to move for it.
    pub(super) shift: u64,
    /// The first step: what the bandwidth permits.
    pub(super) moves: Vec<Move>,
}
