//! The named cells of one rank.
//!
//! # Algorithm
//! Keys are divided by their hashes among shards, each a hash table under a lock. A call finds the
//! [entry](entry::Entry) of its key under the lock, or makes it without the lock and adds it. All
//! else is done on the entry, without the lock: a put fills its cell, reads wait for it, and the
//! last end of a declared read takes the entry out of the table again.
//!
//! Of a new key, the entry is made between two times that the lock is held. The second searches
//! again only if another key was added since the first.
//!
//! A key that is gone stays in the table, without its entry, until others are gone after it.
#![allow(unsafe_code)]

mod entry;
mod hash;
mod policy;
mod read;
mod shard;
mod slot;

use crate::flow::Waiters;
use crate::space::misuse::Misuse;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use entry::Entry;
use hash::Hash;
pub use policy::{Local, Policy};
pub use read::{Get, Item, Put, Take};
use shard::{Call, Key, Shard};

/// Values by key, each put once and read by tasks that may ask for it before.
///
/// ```
/// use tautline_core::flow::when_all;
/// use tautline_core::port::Spin;
/// use tautline_core::space::{Item, Local, Misuse, Table};
///
/// // Each value has two reads.
/// let table = Table::new(16, Local::new(Spin).readers(|_: &&str| 2));
/// let both = (table.get(&"length")?, table.get(&"width")?);
/// when_all(both, |(length, width): (Item<u32>, Item<u32>)| assert_eq!(*length * *width, 12));
/// table.put(&"width", 4).map_err(|(_, misuse)| misuse)?;
/// table.put(&"length", 3).map_err(|(_, misuse)| misuse)?;
/// assert!(table.is_full(&"width"));
///
/// // The last read drops the value; the key cannot be used again.
/// drop(table.get(&"width")?);
/// assert!(!table.is_full(&"width"));
/// assert_eq!(table.put(&"width", 5), Err((5, Misuse::AlreadyPut)));
/// assert_eq!(table.get(&"width").unwrap_err(), Misuse::Undeclared(2));
/// # Ok::<(), Misuse>(())
/// ```
pub struct Table<K, V, P: Policy<K>> {
    shards: Box<[Arc<Shard<K, V, P>>]>,
}

impl<K, V, P: Policy<K>> Table<K, V, P> {
    /// Creates a table of this number of shards, rounded up to a power of two.
    pub fn new(shards: usize, policy: P) -> Self {
        let shards = shards.clamp(1, 1 << 16).next_power_of_two();
        let room = policy.remembered().div_ceil(shards);
        let policy = Arc::new(policy);
        let shard = |_| Arc::new(Shard::new(Arc::clone(&policy), room));
        Self {
            shards: (0..shards).map(shard).collect(),
        }
    }

    /// Closes the table. Returns the keys whose values were not put, with the number of reads that
    /// wait for each.
    pub fn close(self) -> Vec<(K, usize)> {
        let waiting = self.drain().filter_map(|key| {
            let (key, entry) = key.known()?;
            let reads = Arc::strong_count(&entry) - 1;
            (!entry.is_full() && reads > 0).then_some((key, reads))
        });
        waiting.collect()
    }

    /// Ends the reads that wait, without a value, as they are released by the results: a task that
    /// waits cancels its finish. Later reads of the keys end likewise.
    pub fn fail(&self) -> Vec<Waiters> {
        let entries = self.shards.iter().flat_map(|shard| shard.entries());
        entries.filter_map(Entry::fail).collect()
    }

    /// Drops all values that no read uses.
    pub fn clear(&self) {
        self.drain().for_each(drop);
    }

    /// Takes all keys out before any is dropped.
    fn drain(&self) -> impl Iterator<Item = Key<K, V>> + use<K, V, P> {
        let keys: Vec<_> = self.shards.iter().map(|shard| shard.drain()).collect();
        keys.into_iter().flatten()
    }
}

impl<K, V, P> Table<K, V, P>
where
    K: Clone + Eq + core::hash::Hash + Send + 'static,
    V: Send + Sync + 'static,
    P: Policy<K>,
{
    fn begin(&self, key: &K, call: Call) -> Result<Arc<Entry<V>>, Misuse> {
        let (hash, shard) = self.find(key);
        shard.begin(hash, key, call)
    }

    /// Returns the hash of a key, and the shard to which it belongs.
    #[inline]
    fn find(&self, key: &K) -> (Hash, &Arc<Shard<K, V, P>>) {
        let (hash, part) = Hash::of(key);
        (hash, &self.shards[part & (self.shards.len() - 1)])
    }

    /// Begins a read.
    ///
    /// # Errors
    /// If all declared reads of the key have begun.
    ///
    /// # Panics
    /// If a function of the key or of the policy does. The table is as before.
    pub fn get(&self, key: &K) -> Result<Get<V>, Misuse> {
        self.begin(key, Call::Get).map(Get::of)
    }

    /// Begins the only read, which moves the value out.
    ///
    /// # Errors
    /// If not exactly one read of the key is declared, or it has begun.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn take(&self, key: &K) -> Result<Take<V>, Misuse> {
        let entry = self.begin(key, Call::Take)?;
        // SAFETY: the shard admits a read that takes if one is declared, and then no other.
        Ok(unsafe { Take::of(entry) })
    }

    /// Puts the value of a key, and releases the reads that wait for it, on this thread.
    ///
    /// # Errors
    /// If the key was put before: returns the value.
    ///
    /// # Panics
    /// If a waiter does, or the drop of a value of which no read is left. The value is put then,
    /// and the other waiters are released. Also as [`get`](Self::get).
    pub fn put(&self, key: &K, value: V) -> Result<(), (V, Misuse)> {
        let (mut waiters, put) = self.keep(key, value)?;
        drop(put);
        waiters.release();
        Ok(())
    }

    /// Puts as [`put`](Self::put), and leaves the release of the reads to the first result, and the
    /// end of the put to the second.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn keep(&self, key: &K, value: V) -> Result<(Waiters, Put<V>), (V, Misuse)> {
        match self.begin(key, Call::Put) {
            Ok(entry) => match Entry::keep(entry, value) {
                Ok((waiters, share)) => Ok((waiters, Put::of(share))),
                Err(value) => Err((value, Misuse::AlreadyPut)),
            },
            Err(misuse) => Err((value, misuse)),
        }
    }

    /// Returns the value of a key, as a further read, if it is there and reads are not declared.
    pub fn peek(&self, key: &K) -> Option<Item<V>> {
        let (hash, shard) = self.find(key);
        let entry = shard.entry(hash, key)?;
        (entry.declared().is_none() && entry.is_full()).then(|| Item::of(entry))
    }

    /// Returns whether the value of a key is there: it was put, and a declared read of it has not
    /// ended.
    pub fn is_full(&self, key: &K) -> bool {
        let (hash, shard) = self.find(key);
        shard.is_full(hash, key)
    }
}

impl<K, V, P: Policy<K>> Drop for Table<K, V, P> {
    /// Entries refer to their shard, which refers to them.
    fn drop(&mut self) {
        self.drain().for_each(drop);
    }
}

impl<K, V, P: Policy<K> + fmt::Debug> fmt::Debug for Table<K, V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}
