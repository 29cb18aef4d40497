//! The hash of keys.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

/// FxHash by words of eight bytes, whose result is mixed once more: tables use its lowest and its
/// highest bits. Not for keys that an adversary chooses.
#[derive(Default)]
struct KeyHasher(u64);

/// The factor of FxHash.
const FACTOR: u64 = 0x517c_c1b7_2722_0a95;

/// Returns the hash of a key.
#[inline]
pub(super) fn hash_of(key: &impl Hash) -> u64 {
    let mut hasher = KeyHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

impl KeyHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FACTOR);
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

    #[inline]
    fn finish(&self) -> u64 {
        let hash = (self.0 ^ self.0 >> 32).wrapping_mul(FACTOR);
        hash ^ hash >> 29
    }
}
