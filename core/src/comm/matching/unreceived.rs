//! Messages without an offer that no receive takes: each is counted at one rank.
//!
//! # Algorithm
//! The send of such a message ends before the message arrives. If it arrives while its receiver
//! still receives, the receiver counts it once it is dropped; if later, the sender: the receiver's
//! [`Packet::Closed`](super::Packet::Closed) has the number of those that had arrived before. A
//! sender that closes waits for that of each receiver, or for its acknowledgement
//! ([`Packet::Arrived`](super::Packet::Arrived)). So no message is on its way between two ranks
//! that have both left.

use super::packet::Unexpected;
use crate::comm::message::Tag;
use crate::id::Rank;

/// Messages from one rank to another that no receive has taken, and whose sends have ended without
/// an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreceived {
    /// Their sender.
    pub from: Rank,
    /// Their receiver.
    pub to: Rank,
    /// Their number.
    pub messages: u64,
    /// The tag of the last.
    pub last: Tag,
}

/// Messages: their number, and the tag of the last.
type Count = Option<(u64, Tag)>;

fn count(messages: &mut Count, tag: Tag) {
    *messages = Some((number(*messages) + 1, tag));
}

fn number(messages: Count) -> u64 {
    messages.map_or(0, |(number, _)| number)
}

/// The messages without an offer between this rank and another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Short {
    sent: Count,
    /// The number of them that have arrived, as the other rank has acknowledged.
    acknowledged: u64,
    /// The number that had arrived when the other rank closed.
    had_arrived: Option<u64>,
    /// The number that have come from it while this rank received.
    arrived: u64,
    /// Of those, the ones that no receive has taken.
    dropped: Count,
}

impl Short {
    pub(super) fn count_sent(&mut self, tag: Tag) {
        count(&mut self.sent, tag);
    }

    pub(super) fn count_arrived(&mut self) {
        self.arrived += 1;
    }

    pub(super) fn count_dropped(&mut self, tag: Tag) {
        count(&mut self.dropped, tag);
    }

    pub(super) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The other rank, at which this number had arrived, receives no more.
    ///
    /// # Errors
    /// If fewer were sent.
    pub(super) fn close(&mut self, messages: u64) -> Result<(), Unexpected> {
        self.acknowledged(messages)?;
        self.had_arrived = Some(messages);
        Ok(())
    }

    /// The other rank has acknowledged this number of messages.
    ///
    /// # Errors
    /// If fewer were sent.
    pub(super) fn acknowledged(&mut self, messages: u64) -> Result<(), Unexpected> {
        if messages > number(self.sent) {
            return Err(Unexpected);
        }
        self.acknowledged = messages;
        Ok(())
    }

    /// Whether the other rank receives no more.
    pub(super) fn is_closed(&self) -> bool {
        self.had_arrived.is_some()
    }

    /// Whether nothing that was sent is on its way.
    pub(super) fn is_settled(&self) -> bool {
        self.is_closed() || self.acknowledged == number(self.sent)
    }

    /// Returns the counts of rank `here` of the messages from and to rank `peer`.
    pub(super) fn unreceived(
        &self,
        here: Rank,
        peer: Rank,
    ) -> impl Iterator<Item = Unreceived> + use<> {
        let late = self.sent.zip(self.had_arrived);
        let late = late.map(|((sent, last), arrived)| (sent.saturating_sub(arrived), last));
        let late = late.filter(|(messages, _)| *messages > 0);
        let both = [(peer, here, self.dropped), (here, peer, late)];
        both.into_iter().filter_map(|(from, to, messages)| {
            let (messages, last) = messages?;
            Some(Unreceived {
                from,
                to,
                messages,
                last,
            })
        })
    }
}
