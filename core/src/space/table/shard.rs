//! A part of the keys of a table, under a lock.
//!
//! No code of the program runs under the lock, but comparisons of keys, which come before any
//! change.
#![forbid(unsafe_code)]

use super::entry::{Entry, Owner};
use super::hash::Hash;
use super::policy::Policy;
use crate::space::declared::Declared;
use crate::space::misuse::Misuse;
use crate::sync::{CacheLine, Lock};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use hashbrown::HashTable;

/// A call that finds or makes an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Get,
    Take,
    Put,
}

/// The result of a search.
enum Found<K, V> {
    Known(Result<Arc<Entry<V>>, Refused>),
    /// The table does not have the key. With the number of keys that were added before, and keys
    /// that it has forgotten: as many as are gone for each that is new, and one more.
    Absent(u64, [Option<K>; 2]),
}

/// The reason for which a call gets no entry.
pub(super) enum Refused {
    /// All reads of the key have ended.
    Gone,
    Misuse(Misuse),
}

/// A part of the keys.
pub(super) struct Shard<K, V, P> {
    keys: CacheLine<Lock<Keys<K, V>>>,
    pub(super) policy: Arc<P>,
}

/// Keys that have entries, and keys that are remembered.
struct Keys<K, V> {
    table: HashTable<Key<K, V>>,
    /// The number of keys that were added.
    added: u64,
    /// The hashes and turns of keys that are gone, the oldest first.
    gone: VecDeque<(Hash, u32)>,
    turn: u32,
    /// Keys that are remembered.
    room: usize,
}

/// A key, small, since tables are moved when they grow.
pub(super) struct Key<K, V> {
    key: K,
    hash: Hash,
    /// The reads that have begun, if they are declared. Of a key that is gone, its turn: it is the
    /// `count`-th of its shard.
    count: u32,
    /// `None` once all reads have ended.
    entry: Option<Arc<Entry<V>>>,
}

impl<K, V> Key<K, V> {
    /// Begins a read or a put.
    #[inline]
    fn admit(&mut self, call: Call) -> Result<Arc<Entry<V>>, Refused> {
        let Some(entry) = &self.entry else {
            return Err(match call {
                Call::Put => Refused::Misuse(Misuse::AlreadyPut),
                Call::Get | Call::Take => Refused::Gone,
            });
        };
        let takes = call == Call::Take;
        let misuse = match entry.declared() {
            _ if call == Call::Put => None,
            None => takes.then_some(Misuse::Shared(None)),
            Some(Declared { here, .. }) if self.count >= here => Some(Misuse::Undeclared(here)),
            Some(Declared { total, .. }) if takes && !entry.may_be_taken() => {
                Some(Misuse::Shared(Some(total)))
            }
            Some(_) => {
                self.count += 1;
                None
            }
        };
        match misuse {
            Some(misuse) => Err(Refused::Misuse(misuse)),
            None => Ok(Arc::clone(entry)),
        }
    }

    /// Returns the key and its entry, if it has one.
    pub(super) fn known(self) -> Option<(K, Arc<Entry<V>>)> {
        Some((self.key, self.entry?))
    }
}

impl<K: Eq, V> Keys<K, V> {
    #[inline]
    fn find_mut(&mut self, hash: Hash, key: &K) -> Option<&mut Key<K, V>> {
        self.table
            .find_mut(hash.spread(), |other| other.key == *key)
    }

    /// Returns the entry of a key that has one.
    fn find(&self, hash: Hash, key: &K) -> Option<&Arc<Entry<V>>> {
        let found = self.table.find(hash.spread(), |other| other.key == *key);
        found?.entry.as_ref()
    }
}

impl<K, V> Keys<K, V> {
    /// Removes the oldest key that is remembered, if there are too many.
    #[inline]
    fn forget(&mut self) -> Option<K> {
        let has_too_many = self.gone.len() > self.room;
        has_too_many.then(|| self.forget_oldest()).flatten()
    }

    #[inline(never)]
    fn forget_oldest(&mut self) -> Option<K> {
        let (hash, oldest) = self.gone.pop_front()?;
        let is_oldest = |key: &Key<K, V>| key.entry.is_none() && key.count == oldest;
        let found = self.table.find_entry(hash.spread(), is_oldest).ok()?;
        Some(found.remove().0.key)
    }

    /// Gives up an entry. Returns its key unless it is remembered, and the share of the table.
    fn retire(&mut self, entry: &Arc<Entry<V>>) -> (Option<K>, Option<Arc<Entry<V>>>) {
        let is_its = |key: &Key<K, V>| {
            let its = key.entry.as_ref();
            its.is_some_and(|its| Arc::ptr_eq(its, entry))
        };
        let Ok(mut found) = self.table.find_entry(entry.hash.spread(), is_its) else {
            return (None, None);
        };
        if self.room == 0 {
            let key = found.remove().0;
            return (Some(key.key), key.entry);
        }
        self.turn = self.turn.wrapping_add(1);
        let key = found.get_mut();
        key.count = self.turn;
        let share = key.entry.take();
        self.gone.push_back((entry.hash, self.turn));
        (None, share)
    }
}

impl<K, V, P: Policy<K>> Shard<K, V, P> {
    /// Creates a part that remembers `room` keys.
    pub(super) fn new(policy: Arc<P>, room: usize) -> Self {
        let keys = Keys {
            table: HashTable::new(),
            added: 0,
            gone: VecDeque::new(),
            turn: 0,
            room,
        };
        Self {
            keys: CacheLine(Lock::new(keys)),
            policy,
        }
    }

    /// Returns whether the value of a key is here.
    pub(super) fn is_full(&self, hash: Hash, key: &K) -> bool
    where
        K: Eq,
    {
        let keys = self.keys.lock(&*self.policy);
        let found = keys.find(hash, key);
        found.is_some_and(|entry| entry.is_full())
    }

    /// Begins a call of a key, if the table has it.
    #[inline]
    fn find(&self, hash: Hash, key: &K, call: Call) -> Found<K, V>
    where
        K: Eq,
    {
        let mut keys = self.keys.lock(&*self.policy);
        match keys.find_mut(hash, key) {
            Some(found) => Found::Known(found.admit(call)),
            None => Found::Absent(keys.added, [keys.forget(), keys.forget()]),
        }
    }

    /// Returns the entry of a key that has one.
    pub(super) fn entry(&self, hash: Hash, key: &K) -> Option<Arc<Entry<V>>>
    where
        K: Eq,
    {
        let keys = self.keys.lock(&*self.policy);
        keys.find(hash, key).cloned()
    }

    /// Returns all entries.
    pub(super) fn entries(&self) -> Vec<Arc<Entry<V>>> {
        let keys = self.keys.lock(&*self.policy);
        let known = keys.table.iter().filter_map(|key| key.entry.clone());
        known.collect()
    }

    /// Takes all keys out.
    pub(super) fn drain(&self) -> HashTable<Key<K, V>> {
        mem::take(&mut self.keys.lock(&*self.policy).table)
    }
}

impl<K, V, P> Shard<K, V, P>
where
    K: Clone + Eq + Send + 'static,
    V: Send + Sync + 'static,
    P: Policy<K>,
{
    /// Begins a call, in a new entry if the table does not have the key.
    pub(super) fn begin(
        self: &Arc<Self>,
        hash: Hash,
        key: &K,
        call: Call,
    ) -> Result<Arc<Entry<V>>, Misuse> {
        let begun = match self.find(hash, key, call) {
            Found::Known(begun) => begun,
            Found::Absent(added, forgotten) => {
                let forgotten = forgotten.into_iter().flatten();
                forgotten.for_each(|key| self.policy.freed(key));
                self.begin_new(hash, key, call, added)
            }
        };
        begun.map_err(|refused| match refused {
            Refused::Misuse(misuse) => misuse,
            Refused::Gone => {
                let declared = self.policy.declared(key);
                Misuse::Undeclared(declared.map_or(0, |declared| declared.here))
            }
        })
    }

    /// Begins a call of a key that the table did not have when `added` keys had been added to it.
    #[inline(never)]
    fn begin_new(
        self: &Arc<Self>,
        hash: Hash,
        key: &K,
        call: Call,
        added: u64,
    ) -> Result<Arc<Entry<V>>, Refused> {
        let declared = self.policy.declared(key);
        let owner = || Arc::clone(self) as Arc<dyn Owner<V>>;
        let mut new = Key {
            key: key.clone(),
            hash,
            count: 0,
            entry: Some(Arc::new(Entry::new(declared, hash, owner))),
        };
        let mut keys = self.keys.lock(&*self.policy);
        if keys.added != added
            && let Some(found) = keys.find_mut(hash, &new.key)
        {
            // The lock is released first, then `new` is dropped.
            return found.admit(call);
        }
        let admitted = new.admit(call);
        // A read that is refused leaves nothing behind.
        if admitted.is_ok() {
            keys.added += 1;
            keys.table
                .insert_unique(hash.spread(), new, |key| key.hash.spread());
        }
        admitted
    }
}

impl<K, V, P> Owner<V> for Shard<K, V, P>
where
    K: Send + 'static,
    V: Send + Sync + 'static,
    P: Policy<K>,
{
    fn retire(&self, entry: &Arc<Entry<V>>) {
        let (key, share) = self.keys.lock(&*self.policy).retire(entry);
        drop(share);
        if let Some(key) = key {
            self.policy.freed(key);
        }
    }
}
