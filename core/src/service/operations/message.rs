//! Messages between the operations of two ranks, and the calls that are compared.

use crate::collective::sequence::{Call, Sequenced, Weight};
use crate::group::GroupId;
use crate::wire::{Sink, Terms, Unencodable, first_chars, pack_onto};
use alloc::vec::Vec;
use core::fmt;
use core::panic::Location;
use core::ptr;
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

/// A call of the program that begins an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) kind: &'static str,
    pub(super) site: &'static Location<'static>,
    /// The type of its messages.
    pub(super) message: &'static str,
    check: u32,
}

impl Made {
    /// Describes a call; `last` may be any other one: mostly a call is made again and again.
    pub(super) fn new(
        kind: &'static str,
        site: &'static Location<'static>,
        message: &'static str,
        last: Option<&Self>,
    ) -> Self {
        let is_same = |last: &&Self| {
            ptr::eq(last.kind, kind) && ptr::eq(last.site, site) && ptr::eq(last.message, message)
        };
        let check = match last.filter(is_same) {
            Some(last) => last.check,
            None => check(kind, site, message),
        };
        Self {
            kind,
            site,
            message,
            check,
        }
    }
}

/// Returns a number that differs between calls that differ, almost always.
fn check(kind: &str, site: &Location<'_>, message: &str) -> u32 {
    let place = u64::from(site.line()) << 32 | u64::from(site.column());
    // What the terms have: calls whose terms are equal are the same.
    let message = first_chars(message);
    let texts = [kind.as_bytes(), site.file().as_bytes(), message.as_bytes()];
    (texts.into_iter().fold(place, hashed) >> 32) as u32
}

impl Call for Made {
    type Terms = Terms;

    fn check(&self) -> u32 {
        self.check
    }

    fn terms(&self) -> Terms {
        Terms::named(self.kind, 1, self.site, self.message)
    }
}

/// Returns a hash of `hash` and the bytes, the same at all ranks: that of FxHash, by words of eight
/// bytes, lowest first.
fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR);
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let hash = bytes.chunks(8).map(word).fold(hash, add);
    add(hash, bytes.len() as u64)
}
