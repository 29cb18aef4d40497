//! Arrays of plain data, encoded by one copy.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Data that is its own encoding: every byte of it belongs to a value, and every combination of
/// bytes is a value. Implemented for integers, floating-point numbers, arrays of plain data, and
/// structures that derive zerocopy's traits.
pub trait Plain: FromBytes + IntoBytes + Immutable {}

impl<T: FromBytes + IntoBytes + Immutable> Plain for T {}

/// A vector of plain data that is encoded and decoded by one copy. Its bytes are those of the
/// machine: the ranks of a program run on machines of one kind.
///
/// ```
/// use tautline_core::wire::{Bulk, pack, unpack};
///
/// let mut bytes = Vec::new();
/// pack(&Bulk(vec![1.5f64, -2.0]), &mut bytes)?;
/// assert_eq!(bytes.len(), 1 + 16);
/// assert_eq!(unpack::<Bulk<f64>>(&bytes).unwrap().0, [1.5, -2.0]);
/// # Ok::<(), tautline_core::wire::Unencodable>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bulk<T>(pub Vec<T>);

/// A slice that is encoded as a [`Bulk`].
///
/// ```
/// use tautline_core::wire::{Bulk, BulkRef, pack, unpack};
///
/// let mut bytes = Vec::new();
/// pack(&BulkRef(&[1.5f64, -2.0]), &mut bytes)?;
/// assert_eq!(unpack::<Bulk<f64>>(&bytes).unwrap().0, [1.5, -2.0]);
/// # Ok::<(), tautline_core::wire::Unencodable>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BulkRef<'a, T>(pub &'a [T]);

impl<T: Plain> Serialize for BulkRef<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0.as_bytes())
    }
}

impl<T: Plain> Serialize for Bulk<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        BulkRef(&self.0).serialize(serializer)
    }
}

impl<'de, T: Plain> Deserialize<'de> for Bulk<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes(PhantomData))
    }
}

struct Bytes<T>(PhantomData<T>);

impl<'de, T: Plain> Visitor<'de> for Bytes<T> {
    type Value = Bulk<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a multiple of {} bytes", size_of::<T>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bulk<T>, E> {
        let size = size_of::<T>();
        if !bytes.len().is_multiple_of(size.max(1)) || (size == 0 && !bytes.is_empty()) {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        let each = bytes.chunks_exact(size.max(1));
        let mut all = Vec::new();
        let reserved = all.try_reserve_exact(each.len());
        reserved.map_err(|_| E::custom("out of memory"))?;
        all.extend(each.map(|one| T::read_from_bytes(one).expect("as long as one")));
        Ok(Bulk(all))
    }

    /// For formats that encode bytes as a sequence.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Bulk<T>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = seq.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
