//! Values of the stream in messages.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A value that travels as bytes: the encoding of a random number of 64 bits as a number has 9 or
/// 10, which are written and read one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value(pub(super) u64);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0.to_le_bytes())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("8 bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
        let eight = bytes.try_into();
        let eight = eight.map_err(|_| E::invalid_length(bytes.len(), &self))?;
        Ok(Value(u64::from_le_bytes(eight)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::wire::{pack, unpack};

    #[test]
    fn values_are_eight_bytes_and_nothing_else() {
        for value in [0, 1, 0x80, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut bytes = Vec::new();
            pack(&Value(value), &mut bytes).expect("8 bytes and their length");
            assert_eq!(bytes.len(), 9);
            assert_eq!(unpack(&bytes), Ok(Value(value)));
            for len in 0..9 {
                assert!(unpack::<Value>(&bytes[..len]).is_err());
            }
            bytes[0] = 7;
            assert!(unpack::<Value>(&bytes[..8]).is_err());
        }
    }
}
