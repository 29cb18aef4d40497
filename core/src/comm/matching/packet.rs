//! What the messengers of two ranks send each other.

use crate::comm::message::Body;
use crate::comm::message::{CommId, Tag};
use crate::id::Rank;

/// A packet from the messenger of one rank to that of another, or to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Packet {
    /// A message.
    Message {
        /// The communicator.
        comm: CommId,
        /// The tag.
        tag: Tag,
        /// The body.
        #[cfg_attr(feature = "wire", serde(with = "bytes"))]
        body: Body,
    },
    /// A message whose body the sender keeps until it is claimed.
    Offer {
        /// The communicator.
        comm: CommId,
        /// The tag.
        tag: Tag,
        /// The length of the body.
        bytes: u64,
        /// The number of the offer among those of the sender.
        offer: u64,
    },
    /// The answer to an offer.
    Claim {
        /// The number of the offer.
        offer: u64,
        /// Whether the body is to be sent; else it is dropped.
        is_wanted: bool,
    },
    /// The body of an offer that was claimed.
    Body {
        /// The number of the offer.
        offer: u64,
        /// The body.
        #[cfg_attr(feature = "wire", serde(with = "bytes"))]
        body: Body,
    },
    /// The sender sends no packet any more.
    Left,
    /// The receiver has room again.
    Room {
        /// For what this number of bytes was sent.
        bytes: u64,
    },
    /// The sender receives no further message, except for bodies that it has claimed. It may still send.
    Closed {
        /// The messages without an offer that it was sent and that had arrived.
        messages: u64,
    },
    /// The sender still receives; to a rank that does not.
    Arrived {
        /// The messages without an offer that it was sent and that have arrived.
        messages: u64,
    },
}

/// What a messenger finds in its mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A packet from this rank.
    Packet(Rank, Packet),
    /// The body of an offer has left, for which [`Mail::send_body`] has kept it.
    Sent {
        /// The receiver.
        to: Rank,
        /// The number of the offer.
        offer: u64,
        /// The body.
        body: Body,
    },
    /// The loss of this rank, and when it was noticed, as in "while sending to it". No packet of it follows.
    Lost(Rank, &'static str),
}

/// What brings packets to the messengers of all ranks: a channel of the program.
///
/// From one rank to another, packets arrive in the order in which they were sent, and none is lost or doubled while both
/// live. No method blocks.
pub trait Mail {
    /// Returns this rank.
    fn here(&self) -> Rank;

    /// Returns the number of ranks.
    fn ranks(&self) -> u32;

    /// Sends a packet to any rank, this one included. Packets for a lost rank are dropped.
    fn send(&mut self, to: Rank, packet: Packet);

    /// Sends the body of an offer that was claimed, made of a vector. Returns it unless it is needed until it has left, which is
    /// [reported](News::Sent) then.
    ///
    /// Provided: copies it.
    fn send_body(&mut self, to: Rank, offer: u64, body: Body) -> Option<Body> {
        let copy = body.clone();
        self.send(to, Packet::Body { offer, body: copy });
        Some(body)
    }

    /// Provides the memory for the body, of `bytes` bytes, of an offer that will be claimed next: a vector that is as long at least.
    /// Returns it if bodies have other memory.
    ///
    /// Provided: returns it.
    fn provide(&mut self, from: Rank, offer: u64, memory: Body, bytes: usize) -> Option<Body> {
        _ = (from, offer, bytes);
        Some(memory)
    }

    /// Takes what has arrived next.
    fn poll(&mut self) -> Option<News>;
}

/// Bodies are encoded as one string of bytes, not as a sequence of numbers.
#[cfg(feature = "wire")]
mod bytes {
    use crate::comm::message::Body;
    use alloc::vec::Vec;
    use core::fmt;
    use serde::{Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(body)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Body, D::Error> {
        let bytes = deserializer.deserialize_byte_buf(Bytes)?;
        Ok(bytes.into())
    }

    struct Bytes;

    impl de::Visitor<'_> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the body of a message")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
}
