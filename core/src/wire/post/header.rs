//! The fixed head of every parcel.

use crate::id::{PlaceId, Rank};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header as it travels: 16 bytes, little-endian.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Raw {
    channel: U32,
    from: U32,
    to: U32,
    /// The [`Sort`] in the lowest byte, the check above it.
    tail: U32,
}

impl Raw {
    /// Writes this header, with a check instead of the present one.
    fn seal(mut self, number: u64, parcel: &mut [u8]) {
        let (head, body) = parcel.split_at_mut(BYTES);
        self.tail = (self.tail.get() & 0xff).into();
        self.tail = (self.tail.get() | check(&self, number, body) << 8).into();
        head.copy_from_slice(self.as_bytes());
    }
}

/// Writes the check of `parcel`, the `number`th of its sender for its receiver; one that is shorter than a header stays as it
/// is. For tests that forge parcels.
pub fn seal(number: u64, parcel: &mut [u8]) {
    if let Ok((raw, _)) = Raw::read_from_prefix(parcel) {
        raw.seal(number, parcel);
    }
}

/// Bytes of a header.
pub(super) const BYTES: usize = size_of::<Raw>();

/// What a parcel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// The terms under which a rank has opened a channel.
    Open = 1,
    /// A message of a channel.
    Message = 2,
    /// The error for which a rank has given up.
    Failed = 3,
    /// A rank ends; nothing follows.
    Bye = 4,
    /// Several messages of a channel.
    Several = 5,
}

impl Sort {
    fn of(byte: u8) -> Option<Self> {
        let all = [
            Self::Open,
            Self::Message,
            Self::Failed,
            Self::Bye,
            Self::Several,
        ];
        all.into_iter().find(|s| *s as u8 == byte)
    }
}

/// Where a parcel belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) sort: Sort,
    /// The channel's ordinal.
    pub(super) channel: u32,
    pub(super) from: PlaceId,
    pub(super) to: PlaceId,
}

/// What is wrong with a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// Shorter than a header.
    Short,
    /// The check differs.
    Check,
    /// The sort is unknown.
    Sort,
}

impl Header {
    /// Returns the header of a parcel that concerns ranks, not places.
    pub(super) fn of_rank(sort: Sort, channel: u32) -> Self {
        Self {
            sort,
            channel,
            from: PlaceId::HOME,
            to: PlaceId::HOME,
        }
    }

    /// Returns the header of the error for which `first` gave up, the first rank that did.
    pub(super) fn of_failure(first: Rank) -> Self {
        Self {
            from: PlaceId(first.0),
            ..Self::of_rank(Sort::Failed, 0)
        }
    }

    /// Returns the channel that a parcel names, which may be garbled.
    pub(super) fn channel(parcel: &[u8]) -> Option<u32> {
        let (raw, _) = Raw::read_from_prefix(parcel).ok()?;
        Some(raw.channel.get())
    }

    /// Writes the header of `parcel`, whose body starts behind [`BYTES`]; it is the `number`th of
    /// its sender for its receiver.
    pub(super) fn write(self, number: u64, parcel: &mut [u8]) {
        let raw = Raw {
            channel: self.channel.into(),
            from: self.from.0.into(),
            to: self.to.0.into(),
            tail: (self.sort as u32).into(),
        };
        raw.seal(number, parcel);
    }

    /// Reads the header of the `number`th parcel from a rank, and returns its body.
    pub(super) fn read(number: u64, parcel: &[u8]) -> Result<(Self, &[u8]), Bad> {
        let (raw, body) = Raw::read_from_prefix(parcel).map_err(|_| Bad::Short)?;
        let mut plain = raw;
        plain.tail = (raw.tail.get() & 0xff).into();
        if check(&plain, number, body) != raw.tail.get() >> 8 {
            return Err(Bad::Check);
        }
        let header = Self {
            sort: Sort::of(raw.tail.get() as u8).ok_or(Bad::Sort)?,
            channel: raw.channel.get(),
            from: PlaceId(raw.from.get()),
            to: PlaceId(raw.to.get()),
        };
        Ok((header, body))
    }
}

/// Returns 24 bits over a header without check, the number of the parcel and its body. The number
/// does not travel: a parcel that was lost, doubled or overtaken is found by the next one.
fn check(raw: &Raw, number: u64, body: &[u8]) -> u32 {
    let mut sum = mix(number, body.len() as u64);
    for half in raw.as_bytes().as_chunks::<8>().0 {
        sum = mix(sum, u64::from_le_bytes(*half));
    }
    // Four chains, which a processor mixes at the same time.
    let mut sums = [sum, 1, 2, 3];
    let (words, rest) = body.as_chunks::<8>();
    let (rows, last) = words.as_chunks::<4>();
    for row in rows {
        for (sum, word) in sums.iter_mut().zip(row) {
            *sum = mix(*sum, u64::from_le_bytes(*word));
        }
    }
    for word in last {
        sums[0] = mix(sums[0], u64::from_le_bytes(*word));
    }
    let [mut sum, others @ ..] = sums;
    for other in others {
        sum = mix(sum, other);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum = mix(sum, u64::from_le_bytes(last));
    }
    (mix(sum, 0) >> 40) as u32
}

/// A bijection of `sum` for each `word`, and of `word` for each `sum`.
fn mix(sum: u64, word: u64) -> u64 {
    let mixed = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}
