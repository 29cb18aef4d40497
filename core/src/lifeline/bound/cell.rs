//! Storage of the key of a bound.
//!
//! # Words
//! The word of an `AtomicUsize` cell: the key of the best value, only decreases. Any worker of the
//! place improves it. The number publishes nothing else, so no ordering is required.

use super::Key;
use crate::port::Spin;
use crate::sync::{AtomicUsize, Lock, Ordering};
use core::fmt::Debug;
use core::ops::Not;

/// A key that only decreases.
pub trait Cell: Sync {
    /// The position of a value in the order of its type.
    type Key: Copy + Ord + Debug + Not<Output = Self::Key>;

    /// The largest key.
    const NONE: Self::Key;

    /// Creates a cell with this key.
    fn new(key: Self::Key) -> Self;

    /// Returns the key.
    fn get(&self) -> Self::Key;

    /// Decreases the key to this one. Returns false if it was not larger.
    fn improve(&self, key: Self::Key) -> bool;

    /// Returns a key as the protocol reads it.
    fn wrap(key: Self::Key) -> Key;

    /// Returns the key that the protocol sends as this number, if there is one.
    fn narrow(key: u128) -> Option<Self::Key>;
}

impl Cell for AtomicUsize {
    type Key = usize;
    const NONE: usize = usize::MAX;

    fn new(key: usize) -> Self {
        Self::new(key)
    }

    #[inline(always)]
    fn get(&self) -> usize {
        // ORDERING: Relaxed: the number publishes nothing else; a stale one only prunes less.
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn improve(&self, key: usize) -> bool {
        // ORDERING: Relaxed, as in get.
        self.fetch_min(key, Ordering::Relaxed) > key
    }

    #[inline(always)]
    fn wrap(key: usize) -> Key {
        Key::Word(key)
    }

    fn narrow(key: u128) -> Option<usize> {
        key.try_into().ok()
    }
}

/// A key that is wider than a word. The lock is held for some instructions.
#[derive(Debug)]
pub struct Wide(Lock<u128>);

impl Cell for Wide {
    type Key = u128;
    const NONE: u128 = u128::MAX;

    fn new(key: u128) -> Self {
        Self(Lock::new(key))
    }

    fn get(&self) -> u128 {
        *self.0.lock(&Spin)
    }

    fn improve(&self, key: u128) -> bool {
        let mut best = self.0.lock(&Spin);
        let improves = key < *best;
        if improves {
            *best = key;
        }
        improves
    }

    fn wrap(key: u128) -> Key {
        Key::Wide(key)
    }

    fn narrow(key: u128) -> Option<u128> {
        Some(key)
    }
}
