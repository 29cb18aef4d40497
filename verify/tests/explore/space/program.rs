//! Programs: the tasks of all ranks, and the functions of the keys.

use tautline_core::Rank;

/// A task: waits for keys, then may put one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) reads: &'static [u8],
    pub(super) put: Option<u8>,
    /// Whether it takes the value of its last key.
    pub(super) takes: bool,
}

/// A task that reads.
pub(super) const fn read(reads: &'static [u8]) -> Task {
    let (put, takes) = (None, false);
    Task { reads, put, takes }
}

/// A task that puts.
pub(super) const fn put(key: u8) -> Task {
    let (reads, put, takes) = (&[], Some(key), false);
    Task { reads, put, takes }
}

/// A task that reads, then puts.
pub(super) const fn pass(reads: &'static [u8], key: u8) -> Task {
    let (put, takes) = (Some(key), false);
    Task { reads, put, takes }
}

/// A task that takes.
pub(super) const fn take(reads: &'static [u8]) -> Task {
    let (put, takes) = (None, true);
    Task { reads, put, takes }
}

/// The tasks of all ranks, and the functions of the keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    /// By rank.
    pub(super) tasks: &'static [&'static [Task]],
    /// By key.
    pub(super) homes: &'static [u8],
    /// Keys and ranks, one for each declared read; without, values are fetched.
    pub(super) readers: Option<&'static [(u8, u8)]>,
}

/// A program, compared by its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape(pub(super) &'static Program);

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Shape {}

impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl Shape {
    pub(super) fn tasks(self, here: Rank) -> &'static [Task] {
        self.0.tasks[here.index()]
    }

    pub(super) fn homes(self) -> &'static [u8] {
        self.0.homes
    }

    pub(super) fn readers(self) -> &'static [(u8, u8)] {
        self.0.readers.unwrap_or_default()
    }

    pub(super) fn declared(self, key: u8, here: Rank) -> usize {
        let reader = (key, here.0 as u8);
        self.readers()
            .iter()
            .filter(|read| **read == reader)
            .count()
    }

    /// Whether a task of this rank puts the key.
    pub(super) fn puts(self, key: u8, rank: Rank) -> bool {
        let tasks = self.0.tasks.get(rank.index());
        tasks.is_some_and(|tasks| tasks.iter().any(|task| task.put == Some(key)))
    }
}
