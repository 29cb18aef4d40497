//! Fetches that wait for their turn.

use alloc::collections::VecDeque;

/// The values of other ranks that are ahead of their reads: fetched, and not read by the tasks that
/// wait for them. With a bound, further fetches wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ahead<K> {
    bound: Option<u32>,
    now: u32,
    /// The keys of fetches that wait, in the order of their first reads, with some that do not wait
    /// any more.
    queue: VecDeque<K>,
}

impl<K> Ahead<K> {
    pub(super) fn new(bound: Option<u32>) -> Self {
        let queue = VecDeque::new();
        Self {
            bound,
            now: 0,
            queue,
        }
    }

    /// Adds a fetch to those that wait.
    pub(super) fn push(&mut self, key: K) {
        self.queue.push_back(key);
    }

    /// Whether the bound permits a fetch.
    pub(super) fn has_room(&self) -> bool {
        self.bound.is_none_or(|bound| self.now < bound)
    }

    /// Takes the first key that still waits.
    pub(super) fn pop(&mut self, mut is_due: impl FnMut(&K) -> bool) -> Option<K> {
        while let Some(key) = self.queue.pop_front() {
            if is_due(&key) {
                return Some(key);
            }
        }
        None
    }

    /// Counts a fetch that is sent.
    pub(super) fn add(&mut self) {
        self.now += 1;
    }

    /// Counts a value that is not ahead any more.
    pub(super) fn remove(&mut self) {
        self.now -= 1;
    }

    /// Forgets all fetches.
    pub(super) fn clear(&mut self) {
        (self.now, self.queue) = (0, VecDeque::new());
    }
}
