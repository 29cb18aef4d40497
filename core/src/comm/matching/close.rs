//! The end of the receives of a rank, which may still send.
//!
//! # Algorithm
//! A rank whose program has ended notifies the others, which end the sends that it has not claimed:
//! none of two ranks that leave waits for the other one's receives. Messages without an offer are
//! accounted for in [`unreceived`](super::unreceived).

use super::Incoming;
use super::messenger::{Messenger, Peer, Place};
use super::packet::{Packet, Unexpected};
use super::unreceived::Unreceived;
use crate::comm::error::Error;
use crate::comm::message::{CommId, Envelope};
use crate::comm::operation::Effect;
use crate::comm::outcome::unreceived;
use crate::id::Rank;
use crate::machine::Step;
use core::mem;

impl<K: Copy + Eq> Messenger<K> {
    /// Ends the receives of this rank, now and in future, with [`Error::Closed`], except for those
    /// whose message was claimed; sends continue until they have ended. Messages that no receive
    /// has taken are dropped, also those that arrive later. Sends of other ranks to this one of
    /// which the message is not here end with an error; the others are [counted](Self::unreceived).
    pub(super) fn close(&mut self, step: &mut Step<'_, Self>) {
        if mem::replace(&mut self.is_closed, true) {
            return;
        }
        let dropped = self.matched(step, |matching, mut ended| matching.close(&mut ended));
        for message in dropped {
            self.drop_unreceived(message, step);
        }
        for (rank, peer) in (0..).map(Rank).zip(&self.peers) {
            let messages = peer.short.arrived();
            step.send(rank, Packet::Closed { messages });
        }
    }

    /// A rank receives no more, at which `messages` had arrived.
    ///
    /// # Errors
    /// If fewer were sent.
    pub(super) fn closed(
        &mut self,
        from: Rank,
        messages: u64,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Unexpected> {
        self.peers[from.index()].short.close(messages)?;
        self.offers.refuse(from, |key| {
            step.effect(Effect::Ended(key, Err(unreceived(from))))
        });
        self.acknowledge(from, step);
        Ok(())
    }

    /// A message has come without an offer.
    pub(super) fn count_arrived(&mut self, from: Rank, step: &mut Step<'_, Self>) {
        if !self.is_closed {
            self.peers[from.index()].short.count_arrived();
            self.acknowledge(from, step);
        }
    }

    /// Lets a rank that has closed know which of its messages have arrived, while this one
    /// receives.
    fn acknowledge(&self, rank: Rank, step: &mut Step<'_, Self>) {
        let short = &self.peers[rank.index()].short;
        let messages = short.arrived();
        if !self.is_closed && short.is_closed() && messages > 0 {
            step.send(rank, Packet::Arrived { messages });
        }
    }

    /// Drops a message that no receive has taken, of which its sender may not know.
    pub(super) fn drop_unreceived(&mut self, message: Incoming<Place>, step: &mut Step<'_, Self>) {
        let Envelope { source, tag, .. } = message.envelope;
        if matches!(message.body, Place::Here(_)) {
            self.peers[source.index()].short.count_dropped(tag);
        }
        self.discard(message, step);
    }

    /// Whether each message that was sent without an offer has arrived, or counts as
    /// [unreceived](Self::unreceived). To be asked once this rank has closed: no other acknowledges
    /// before.
    pub fn is_settled(&self) -> bool {
        let is_settled = |peer: &Peer| peer.lost.is_some() || peer.short.is_settled();
        self.peers.iter().all(is_settled)
    }

    /// Returns the messages without an offer of which this rank alone knows that no receive has
    /// taken them: those that were dropped here, and those sent from here that arrived after their
    /// receiver had closed. Their sends have ended without an error.
    pub fn unreceived(&self) -> impl Iterator<Item = Unreceived> {
        let here = self.here;
        let peers = (0..).map(Rank).zip(&self.peers);
        peers.flat_map(move |(peer, state)| state.short.unreceived(here, peer))
    }

    /// Returns the end of an operation on a communicator that was freed.
    pub(super) fn freed(&self, comm: CommId) -> Error {
        match self.is_closed {
            true => Error::Closed,
            false => Error::Freed { comm },
        }
    }
}
