//! Batches: several messages of a channel in one parcel.
//!
//! # Format
//! The bodies, back to back; then the places and the length of each ([`BatchEntry`]); then their
//! number, in four bytes. So the first message is where it is in a parcel of its own, and nothing
//! is moved when a second one joins it.

use crate::id::PlaceId;
use crate::wire::any_end::Packed;
use alloc::vec::Vec;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a parcel up to which further messages join the first, which waits for their encoding.
pub(super) const BATCH_BYTES: usize = 1024;

/// The places and the length of a message, as they travel: 12 bytes, little-endian.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct BatchEntry {
    from: U32,
    to: U32,
    bytes: U32,
}

impl BatchEntry {
    /// Returns the entry of a message of `bytes` bytes, at most [`BATCH_BYTES`].
    pub(super) fn new(packed: &Packed, bytes: usize) -> Self {
        Self {
            from: packed.from.0.into(),
            to: packed.to.0.into(),
            bytes: (bytes as u32).into(),
        }
    }

    pub(super) fn places(&self) -> (PlaceId, PlaceId) {
        (PlaceId(self.from.get()), PlaceId(self.to.get()))
    }
}

/// Returns the bytes of a number of entries, and of that number.
pub(super) const fn bytes(entries: usize) -> usize {
    size_of::<U32>() + entries * size_of::<BatchEntry>()
}

/// Appends the entries to the bodies.
pub(super) fn write(entries: &[BatchEntry], parcel: &mut Vec<u8>) {
    parcel.extend_from_slice(entries.as_bytes());
    parcel.extend_from_slice(U32::new(entries.len() as u32).as_bytes());
}

/// Returns the messages; `None` unless they are several, and the entries are those of the bodies.
pub(super) fn read(body: &[u8]) -> Option<impl Iterator<Item = (BatchEntry, &[u8])>> {
    let (rest, count) = U32::read_from_suffix(body).ok()?;
    let count = count.get() as usize;
    let bytes = size_of::<BatchEntry>().checked_mul(count)?;
    let at = rest.len().checked_sub(bytes)?;
    let (mut bodies, entries) = rest.split_at(at);
    let entries = <[BatchEntry]>::ref_from_bytes(entries).ok()?;
    let length = |entry: &BatchEntry| u64::from(entry.bytes.get());
    if count < 2 || entries.iter().map(length).sum::<u64>() != bodies.len() as u64 {
        return None;
    }
    Some(entries.iter().map(move |entry| {
        let (body, rest) = bodies.split_at(entry.bytes.get() as usize);
        bodies = rest;
        (*entry, body)
    }))
}
