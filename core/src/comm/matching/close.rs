//! The end of the receives of a rank, which may still send.
//!
//! # Algorithm
//! A rank whose program has ended notifies the others, which end the sends that it has not claimed: none of two ranks that leave
//! waits for the other one's receives.

use super::messenger::Messenger;
use super::packet::{Mail, Packet};
use crate::comm::error::Error;
use crate::comm::message::CommId;
use crate::id::Rank;
use core::mem;

impl<M: Mail> Messenger<M> {
    /// Ends the receives of this rank, now and in future, with [`Error::Closed`], except for those whose message was claimed; sends
    /// continue until they have ended. Messages that no receive has taken are dropped, also those that arrive later. Sends of other
    /// ranks to this one of which the message is not here end with an error.
    pub fn close(&mut self) {
        if mem::replace(&mut self.is_closed, true) {
            return;
        }
        self.step(|matching, mut ended| matching.close(&mut ended));
        for rank in (0..self.mail.ranks()).map(Rank) {
            self.mail.send(rank, Packet::Closed);
        }
    }

    /// Returns the end of an operation on a communicator that was freed.
    pub(super) fn freed(&self, comm: CommId) -> Error {
        match self.is_closed {
            true => Error::Closed,
            false => Error::Freed { comm },
        }
    }
}
