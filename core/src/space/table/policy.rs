//! The declared reads of keys, and the observer of the last ones.
#![forbid(unsafe_code)]

use crate::port::{Relax, Spin};
use crate::space::declared::Declared;
use alloc::boxed::Box;
use core::fmt;

/// The decisions that a [`Table`](super::Table) leaves to its space: the declared reads, and the
/// end of a key. Threads wait for its locks by [`Relax`].
///
/// Over ranks, [`freed`](Self::freed) notifies the machine of the space that all reads of a key
/// have ended here: one event for all of them.
pub trait Policy<K>: Relax + Send + Sync + 'static {
    /// Returns the declared reads of a key; `None` if reads are not declared. Called with no lock
    /// held, for a key that the table does not have. May panic: the call of the table then changes
    /// nothing.
    fn declared(&self, key: &K) -> Option<Declared>;

    /// Returns the number of keys to be remembered after their last read, about. A further read or
    /// put of one of them is refused. Always the same.
    fn remembered(&self) -> usize;

    /// Takes a key that the table removes: after its last read if no key is remembered, else when
    /// it is forgotten. Called with no lock held. Must not panic in a table that remembers no key.
    fn freed(&self, key: K) {
        drop(key);
    }
}

/// The number of declared reads of a key.
type Readers<K> = Box<dyn Fn(&K) -> u32 + Send + Sync>;

/// The policy of a space at one rank.
pub struct Local<K, R = Spin> {
    readers: Option<Readers<K>>,
    remembered: usize,
    relax: R,
}

/// Keys that are remembered unless the program chooses otherwise.
const REMEMBERED: usize = 1 << 16;

impl<K, R: Relax> Local<K, R> {
    /// Reads are not declared: a value is kept as long as the table.
    pub fn new(relax: R) -> Self {
        Self {
            readers: None,
            remembered: REMEMBERED,
            relax,
        }
    }

    /// Reads are declared: `readers` returns their number, for a key always the same.
    pub fn readers(mut self, readers: impl Fn(&K) -> u32 + Send + Sync + 'static) -> Self {
        self.readers = Some(Box::new(readers));
        self
    }

    /// Remembers this number of keys after their last read, about, instead of 65536.
    pub fn remembering(mut self, keys: usize) -> Self {
        self.remembered = keys;
        self
    }
}

impl<K, R: Relax> Relax for Local<K, R> {
    fn relax(&self, turn: u32) {
        self.relax.relax(turn);
    }
}

impl<K: 'static, R: Relax + Send + Sync + 'static> Policy<K> for Local<K, R> {
    fn declared(&self, key: &K) -> Option<Declared> {
        let reads = self.readers.as_ref()?(key);
        Some(Declared {
            here: reads,
            total: reads,
        })
    }

    fn remembered(&self) -> usize {
        self.remembered
    }
}

impl<K, R> fmt::Debug for Local<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("declared", &self.readers.is_some())
            .field("remembered", &self.remembered)
            .finish_non_exhaustive()
    }
}
