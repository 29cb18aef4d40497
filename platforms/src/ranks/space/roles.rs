//! The functions of the keys of a space, which are equal at all ranks.

use crate::space::Reads;
use tautline_core::Rank;
use tautline_core::space::Declared;

pub(super) type Home<K> = Box<dyn Fn(&K) -> Rank + Send + Sync>;
pub(super) type DeclaredReaders<K> = Box<dyn Fn(&K, &mut Readers<'_>) + Send + Sync>;

/// The tasks that read a key, to be named one by one.
pub struct Readers<'a>(&'a mut dyn FnMut(Rank));

impl Readers<'_> {
    /// Declares that a task at `rank` reads the key. With two tasks of a rank, called twice.
    pub fn task_at(&mut self, rank: Rank) {
        (self.0)(rank);
    }
}

pub(super) struct Roles<K> {
    pub(super) here: Rank,
    pub(super) home: Home<K>,
    pub(super) readers: Option<DeclaredReaders<K>>,
}

impl<K> Roles<K> {
    pub(super) fn home(&self, key: &K) -> Rank {
        (self.home)(key)
    }

    pub(super) fn are_declared(&self) -> bool {
        self.readers.is_some()
    }

    /// Calls `task` for each task that is declared to read the key.
    pub(super) fn readers(&self, key: &K, task: &mut dyn FnMut(Rank)) {
        if let Some(readers) = &self.readers {
            readers(key, &mut Readers(task));
        }
    }

    /// Returns the numbers of declared reads.
    pub(super) fn declared(&self, key: &K) -> Option<Declared> {
        self.are_declared().then(|| {
            let (mut here, mut total) = (0, 0);
            self.readers(key, &mut |rank| {
                total += 1;
                here += u32::from(rank == self.here);
            });
            Declared { here, total }
        })
    }

    /// Returns the numbers of declared reads of a program of one rank.
    pub(super) fn counted(self) -> Reads<K>
    where
        K: 'static,
    {
        Box::new(move |key| self.declared(key).map_or(0, |declared| declared.here))
    }
}
