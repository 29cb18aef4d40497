//! The encodings of values.

use super::Value;
use std::marker::PhantomData;
use tautline_core::wire::{
    Bulk, BulkRef, Encoding, Malformed, Plain, Portable, Unencodable, unpack,
};

/// The way in which the values of a space are encoded.
pub(super) trait Codec<V>: Send + Sync {
    /// Appends a value of at most `limit` bytes.
    fn encode(&self, value: &V, limit: usize, into: &mut Encoding) -> Result<(), Unencodable>;

    fn decode(&self, bytes: &[u8]) -> Result<V, Malformed>;
}

/// Values that have an encoding.
pub(super) struct Encoded;

impl<V: Value + Portable> Codec<V> for Encoded {
    fn encode(&self, value: &V, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(value, limit)
    }

    fn decode(&self, bytes: &[u8]) -> Result<V, Malformed> {
        unpack(bytes)
    }
}

/// Vectors of plain data, which are copied whole.
pub(super) struct Vectors<T>(pub(super) PhantomData<fn() -> T>);

impl<T: Plain> Codec<Vec<T>> for Vectors<T> {
    fn encode(&self, value: &Vec<T>, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(&BulkRef(value), limit)
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<T>, Malformed> {
        unpack(bytes).map(|Bulk(elements)| elements)
    }
}
