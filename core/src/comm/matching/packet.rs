//! What the messengers of two ranks send each other.

use crate::comm::message::{CommId, Tag};
use crate::id::Rank;
use alloc::vec::Vec;

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
        body: Vec<u8>,
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
        body: Vec<u8>,
    },
    /// The receiver has room again.
    Room {
        /// For what this number of bytes was sent.
        bytes: u64,
    },
}

/// What a messenger finds in its mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A packet from this rank.
    Packet(Rank, Packet),
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

    /// Takes what has arrived next.
    fn poll(&mut self) -> Option<News>;
}

/// Bodies are encoded as one string of bytes, not as a sequence of numbers.
#[cfg(feature = "wire")]
mod bytes {
    use alloc::vec::Vec;
    use core::fmt;
    use serde::{Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(body: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(body)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_byte_buf(Body)
    }

    struct Body;

    impl de::Visitor<'_> for Body {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the body of a message")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
}
