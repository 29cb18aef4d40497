//! Messages between the operations of two ranks.

use crate::collective::sequence::{Sequenced, Weight};
use crate::group::GroupId;
use crate::wire::{Sink, Terms, Unencodable, pack_onto};
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes of a message in addition to those of the operation's, at most.
pub(super) const ENVELOPE: usize = 48;

/// A message on the channel.
#[derive(Serialize, Deserialize)]
pub(super) struct Envelope {
    pub(super) group: GroupId,
    pub(super) message: Message,
}

pub(super) type Message = Sequenced<Terms, Body>;

/// Returns the bytes that a message takes.
pub(super) fn message_weight(message: &Message) -> usize {
    match message {
        Sequenced::Body { body, .. } => body.weight(),
        Sequenced::Ask { terms, .. } | Sequenced::Differs { terms, .. } => {
            ENVELOPE + terms.as_ref().map_or(0, Terms::bytes)
        }
        Sequenced::Begun { .. } => ENVELOPE,
    }
}

/// Bytes of an encoding that needs no memory of its own.
const SHORT: usize = 30;

/// The encoding of a message of an operation.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// As many of these bytes.
    Short(u8, [u8; SHORT]),
    Long(Vec<u8>),
}

impl Body {
    /// Encodes a message, by at most `limit` bytes.
    pub(super) fn pack(message: &impl Serialize, limit: usize) -> Result<Self, Unencodable> {
        let mut body = Self::Short(0, [0; SHORT]);
        pack_onto(message, limit, &mut body)?;
        Ok(body)
    }

    fn of(bytes: &[u8]) -> Self {
        if bytes.len() > SHORT {
            return Self::Long(bytes.to_vec());
        }
        let mut short = [0; SHORT];
        short[..bytes.len()].copy_from_slice(bytes);
        Self::Short(bytes.len() as u8, short)
    }

    #[cold]
    fn extend_long(&mut self, more: &[u8]) {
        if let Self::Short(..) = self {
            *self = Self::Long(self.bytes().to_vec());
        }
        if let Self::Long(bytes) = self {
            bytes.extend_from_slice(more);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(len, bytes) => &bytes[..usize::from(*len)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl Sink for Body {
    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Short(len, _) => usize::from(*len),
            Self::Long(bytes) => bytes.len(),
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    #[inline]
    fn extend(&mut self, more: &[u8]) {
        if let Self::Short(len, bytes) = self
            && let Some(free) = bytes.get_mut(usize::from(*len)..)
            && let Some(free) = free.get_mut(..more.len())
        {
            free.copy_from_slice(more);
            *len += more.len() as u8;
            return;
        }
        self.extend_long(more);
    }
}

impl Weight for Body {
    fn weight(&self) -> usize {
        ENVELOPE + self.bytes().len()
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.bytes())
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl de::Visitor<'_> for Bytes {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message of an operation")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Body, E> {
        Ok(Body::of(bytes))
    }
}
