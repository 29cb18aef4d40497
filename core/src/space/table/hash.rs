//! The hash of keys.
#![forbid(unsafe_code)]

use core::hash::{self, Hasher};

/// FxHash by words of eight bytes. Not for keys that an adversary chooses.
///
/// The last word is set apart: keys that differ in its lowest bits alone, as neighbours of a grid
/// do, are neighbours in a table, so that they share cache lines.
#[derive(Default)]
struct KeyHasher {
    /// The hash of the words before the last.
    hash: u64,
    last: u64,
}

/// The factor of FxHash.
const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
/// The number of lowest bits by which neighbours differ. A table is searched by 16 places at once;
/// a region of as many would leave no place empty, and removed keys would fill the table with
/// marks.
const NEAR: u32 = 3;

/// The part of a key's hash that distinguishes the keys of a shard.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash(u32);

impl Hash {
    /// Returns the hash of a key, and the part that chooses the shard.
    #[inline]
    pub(super) fn of(key: &impl hash::Hash) -> (Self, usize) {
        let mut hasher = KeyHasher::default();
        key.hash(&mut hasher);
        let region = hasher.finish();
        let near = hasher.last as u32 & ((1 << NEAR) - 1);
        // The place in the region, and a tag among the bits that a table compares.
        let place = (region as u32) << NEAR | near;
        (Self(place ^ near << (32 - NEAR)), (region >> 32) as usize)
    }

    /// Returns the hash for a table, which searches by the lowest and compares the highest bits.
    #[inline]
    pub(super) fn spread(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.0)
    }
}

/// Returns the hash of words and one more.
#[inline]
fn joined(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR)
}

impl KeyHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.hash = joined(self.hash, self.last);
        self.last = word;
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for bytes in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            self.add(u64::from_le_bytes(word));
        }
        self.add(bytes.len() as u64);
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    /// Returns the hash without the lowest bits of the last word, mixed once more.
    #[inline]
    fn finish(&self) -> u64 {
        let hash = joined(self.hash, self.last >> NEAR);
        let hash = (hash ^ hash >> 32).wrapping_mul(FACTOR);
        hash ^ hash >> 29
    }
}
