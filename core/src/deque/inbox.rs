//! The messages of one place, in the order of their arrival.
//!
//! # Words
//! `queue`: under its lock. `pending`: written under the lock, read without it: polled by a worker
//! once per turn.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | I1 | `push`, then a full fence | a full fence, then `is_empty` | that there is a message; the lock carries it | `crew_doorbell` in `verify/tests/lifeline.rs` |

use crate::port::Relax;
use crate::sync::{AtomicUsize, Lock, Ordering};
use alloc::collections::VecDeque;

/// A queue that any thread may fill and any thread of the place may empty.
#[derive(Debug)]
pub struct Inbox<M> {
    pending: AtomicUsize,
    queue: Lock<VecDeque<M>>,
}

impl<M> Default for Inbox<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> Inbox<M> {
    /// Creates an empty inbox.
    pub fn new() -> Self {
        Self {
            pending: AtomicUsize::new(0),
            queue: Lock::new(VecDeque::new()),
        }
    }

    /// Appends a message.
    ///
    /// ```
    /// # use tautline_core::{deque::Inbox, port::Spin};
    /// let inbox = Inbox::new();
    /// inbox.push("hello", &Spin); // by any thread
    /// assert_eq!(inbox.pop(&Spin), Some("hello"));
    /// ```
    pub fn push(&self, message: M, relax: &impl Relax) {
        let mut queue = self.queue.lock(relax);
        queue.push_back(message);
        // ORDERING: Relaxed, under the lock; the fences of Crew (I1) order it with respect to a
        // worker that becomes idle.
        self.pending.store(queue.len(), Ordering::Relaxed);
    }

    /// Takes the first message.
    pub fn pop(&self, relax: &impl Relax) -> Option<M> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock(relax);
        let message = queue.pop_front();
        // ORDERING: Relaxed, under the lock (I1): the count follows the queue.
        self.pending.store(queue.len(), Ordering::Relaxed);
        message
    }

    /// Takes the newest message that is `wanted`.
    ///
    /// ```
    /// # use tautline_core::{deque::Inbox, port::Spin};
    /// let inbox = Inbox::new();
    /// (1..=4).for_each(|n| inbox.push(n, &Spin));
    /// assert_eq!(inbox.pop_newest(&Spin, |n| n % 2 == 1), Some(3));
    /// ```
    pub fn pop_newest(&self, relax: &impl Relax, wanted: impl Fn(&M) -> bool) -> Option<M> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock(relax);
        let at = queue.iter().rposition(wanted)?;
        let message = queue.remove(at);
        // ORDERING: Relaxed, under the lock (I1): the count follows the queue.
        self.pending.store(queue.len(), Ordering::Relaxed);
        message
    }

    /// Whether there is a `wanted` message, settled against every push by the lock.
    ///
    /// ```
    /// # use tautline_core::{deque::Inbox, port::Spin};
    /// let inbox = Inbox::new();
    /// inbox.push(7, &Spin);
    /// assert!(inbox.holds(&Spin, |n| *n == 7));
    /// ```
    pub fn holds(&self, relax: &impl Relax, wanted: impl Fn(&M) -> bool) -> bool {
        self.queue.lock(relax).iter().any(wanted)
    }

    /// Returns the number of `wanted` messages, settled against every push by the lock.
    ///
    /// ```
    /// # use tautline_core::{deque::Inbox, port::Spin};
    /// let inbox = Inbox::new();
    /// (1..=4).for_each(|n| inbox.push(n, &Spin));
    /// assert_eq!(inbox.count(&Spin, |n| n % 2 == 0), 2);
    /// ```
    pub fn count(&self, relax: &impl Relax, wanted: impl Fn(&M) -> bool) -> usize {
        self.queue.lock(relax).iter().filter(|m| wanted(m)).count()
    }

    /// Whether there was no message recently; a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // ORDERING: Relaxed, a hint; a worker that becomes idle executes a full fence before it
        // (I1).
        self.pending.load(Ordering::Relaxed) == 0
    }

    /// Returns the number of messages, as a hint.
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint (I1).
        self.pending.load(Ordering::Relaxed)
    }

    /// Whether there is no message, settled against every push by the lock: a push that this does
    /// not observe observes what the caller did before.
    pub fn is_settled_empty(&self, relax: &impl Relax) -> bool {
        self.queue.lock(relax).is_empty()
    }

    /// Returns the messages that were not taken.
    ///
    /// ```
    /// # use tautline_core::{deque::Inbox, port::Spin};
    /// let inbox = Inbox::new();
    /// inbox.push(7, &Spin);
    /// assert_eq!(inbox.into_inner(), [7]);
    /// ```
    pub fn into_inner(self) -> VecDeque<M> {
        self.queue.into_inner()
    }
}
