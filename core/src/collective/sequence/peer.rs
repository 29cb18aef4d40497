//! Another rank, as far as a sequence knows it.

use crate::id::Rank;
use alloc::collections::VecDeque;

/// A message for a call to come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Early<B> {
    pub(super) from: Rank,
    pub(super) check: u32,
    pub(super) body: B,
}

/// Another rank, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer<T, B> {
    /// The number of calls that it has made, at least.
    pub(super) begun: u64,
    /// The calls that it is not known to have made, of messages that were sent to it, with their
    /// bytes.
    pub(super) ahead: VecDeque<(u64, usize)>,
    pub(super) ahead_bytes: usize,
    /// Messages for it that are held back.
    pub(super) held: VecDeque<(u64, u32, B)>,
    /// The call about which it was asked.
    pub(super) asked: Option<u64>,
    /// Its question.
    pub(super) asks: Option<(u64, Option<T>)>,
    /// Bytes of its messages for calls to come.
    pub(super) kept: usize,
    /// The call that it has made differently.
    pub(super) differs: Option<u64>,
}

impl<T, B> Default for Peer<T, B> {
    fn default() -> Self {
        Self {
            begun: 0,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            held: VecDeque::new(),
            asked: None,
            asks: None,
            kept: 0,
            differs: None,
        }
    }
}

impl<T, B> Peer<T, B> {
    /// Whether a message of a call may be sent to it: it has made the call, or may keep the
    /// message, which is counted then.
    pub(super) fn admits(
        &mut self,
        number: u64,
        limit: usize,
        bytes: impl FnOnce() -> usize,
    ) -> bool {
        if number < self.begun {
            return true;
        }
        if self.ahead_bytes >= limit {
            return false;
        }
        let bytes = bytes();
        self.ahead.push_back((number, bytes));
        self.ahead_bytes += bytes;
        true
    }
}
