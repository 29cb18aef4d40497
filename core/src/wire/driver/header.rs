//! The fixed head of every parcel.

use crate::id::{PlaceId, Rank};
use crate::wire::Encoding;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The header as it travels: 16 bytes, little-endian.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawHeader {
    channel: U32,
    from: U32,
    to: U32,
    /// The [`ParcelKind`] in the lowest byte, the check above it.
    tail: U32,
}

impl RawHeader {
    /// Writes this header, with a check instead of the present one.
    fn seal(mut self, number: u64, parcel: &mut [u8]) {
        let (head, body) = parcel.split_at_mut(BYTES);
        self.tail = (self.tail.get() & 0xff).into();
        self.tail = (self.tail.get() | check(&self, number, body) << 8).into();
        head.copy_from_slice(self.as_bytes());
    }
}

/// Writes the check of `parcel`, the `number`th of its sender for its receiver; one that is shorter
/// than a header stays as it is. For tests that forge parcels.
pub fn seal(number: u64, parcel: &mut [u8]) {
    if let Ok((raw, _)) = RawHeader::read_from_prefix(parcel) {
        raw.seal(number, parcel);
    }
}

/// Bytes of a header.
pub(super) const BYTES: usize = size_of::<RawHeader>();

const _: () = assert!(BYTES == Encoding::ROOM);

/// The kind of a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParcelKind {
    /// The terms under which a rank has opened a channel.
    Open = 1,
    /// A message of a channel.
    Message = 2,
    /// The error for which a rank has given up.
    Failed = 3,
    /// A rank ends; nothing follows.
    Bye = 4,
    /// Several messages of a channel.
    Batch = 5,
    /// A rank is lost.
    Lost = 6,
}

impl ParcelKind {
    fn of(byte: u8) -> Option<Self> {
        let all = [
            Self::Open,
            Self::Message,
            Self::Failed,
            Self::Bye,
            Self::Batch,
            Self::Lost,
        ];
        all.into_iter().find(|s| *s as u8 == byte)
    }
}

/// The kind of a parcel, and its channel and places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: ParcelKind,
    /// The channel's ordinal.
    pub(super) channel: u32,
    pub(super) from: PlaceId,
    pub(super) to: PlaceId,
}

/// The reason why a header is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// Shorter than a header.
    Short,
    /// The check differs.
    Check,
    /// The kind is unknown.
    UnknownKind,
}

impl Header {
    /// Returns the header of a parcel that concerns ranks, not places.
    pub(super) fn of_rank(kind: ParcelKind, channel: u32) -> Self {
        Self {
            kind,
            channel,
            from: PlaceId::HOME,
            to: PlaceId::HOME,
        }
    }

    /// Returns the header of the error for which `first` gave up, the first rank that did.
    pub(super) fn of_failure(first: Rank) -> Self {
        Self::about(ParcelKind::Failed, first)
    }

    /// Returns the header of the report that a rank is lost.
    pub(super) fn of_loss(lost: Rank) -> Self {
        Self::about(ParcelKind::Lost, lost)
    }

    fn about(kind: ParcelKind, rank: Rank) -> Self {
        Self {
            from: PlaceId(rank.0),
            ..Self::of_rank(kind, 0)
        }
    }

    /// Returns the channel that a parcel names, which may be malformed.
    pub(super) fn channel(parcel: &[u8]) -> Option<u32> {
        let (raw, _) = RawHeader::read_from_prefix(parcel).ok()?;
        Some(raw.channel.get())
    }

    /// Writes the header of `parcel`, whose body starts at [`BYTES`]; it is the `number`th of its
    /// sender for its receiver.
    pub(super) fn write(self, number: u64, parcel: &mut [u8]) {
        let raw = RawHeader {
            channel: self.channel.into(),
            from: self.from.0.into(),
            to: self.to.0.into(),
            tail: (self.kind as u32).into(),
        };
        raw.seal(number, parcel);
    }

    /// Reads the header of the `number`th parcel from a rank, and returns its body.
    pub(super) fn read(number: u64, parcel: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let (raw, body) = RawHeader::read_from_prefix(parcel).map_err(|_| HeaderError::Short)?;
        let mut plain = raw;
        plain.tail = (raw.tail.get() & 0xff).into();
        if check(&plain, number, body) != raw.tail.get() >> 8 {
            return Err(HeaderError::Check);
        }
        let header = Self {
            kind: ParcelKind::of(raw.tail.get() as u8).ok_or(HeaderError::UnknownKind)?,
            channel: raw.channel.get(),
            from: PlaceId(raw.from.get()),
            to: PlaceId(raw.to.get()),
        };
        Ok((header, body))
    }
}

/// Returns 24 bits over a header without check, the number of the parcel and its body. The number
/// does not travel: a parcel that was lost, doubled or overtaken is found by the next one.
fn check(raw: &RawHeader, number: u64, body: &[u8]) -> u32 {
    let mut sum = mix(number, body.len() as u64);
    for half in raw.as_bytes().as_chunks::<8>().0 {
        sum = mix(sum, u64::from_le_bytes(*half));
    }
    // Eight chains, which a processor mixes at the same time.
    let mut sums = [sum, 1, 2, 3, 4, 5, 6, 7];
    let (words, rest) = body.as_chunks::<8>();
    let (rows, last) = words.as_chunks::<8>();
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
