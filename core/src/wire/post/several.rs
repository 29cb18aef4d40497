//! Several messages of a channel in one parcel.
//!
//! # Format
//! The bodies, one behind another; then for each the places and the length ([`Part`]); then their number, in four bytes. So the first
//! message is where it is in a parcel of its own, and nothing is moved when a second one joins it.

use crate::id::PlaceId;
use crate::wire::lane::Packed;
use alloc::vec::Vec;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a parcel up to which further messages join the first, which waits for their encoding.
pub(super) const SHARED: usize = 1024;

/// The places and the length of a message, as they travel: 12 bytes, little-endian.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(super) struct Part {
    from: U32,
    to: U32,
    bytes: U32,
}

impl Part {
    /// Returns the part of a message of `bytes` bytes, at most [`SHARED`].
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

/// Returns the bytes of a number of parts, and of that number.
pub(super) const fn bytes(parts: usize) -> usize {
    size_of::<U32>() + parts * size_of::<Part>()
}

/// Writes the parts behind the bodies.
pub(super) fn write(parts: &[Part], parcel: &mut Vec<u8>) {
    parcel.extend_from_slice(parts.as_bytes());
    parcel.extend_from_slice(U32::new(parts.len() as u32).as_bytes());
}

/// Returns the messages; `None` unless they are several, and the parts are those of the bodies.
pub(super) fn read(body: &[u8]) -> Option<impl Iterator<Item = (Part, &[u8])>> {
    let (rest, count) = U32::read_from_suffix(body).ok()?;
    let count = count.get() as usize;
    let bytes = size_of::<Part>().checked_mul(count)?;
    let at = rest.len().checked_sub(bytes)?;
    let (mut bodies, parts) = rest.split_at(at);
    let parts = <[Part]>::ref_from_bytes(parts).ok()?;
    let length = |part: &Part| u64::from(part.bytes.get());
    if count < 2 || parts.iter().map(length).sum::<u64>() != bodies.len() as u64 {
        return None;
    }
    Some(parts.iter().map(move |part| {
        let (body, rest) = bodies.split_at(part.bytes.get() as usize);
        bodies = rest;
        (*part, body)
    }))
}
