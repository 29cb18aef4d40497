//! The two lists of slots, both linked by `Slot::next`. Invariant: a slot is in at most one of
//! them.
//!
//! # Algorithm
//! Both are lock-free. [`Free`] is Treiber's stack. A number in its word, incremented by each pop,
//! keeps a delayed pop from succeeding after the stack has changed and changed back (ABA).
//!
//! [`Inbox`] is a stack that producers push to and the worker takes whole, then reverses: the order
//! of all pushes. A push to a word that has changed back (ABA) is harmless, since the pushed slot
//! is linked to the word that it replaces.
//!
//! # Words
//! `Free::word`: written by each thread that allocates or recycles. `Inbox::newest`: by producers
//! and the worker. `Slot::next`: by the thread that owns the slot.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | Q2 | `Free::push` sets `word` | `Free::pop` loads it | the slot: its link, and that its task is over | `comm_recycle`, `comm_reuse` |
//! | Q3 | `Inbox::push` sets `newest` | `Inbox::take` swaps it | the slot: its link and its task | `comm_producers`, `comm_prescribed` |
//!
//! All writes of both words are read-modify-writes, so the release of a push is continued by those
//! after it (Q2, Q3): a pop that reads the result of another pop still observes the push of what it
//! takes.
//!
//! # Not proved
//! A pop that is delayed while others pop a multiple of 2^40 times (2^20 on machines of 32 bits),
//! of which the last leaves the same slot on top.

use super::table::Table;
use super::{INDEX_BITS, LIMIT};
use crate::sync::{AtomicUsize, Ordering};

/// No slot. A link is the index of a slot, plus one.
pub(super) const NONE: usize = 0;
/// The bits of a link.
const LINK: usize = LIMIT;
/// Added to the word of [`Free`] by each pop.
const POP: usize = 1 << INDEX_BITS;
/// The inbox accepts nothing any more. Not a link.
const CLOSED: usize = usize::MAX;

/// The slots without a task.
pub(super) struct Free {
    word: AtomicUsize,
}

impl Free {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicUsize::new(NONE),
        }
    }

    /// Adds a slot of this thread.
    pub(super) fn push<P>(&self, table: &Table<P>, index: usize) {
        let slot = table.slot(index);
        // ORDERING: Relaxed: the first guess of the exchange.
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            // ORDERING: Relaxed: published by the exchange (Q2).
            slot.next.store(seen & LINK, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in pop (Q2): the task is over, and the link is
            // set. ORDERING: failure Relaxed: only the word is used.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let word = seen & !LINK | (index + 1);
            match self
                .word
                .compare_exchange_weak(seen, word, success, failure)
            {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Takes a slot, which belongs to this thread from then on.
    pub(super) fn pop<P>(&self, table: &Table<P>) -> Option<usize> {
        // ORDERING: Acquire, pairs with Release in push (Q2): the link of the slot, and that its
        // task is over.
        let mut seen = self.word.load(Ordering::Acquire);
        loop {
            let index = (seen & LINK).checked_sub(1)?;
            // ORDERING: Relaxed: the acquired word published it (Q2). If another thread has popped
            // the slot since, the exchange fails.
            let next = table.slot(index).next.load(Ordering::Relaxed);
            let word = (seen & !LINK).wrapping_add(POP) | next;
            // ORDERING: success Relaxed: `seen` was acquired, and the exchange continues earlier
            // releases (Q2). ORDERING: failure Acquire, pairs with Release in push (Q2): the link
            // of another slot is read next.
            let (success, failure) = (Ordering::Relaxed, Ordering::Acquire);
            match self
                .word
                .compare_exchange_weak(seen, word, success, failure)
            {
                Ok(_) => return Some(index),
                Err(now) => seen = now,
            }
        }
    }
}

/// The outcome of a push to the inbox.
pub(super) enum Pushed {
    /// The inbox was empty.
    First,
    /// Earlier tasks that the worker has not taken.
    Behind,
    /// The worker is gone: the slot still belongs to the caller.
    Closed,
}

/// The tasks that the worker has not seen.
pub(super) struct Inbox {
    newest: AtomicUsize,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            newest: AtomicUsize::new(NONE),
        }
    }

    /// Appends a slot of this thread.
    pub(super) fn push<P>(&self, table: &Table<P>, index: usize) -> Pushed {
        let slot = table.slot(index);
        // ORDERING: Relaxed: the first guess of the exchange.
        let mut seen = self.newest.load(Ordering::Relaxed);
        while seen != CLOSED {
            // ORDERING: Relaxed: published by the exchange (Q3).
            slot.next.store(seen, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in take (Q3): the task is written, and the link
            // is set. ORDERING: failure Relaxed: only the word is used.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let set = self
                .newest
                .compare_exchange_weak(seen, index + 1, success, failure);
            match set {
                Ok(NONE) => return Pushed::First,
                Ok(_) => return Pushed::Behind,
                Err(now) => seen = now,
            }
        }
        Pushed::Closed
    }

    /// Takes all slots. Returns the link to the first of them, from which the links lead to the
    /// last. Called by one thread.
    pub(super) fn take<P>(&self, table: &Table<P>) -> usize {
        // ORDERING: Relaxed: a hint that spares an empty inbox the exchange; a push is then found
        // by a later call (Q3).
        match self.newest.load(Ordering::Relaxed) {
            NONE | CLOSED => NONE,
            _ => self.swap(table, NONE),
        }
    }

    /// As [`take`](Self::take), for the last time: later pushes are refused.
    pub(super) fn close<P>(&self, table: &Table<P>) -> usize {
        self.swap(table, CLOSED)
    }

    /// Whether the list has no slots; a hint.
    pub(super) fn is_empty(&self) -> bool {
        // ORDERING: Relaxed: a hint (Q3).
        matches!(self.newest.load(Ordering::Relaxed), NONE | CLOSED)
    }

    fn swap<P>(&self, table: &Table<P>, left: usize) -> usize {
        // ORDERING: Acquire, pairs with Release in push (Q3): the tasks and links of all slots in
        // the list. The release of each push is continued by the later ones.
        let mut link = self.newest.swap(left, Ordering::Acquire);
        let mut first = NONE;
        while link != NONE && link != CLOSED {
            let next = &table.slot(link - 1).next;
            // ORDERING: Relaxed both: the slots belong to this thread (Q3).
            let older = next.load(Ordering::Relaxed);
            // ORDERING: Relaxed: only this thread reads the reversed list (Q3).
            next.store(first, Ordering::Relaxed);
            (first, link) = (link, older);
        }
        first
    }
}
