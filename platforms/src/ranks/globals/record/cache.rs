//! The copies of objects of other homes at this rank, bounded in bytes.

use super::AnyRecord;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

/// Bytes of copies, at most, unless the program sets another limit.
const LIMIT: usize = 1 << 30;

/// The copies, which leave by the second-chance algorithm: one that was accessed since the last
/// check stays for another turn.
pub(in crate::ranks::globals) struct Cache(Mutex<State>);

struct State {
    limit: usize,
    bytes: usize,
    /// Objects that had a copy, in the order in which they are checked.
    queue: VecDeque<Weak<dyn AnyRecord>>,
    /// Whether a thread evicts.
    is_evicting: bool,
}

impl Cache {
    pub(in crate::ranks::globals) fn new() -> Self {
        Self(Mutex::new(State {
            limit: LIMIT,
            bytes: 0,
            queue: VecDeque::new(),
            is_evicting: false,
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the limit, and evicts what exceeds it.
    pub(in crate::ranks::globals) fn limit(&self, bytes: usize) {
        self.state().limit = bytes;
        self.evict();
    }

    /// Returns the bytes of the copies.
    pub(in crate::ranks::globals) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Counts a copy that now has `after` bytes, and evicts others if it is one too many.
    /// `enter` returns the object if it is not in the queue yet.
    pub(super) fn count(
        &self,
        before: usize,
        after: usize,
        enter: impl FnOnce() -> Option<Weak<dyn AnyRecord>>,
    ) {
        let mut state = self.state();
        state.bytes = state.bytes - before + after;
        if after > 0 {
            state.queue.extend(enter());
        }
        let is_above = state.bytes > state.limit;
        drop(state);
        if is_above {
            self.evict();
        }
    }

    /// Evicts copies until the others are within the limit, or none can be: those that accesses
    /// wait for stay.
    fn evict(&self) {
        let mut state = self.state();
        if state.is_evicting {
            // The other thread, or this one further up, checks the bytes again.
            return;
        }
        state.is_evicting = true;
        let mut turns = 2 * state.queue.len();
        while state.bytes > state.limit
            && turns > 0
            && let Some(next) = state.queue.pop_front()
        {
            turns -= 1;
            drop(state);
            let stays = next.upgrade().is_some_and(|record| !record.evict());
            state = self.state();
            if stays {
                state.queue.push_back(next);
            }
        }
        state.is_evicting = false;
    }
}
