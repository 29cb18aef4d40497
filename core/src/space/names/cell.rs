//! The states of keys at one rank: wanted, full, gone.

use crate::id::Rank;
use crate::space::declared::Declared;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// A key that is wanted or full here; one that is absent or gone has no cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) home: Rank,
    pub(super) declared: Option<Declared>,
    /// The rank that has put the value, which is here; `None` while it is wanted.
    pub(super) by: Option<Rank>,
    pub(super) fetch: Fetch,
    /// Reads of this rank that have begun.
    begun: u32,
    /// Those of them that have ended.
    ended: u32,
    /// At the home, without declared readers: the ranks that have fetched, in ascending order.
    asked: Vec<Rank>,
}

/// The request for the value of another rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fetch {
    /// None was needed.
    Unneeded,
    /// Waits for its turn.
    Due,
    /// Sent. The value counts among those ahead of their reads.
    Ahead,
    /// Sent. The value is here, and was read; or it was put here.
    Past,
}

impl Cell {
    pub(super) fn new(home: Rank, declared: Option<Declared>) -> Self {
        Self {
            home,
            declared,
            by: None,
            fetch: Fetch::Unneeded,
            begun: 0,
            ended: 0,
            asked: Vec::new(),
        }
    }

    /// Whether the value is here.
    pub(super) fn is_full(&self) -> bool {
        self.by.is_some()
    }

    /// Returns the reads that have begun and not ended.
    pub(super) fn open(&self) -> u32 {
        self.begun - self.ended
    }

    /// Returns the reads that have begun.
    pub(super) fn begun(&self) -> u32 {
        self.begun
    }

    /// Whether all declared reads have ended.
    pub(super) fn is_read(&self) -> bool {
        self.declared
            .is_some_and(|declared| declared.here == self.ended)
    }

    pub(super) fn begin(&mut self) {
        self.begun += 1;
    }

    /// Ends reads.
    ///
    /// # Panics
    /// If fewer are open.
    pub(super) fn end(&mut self, reads: u32) {
        assert!(reads <= self.open(), "more reads have ended than begun");
        self.ended += reads;
    }

    /// Whether nothing is lost by forgetting this cell, whose value is not here: no task waits for
    /// it, and no message will come.
    pub(super) fn is_unused(&self) -> bool {
        let is_coming = matches!(self.fetch, Fetch::Ahead | Fetch::Past);
        let is_idle = self.open() == 0 && self.asked.is_empty() && self.declared.is_none();
        !self.is_full() && is_idle && !is_coming
    }

    /// Records that a rank has fetched. Returns false if it has done so before.
    pub(super) fn ask(&mut self, rank: Rank) -> bool {
        let at = self.asked.binary_search(&rank);
        if let Err(at) = at {
            self.asked.insert(at, rank);
        }
        at.is_err()
    }

    pub(super) fn has_asked(&self, rank: Rank) -> bool {
        self.asked.binary_search(&rank).is_ok()
    }

    /// Returns the ranks that have fetched.
    pub(super) fn asked(&self) -> &[Rank] {
        &self.asked
    }
}

/// The last keys that were freed, with the ranks that have put them: a further put or read of one
/// is an error. Keys are compared whole, since two of a correct program may have the same hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gone<K> {
    room: usize,
    by: BTreeMap<K, Rank>,
    order: VecDeque<K>,
}

impl<K: Clone + Ord> Gone<K> {
    pub(super) fn new(room: usize) -> Self {
        let (by, order) = (BTreeMap::new(), VecDeque::new());
        Self { room, by, order }
    }

    /// Returns the rank that has put the key, if it is remembered.
    pub(super) fn putter(&self, key: &K) -> Option<Rank> {
        self.by.get(key).copied()
    }

    /// Remembers a key, and forgets the oldest if there is no room.
    pub(super) fn insert(&mut self, key: K, by: Rank) {
        self.order.push_back(key.clone());
        self.by.insert(key, by);
        if self.order.len() > self.room
            && let Some(oldest) = self.order.pop_front()
        {
            self.by.remove(&oldest);
        }
    }
}
