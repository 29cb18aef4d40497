//! Operations of groups that have lost a rank, where losses are tolerated.
//!
//! # Algorithm
//! Each receiver decides how its operation continues without the rank: a collective call ends with
//! the loss, a finish once the activities of the ranks that are left have ended. A rank that has
//! seen its operation end may leave, before others know of the loss by themselves. A rank reports
//! the losses that it knows before its goodbye ([`wire`](crate::wire)), so they know them then, but
//! not which operations it has ended, and which it will never make. So all that are open here end
//! by the loss, as they would have later. Nor need ranks make the same calls then, since a call may
//! have ended without the lost rank at some of them only.

use super::state::State;
use crate::group::Group;
use crate::id::Rank;
use crate::wire::{Error, Receiver};
use alloc::sync::Arc;
use alloc::vec::Vec;

impl State {
    /// Returns the receivers of the operations of the groups with a rank.
    pub(super) fn receivers_with(&self, rank: Rank) -> Vec<Arc<dyn Receiver>> {
        let those = self.receivers_of(move |group| group.rank_of(rank).is_some());
        those.map(|(_, receiver)| receiver).collect()
    }

    /// Returns the losses of ranks of a group.
    pub(super) fn losses_of(&self, group: &Group) -> impl Iterator<Item = &Error> {
        let losses = self.losses.iter();
        losses.filter(|error| group.rank_of(error.peer).is_some())
    }

    /// Returns the first loss of a rank of a group.
    pub(super) fn loss_of(&self, group: &Group) -> Option<&Error> {
        self.losses_of(group).next()
    }

    /// Returns the loss because of which a rank of a group may have left: operations end by it,
    /// which that rank may not have made, or may have ended before.
    pub(super) fn loss_that_left(&self, group: &Group) -> Option<&Error> {
        let mut left = self.left.iter();
        let has_left = left.any(|rank| group.rank_of(*rank).is_some());
        self.loss_of(group).filter(|_| has_left)
    }

    /// Returns the receivers of the operations that end because a rank has left, each with a loss
    /// in its group.
    pub(super) fn abandoned_by(&self, rank: Rank) -> Vec<(Arc<dyn Receiver>, Error)> {
        let receivers = self.receivers_of(|group| group.rank_of(rank).is_some());
        let with_loss = |(group, receiver): (&Group, _)| {
            let loss = self.loss_of(group)?;
            Some((receiver, loss.clone()))
        };
        receivers.filter_map(with_loss).collect()
    }
}
