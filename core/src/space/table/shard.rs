//! A part of the keys of a table, under a lock.
//!
//! No code of the program runs under the lock, but comparisons of keys, which come before any
//! change.
#![forbid(unsafe_code)]

use super::entry::{Entry, Owner};
use super::policy::Policy;
use crate::space::declared::Declared;
use crate::space::misuse::Misuse;
use crate::sync::Lock;
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
    /// The table does not have the key. With keys that it has forgotten: as many as are gone for
    /// each that is new, and one more.
    Absent([Option<K>; 2]),
}

/// The reason for which a call gets no entry.
pub(super) enum Refused {
    /// All reads of the key have ended.
    Gone,
    Misuse(Misuse),
}

/// A part of the keys.
pub(super) struct Shard<K, V, P> {
    keys: Lock<Keys<K, V>>,
    pub(super) policy: Arc<P>,
}

/// Keys that have entries, and keys that are remembered.
struct Keys<K, V> {
    table: HashTable<Key<K, V>>,
    /// The hashes and turns of keys that are gone, the oldest first.
    gone: VecDeque<(u64, u32)>,
    turn: u32,
    /// Keys that are remembered.
    room: usize,
}

pub(super) struct Key<K, V> {
    hash: u64,
    key: K,
    state: State<V>,
}

enum State<V> {
    Known {
        entry: Arc<Entry<V>>,
        /// Reads that have begun, if they are declared.
        begun: u32,
    },
    /// All reads have ended; the `turn`-th key of this shard of which that is so.
    Gone { turn: u32 },
}

impl<V> State<V> {
    /// Begins a read or a put.
    fn admit(&mut self, call: Call) -> Result<Arc<Entry<V>>, Refused> {
        let Self::Known { entry, begun } = self else {
            return Err(match call {
                Call::Put => Refused::Misuse(Misuse::AlreadyPut),
                Call::Get | Call::Take => Refused::Gone,
            });
        };
        let takes = call == Call::Take;
        let misuse = match entry.declared {
            _ if call == Call::Put => None,
            None => takes.then_some(Misuse::Shared(None)),
            Some(Declared { here, .. }) if *begun >= here => Some(Misuse::Undeclared(here)),
            Some(Declared { total, .. }) if takes && !entry.may_be_taken() => {
                Some(Misuse::Shared(Some(total)))
            }
            Some(_) => {
                *begun += 1;
                None
            }
        };
        match misuse {
            Some(misuse) => Err(Refused::Misuse(misuse)),
            None => Ok(Arc::clone(entry)),
        }
    }
}

impl<K, V> Keys<K, V> {
    /// Removes the oldest key that is remembered, if there are too many.
    fn forget(&mut self) -> Option<K> {
        if self.gone.len() <= self.room {
            return None;
        }
        let (hash, oldest) = self.gone.pop_front()?;
        let is_oldest =
            |key: &Key<K, V>| matches!(key.state, State::Gone { turn } if turn == oldest);
        let found = self.table.find_entry(hash, is_oldest).ok()?;
        Some(found.remove().0.key)
    }

    /// Gives up an entry. Returns its key unless it is remembered, and the share of the table.
    fn retire(&mut self, entry: &Arc<Entry<V>>) -> (Option<K>, Option<Arc<Entry<V>>>) {
        let is_its = |key: &Key<K, V>| matches!(&key.state, State::Known { entry: its, .. } if Arc::ptr_eq(its, entry));
        let Ok(mut found) = self.table.find_entry(entry.hash, is_its) else {
            return (None, None);
        };
        if self.room == 0 {
            let key = found.remove().0;
            return (Some(key.key), key.state.into_entry());
        }
        self.turn = self.turn.wrapping_add(1);
        let gone = State::Gone { turn: self.turn };
        let state = mem::replace(&mut found.get_mut().state, gone);
        self.gone.push_back((entry.hash, self.turn));
        (None, state.into_entry())
    }
}

impl<K, V> Key<K, V> {
    /// Returns the key and its entry, if it has one.
    pub(super) fn known(self) -> Option<(K, Arc<Entry<V>>)> {
        Some((self.key, self.state.into_entry()?))
    }
}

impl<V> State<V> {
    fn into_entry(self) -> Option<Arc<Entry<V>>> {
        match self {
            Self::Known { entry, .. } => Some(entry),
            Self::Gone { .. } => None,
        }
    }
}

impl<K, V, P: Policy<K>> Shard<K, V, P> {
    /// Creates a part that remembers `room` keys.
    pub(super) fn new(policy: Arc<P>, room: usize) -> Self {
        let keys = Keys {
            table: HashTable::new(),
            gone: VecDeque::new(),
            turn: 0,
            room,
        };
        Self {
            keys: Lock::new(keys),
            policy,
        }
    }

    /// Returns whether the value of a key is here.
    pub(super) fn is_full(&self, hash: u64, key: &K) -> bool
    where
        K: Eq,
    {
        let keys = self.keys.lock(&*self.policy);
        let found = keys.table.find(hash, |other| other.key == *key);
        found.is_some_and(|found| match &found.state {
            State::Known { entry, .. } => entry.is_full(),
            State::Gone { .. } => false,
        })
    }

    /// Begins a call of a key, if the table has it.
    fn find(&self, hash: u64, key: &K, call: Call) -> Found<K, V>
    where
        K: Eq,
    {
        let mut keys = self.keys.lock(&*self.policy);
        match keys.table.find_mut(hash, |other| other.key == *key) {
            Some(found) => Found::Known(found.state.admit(call)),
            None => Found::Absent([keys.forget(), keys.forget()]),
        }
    }

    /// Returns the entry of a key that has one.
    pub(super) fn entry(&self, hash: u64, key: &K) -> Option<Arc<Entry<V>>>
    where
        K: Eq,
    {
        let keys = self.keys.lock(&*self.policy);
        match &keys.table.find(hash, |other| other.key == *key)?.state {
            State::Known { entry, .. } => Some(Arc::clone(entry)),
            State::Gone { .. } => None,
        }
    }

    /// Returns all entries.
    pub(super) fn entries(&self) -> Vec<Arc<Entry<V>>> {
        let keys = self.keys.lock(&*self.policy);
        let known = keys.table.iter().filter_map(|key| match &key.state {
            State::Known { entry, .. } => Some(Arc::clone(entry)),
            State::Gone { .. } => None,
        });
        known.collect()
    }

    /// Takes all keys out.
    pub(super) fn drain(&self) -> Vec<Key<K, V>> {
        let table = mem::take(&mut self.keys.lock(&*self.policy).table);
        table.into_iter().collect()
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
        hash: u64,
        key: &K,
        call: Call,
    ) -> Result<Arc<Entry<V>>, Misuse> {
        let begun = match self.find(hash, key, call) {
            Found::Known(begun) => begun,
            Found::Absent(forgotten) => {
                let forgotten = forgotten.into_iter().flatten();
                forgotten.for_each(|key| self.policy.freed(key));
                self.begin_new(hash, key, call)
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

    /// Begins a call of a key that the table did not have.
    fn begin_new(
        self: &Arc<Self>,
        hash: u64,
        key: &K,
        call: Call,
    ) -> Result<Arc<Entry<V>>, Refused> {
        let declared = self.policy.declared(key);
        let owner = Arc::clone(self) as Arc<dyn Owner<V>>;
        let state = State::Known {
            entry: Arc::new(Entry::new(declared, hash, owner)),
            begun: 0,
        };
        let mut new = Key {
            hash,
            key: key.clone(),
            state,
        };
        let mut keys = self.keys.lock(&*self.policy);
        if let Some(found) = keys.table.find_mut(hash, |other| other.key == new.key) {
            // The lock is released first, then `new` is dropped.
            return found.state.admit(call);
        }
        let admitted = new.state.admit(call);
        // A read that is refused leaves nothing behind.
        if admitted.is_ok() {
            keys.table.insert_unique(hash, new, |key| key.hash);
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
