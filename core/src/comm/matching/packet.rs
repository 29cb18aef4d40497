//! Packets between the messengers of two ranks.

use crate::comm::message::Body;
use crate::comm::message::{CommId, Tag};
use crate::id::Rank;
use core::fmt;

/// A packet from the messenger of one rank to that of another, or to itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        /// For messages of this number of bytes.
        bytes: u64,
    },
    /// The sender receives no further message, except for bodies that it has claimed. It may still
    /// send.
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

/// The refusal of a packet that no messenger sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unexpected;

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a packet that is not expected")
    }
}

/// A report of the link of a messenger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A packet from this rank.
    Packet(Rank, Packet),
    /// The body of an offer has left, for which [`Bodies::send`] has kept it.
    Sent {
        /// The receiver.
        to: Rank,
        /// The number of the offer.
        offer: u64,
        /// The body.
        body: Body,
    },
    /// The loss of this rank, and when it was noticed, as in "while sending to it". No packet of it
    /// follows.
    Lost(Rank, &'static str),
}

/// Moves the bodies of offers from memory to memory, for the messenger of a rank.
///
/// Provided: a link without such a way, as `()` is.
pub trait Bodies: Send {
    /// Sends the body, made of a vector, of an offer that was claimed. Returns it if it may be used
    /// again, or `None` if that is [reported](News::Sent) later.
    ///
    /// # Errors
    /// The body, to be copied into a packet.
    fn send(&mut self, _to: Rank, _offer: u64, body: Body) -> Result<Option<Body>, Body> {
        Err(body)
    }

    /// Provides the memory for the body, of `bytes` bytes, of an offer that will be claimed next: a
    /// vector that is as long at least. Returns it if bodies have other memory.
    fn provide(&mut self, _from: Rank, _offer: u64, memory: Body, _bytes: usize) -> Option<Body> {
        Some(memory)
    }
}

impl Bodies for () {}

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
