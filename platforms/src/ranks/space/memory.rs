//! The values of a space at one rank, as its machine uses them.

use super::roles::Roles;
use super::{Key, Value};
use std::fmt;
use std::sync::{Arc, Weak};
use tautline_core::Rank;
use tautline_core::flow::Waiters;
use tautline_core::port::Relax;
use tautline_core::space::{Declared, Item, Memory, Policy, Put, Table};
use tautline_core::wire::Encoding;
use tautline_node::SpinThenYield;

/// A value in a message.
pub(super) enum Carried<V> {
    /// Of a put here, or of another rank.
    Own(V),
    /// To be sent from the cell, which it keeps.
    Kept(Item<V>),
    /// To be sent. The value itself may be taken from the cell meanwhile.
    Encoded(Encoding),
}

/// The named cells of a rank.
pub(super) type Cells<K, V> = Table<K, V, AtRank<K>>;

/// The observer of keys whose reads at this rank have all ended.
pub(super) trait Observer<K>: Send + Sync {
    fn freed(&self, key: K);
}

/// The declared reads at a rank, and the observer of the last ones.
pub(super) struct AtRank<K: Key> {
    pub(super) roles: Arc<Roles<K>>,
    pub(super) observer: Weak<dyn Observer<K>>,
}

impl<K: Key> Relax for AtRank<K> {
    fn relax(&self, turn: u32) {
        SpinThenYield::default().relax(turn);
    }
}

impl<K: Key> Policy<K> for AtRank<K> {
    fn declared(&self, key: &K) -> Option<Declared> {
        self.roles.declared(key)
    }

    /// The machine remembers them.
    fn remembered(&self) -> usize {
        0
    }

    fn freed(&self, key: K) {
        if let Some(observer) = self.observer.upgrade() {
            observer.freed(key);
        }
    }
}

/// The cells, and what a step leaves to be done once the machine is released.
pub(super) struct Values<K: Key, V: Value> {
    pub(super) roles: Arc<Roles<K>>,
    pub(super) cells: Arc<Cells<K, V>>,
    /// The value that is put in this step, encoded, if its only read may take it meanwhile.
    pub(super) encoded: Option<Encoding>,
    pub(super) due: Due<V>,
}

/// Each may run code of the program.
pub(super) struct Due<V> {
    /// Reads that are ready.
    ready: Vec<Waiters>,
    /// The puts of this step, which keep their values until all messages have theirs.
    kept: Vec<Put<V>>,
    /// The value of a put that was refused.
    pub(super) back: Option<V>,
}

impl<V> Default for Due<V> {
    fn default() -> Self {
        let (ready, kept, back) = (Vec::new(), Vec::new(), None);
        Self { ready, kept, back }
    }
}

impl<V> Due<V> {
    /// Releases the reads that are ready.
    pub(super) fn release(&mut self) {
        self.ready.iter_mut().for_each(Waiters::release);
    }
}

impl<K: Key, V: Value> Memory for Values<K, V> {
    type Key = K;
    type Value = Carried<V>;

    fn home(&mut self, key: &K) -> Rank {
        self.roles.home(key)
    }

    fn readers(&mut self, key: &K, task: &mut dyn FnMut(Rank)) {
        self.roles.readers(key, task);
    }

    fn keep(&mut self, key: &K, value: Carried<V>) {
        let Carried::Own(value) = value else {
            unreachable!("a value that is here is not kept again")
        };
        // The machine admits one put of a key.
        if let Ok((waiters, put)) = self.cells.keep(key, value) {
            self.due.ready.push(waiters);
            self.due.kept.push(put);
        }
    }

    fn value(&mut self, key: &K) -> Carried<V> {
        if let Some(encoded) = self.encoded.take() {
            return Carried::Encoded(encoded);
        }
        // With declared readers a value is sent in the step in which it is kept.
        let kept = self.due.kept.last().filter(|_| self.roles.are_declared());
        let item = kept.map_or_else(|| self.cells.peek(key), Put::item);
        Carried::Kept(item.expect("a value that is sent is here, and its reads do not take it"))
    }

    /// The cell frees itself after its last read.
    fn free(&mut self, _: &K) {}

    fn give_back(&mut self, _: &K, value: Carried<V>) {
        if let Carried::Own(value) = value {
            self.due.back = Some(value);
        }
    }
}

impl<V> fmt::Debug for Carried<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carried")
    }
}
