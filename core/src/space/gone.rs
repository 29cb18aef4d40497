//! The keys whose values were freed last.

use crate::id::Rank;
use alloc::collections::{BTreeMap, VecDeque};

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
