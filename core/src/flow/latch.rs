//! The word of a cell: empty, with a list of those who wait for it, or full.
//!
//! # Algorithm
//! The data-driven futures of Chatterjee 2013 (section 3.2.2): a waiter puts itself in front of the list by
//! compare-and-swap; the put takes the whole list by one swap that makes the word full for ever, and releases who is
//! in it. What differs: there a second put is an error of the program that nothing detects in time. Here a put first
//! claims the word by its lowest bit, so of two that race one loses before it has touched the value.
//!
//! # Words
//! `word`: the node registered last, or nothing, plus [`CLAIMED`] once a put is under way: waiters and the put.
//! [`FULL`] from then on. `wakers`: set once, by the first future that has to wait.
//! `Link::next`: written by whoever registers the node, before it is in the list; read by the put.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C1 | `fill` swaps `word` | `is_full` loads it | the value | `v5_put_register` |
//! | C2 | `register_link` swaps itself into `word` | `fill` swaps `word` | the node, and what it was registered with | `v5_put_register` |
//! | C3 | `Wakers::of` sets `wakers` | `Wakers::of` | the lock and the list behind it | `futures_share` |
//!
//! All writes of `word` are read-modify-writes, so each registration stays visible through those after it, the
//! claim too (C2).
//!
//! # Proved
//! By loom (`verify/tests/flow.rs`): each waiter is released once, sees the value, one of two puts wins.

use crate::sync::{AtomicPtr, Ordering, UnsafeCell};
use core::fmt;
use core::ptr::{self, NonNull};

/// A put is writing the value, or has: no other may.
const CLAIMED: usize = 1;
/// The value is there. No node has this address: nodes are aligned to 4.
const FULL: usize = 2 | CLAIMED;

/// How the wait of a node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The cell is full now.
    Released,
    /// The cell was dropped empty.
    Dropped,
}

/// What a list of waiters is made of: the head of a node, whatever comes behind it.
#[repr(C, align(4))]
pub struct Link {
    next: UnsafeCell<*mut Link>,
    finish: unsafe fn(NonNull<Link>, End),
}

impl Link {
    /// The head of a node for which `finish` is called once, when its wait ends.
    ///
    /// `finish` gets the node back: from then on nothing here touches it.
    #[cfg(not(tautline_loom))]
    pub const fn new(finish: unsafe fn(NonNull<Link>, End)) -> Self {
        Self {
            next: UnsafeCell::new(ptr::null_mut()),
            finish,
        }
    }

    /// As without loom, where it is const.
    #[cfg(tautline_loom)]
    pub fn new(finish: unsafe fn(NonNull<Link>, End)) -> Self {
        Self {
            next: UnsafeCell::new(ptr::null_mut()),
            finish,
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The state of a cell, without its value: what waiters register with.
pub struct Latch {
    word: AtomicPtr<Link>,
    /// Those who wait as futures, once there was one.
    #[cfg(feature = "alloc")]
    pub(super) wakers: AtomicPtr<super::wait::Wakers>,
}

// SAFETY: whoever registers a node promises that it may be finished on any thread, and nothing else is behind the words.
unsafe impl Send for Latch {}
// SAFETY: as above; the words are atomic.
unsafe impl Sync for Latch {}

impl Latch {
    /// Empty, nobody waits.
    #[cfg(not(tautline_loom))]
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicPtr::new(ptr::null_mut()),
            #[cfg(feature = "alloc")]
            wakers: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// As without loom, where it is const.
    #[cfg(tautline_loom)]
    pub(super) fn new() -> Self {
        Self {
            word: AtomicPtr::new(ptr::null_mut()),
            #[cfg(feature = "alloc")]
            wakers: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether the value is there; if so, it is visible to this thread.
    #[inline]
    pub fn is_full(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in fill (C1): the value is seen.
        self.word.load(Ordering::Acquire).addr() == FULL
    }

    /// The right to write the value, to one caller ever.
    pub(super) fn claim(&self) -> bool {
        // The first guess is that nobody waits. A look would cost more, and hide from loom, which remembers one
        // access a word, that a get may come before.
        let mut seen = ptr::null_mut::<Link>();
        while seen.addr() & CLAIMED == 0 {
            let claimed = seen.map_addr(|address| address | CLAIMED);
            // ORDERING: Relaxed both ways: it publishes and reads nothing; as a read-modify-write it
            // keeps the registrations before it visible to fill (C2).
            let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.word.compare_exchange_weak(seen, claimed, yes, no) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Makes the word full and finishes every node in the list, the one registered last first.
    ///
    /// Only after a [`claim`](Self::claim) that succeeded, once, and after the value is written.
    pub(super) fn fill(&self) {
        let full = ptr::without_provenance_mut(FULL);
        // ORDERING: AcqRel: Release pairs with Acquire in is_full (C1): the value is written. Acquire pairs with
        // Release in register_link (C2): the nodes are seen.
        let list = self.word.swap(full, Ordering::AcqRel);
        Chain::of(list, End::Released).finish();
    }

    /// Puts a node in front of the list. False if the cell is full: the node is the caller's again.
    ///
    /// # Safety
    /// `link` leads to a node that nobody else uses until its `finish` is called, and from which `finish` may be called
    /// on any thread, once, at any time until this cell is put or dropped.
    pub unsafe fn register_link(&self, link: NonNull<Link>) -> bool {
        // ORDERING: Relaxed: whoever is told that the cell is full looks at the value through is_full.
        let mut seen = self.word.load(Ordering::Relaxed);
        while seen.addr() != FULL {
            let rest = seen.map_addr(|address| address & !CLAIMED);
            // SAFETY: the node is the caller's until it is in the list.
            unsafe { link.as_ref() }
                .next
                // SAFETY: as above.
                .with_mut(|next| unsafe { *next = rest });
            let node = link.as_ptr();
            let node = node.map_addr(|address| address | (seen.addr() & CLAIMED));
            // ORDERING: Release, pairs with AcqRel in fill (C2): the node is written before it is in the list.
            // ORDERING: failure Relaxed: as the load above.
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            match self.word.compare_exchange_weak(seen, node, yes, no) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that all other threads are done.
        let word = self.word.load(Ordering::Relaxed);
        if word.addr() != FULL {
            Chain::of(word, End::Dropped).finish();
        }
        #[cfg(feature = "alloc")]
        super::wait::Wakers::drop_of(self);
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.is_full();
        f.debug_struct("Latch").field("full", &full).finish()
    }
}

/// Nodes taken out of a word, that are to be finished, also if finishing one of them panics.
struct Chain {
    next: *mut Link,
    end: End,
}

impl Chain {
    fn of(word: *mut Link, end: End) -> Self {
        let next = word.map_addr(|address| address & !CLAIMED);
        Self { next, end }
    }

    fn finish(&mut self) {
        while let Some(link) = NonNull::new(self.next) {
            // SAFETY: the node was in the list, so it is whole and, now that the list is ours, nobody else's.
            let node = unsafe { link.as_ref() };
            // SAFETY: as above. Read before the node is given away.
            self.next = node.next.with(|next| unsafe { *next });
            let finish = node.finish;
            // SAFETY: the node is out of the list: this is the one call that register_link was promised for.
            unsafe { finish(link, self.end) };
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.finish();
    }
}
