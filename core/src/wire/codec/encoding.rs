//! Messages that their senders have encoded.

use super::{Unencodable, pack_within};
use alloc::vec::Vec;
use serde::Serialize;

/// A message that its sender has encoded, outside of every lock, for
/// [`Channel::send_encoded`](crate::wire::Channel::send_encoded). A long one is not copied on its
/// way to the link.
#[derive(Debug)]
pub struct Encoding {
    /// Room for the header of a parcel, then the body.
    parcel: Vec<u8>,
}

/// Bytes reserved for an encoding: a short message takes one allocation.
const SHORT: usize = 1 << 7;
/// Bytes from which on an encoding becomes the parcel, instead of being copied into the one that
/// turns use again and again.
const LONG: usize = 1 << 12;

impl Default for Encoding {
    fn default() -> Self {
        let mut parcel = Vec::with_capacity(SHORT);
        parcel.resize(Self::ROOM, 0);
        Self { parcel }
    }
}

impl Encoding {
    /// Bytes in front of the body, which a parcel has for its header.
    pub(in crate::wire) const ROOM: usize = 16;

    /// Appends a value of at most `limit` bytes.
    ///
    /// # Errors
    /// As [`pack_within`]; the encoding is then as before.
    pub fn push<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        limit: usize,
    ) -> Result<(), Unencodable> {
        pack_within(value, limit, &mut self.parcel)
    }

    /// Appends the bytes of another encoding.
    pub fn extend(&mut self, other: &Self) {
        self.parcel.extend_from_slice(other.body());
    }

    /// Returns the bytes that the receiver gets.
    pub fn body(&self) -> &[u8] {
        &self.parcel[Self::ROOM..]
    }

    /// Appends the body to a parcel, or becomes that, if nothing else is in it.
    pub(in crate::wire) fn append_to(self, parcel: &mut Vec<u8>) {
        if parcel.len() == Self::ROOM && self.parcel.len() >= LONG {
            *parcel = self.parcel;
        } else {
            parcel.extend_from_slice(self.body());
        }
    }
}
