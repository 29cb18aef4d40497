//! The landing pad: the tasks registered recently, in order.
//!
//! A node may have been gathered before a newcomer got its slot below it. Therefore newcomers are
//! waited for here in their first phase.
//!
//! # Words
//! `len`, `ring`, entries: written by a registering task, under the lock. `start`: raised by a task
//! that ends a phase.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | P1 | `append` | `newcomers`, `count` | the slot with its task | `registration_early`, `registration_overwrites`, `asked_of_a_child` |
//! | P2 | `retire` | `first` | the signals (signal.S1) of the newcomers that were retired | `registration_retired`, `registration_apart` |
//!
//! A slow reader may see an entry overwritten. It then reads a newer entry: either it does not end
//! the phase, or its attempt fails because the phase has already ended.

use super::node::Slot;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};
use alloc::boxed::Box;
use core::ptr::{self, NonNull};

/// Entries by ticket, modulo a power of two.
#[derive(Debug)]
struct Ring {
    entries: Box<[AtomicPtr<Slot>]>,
    older: *mut Ring,
}

impl Ring {
    fn new(capacity: usize, older: *mut Self) -> *mut Self {
        let entries = (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut()));
        let entries = entries.collect();
        Box::into_raw(Box::new(Self { entries, older }))
    }

    fn at(&self, ticket: usize) -> &AtomicPtr<Slot> {
        &self.entries[ticket & (self.entries.len() - 1)]
    }
}

/// The landing pad; see the head of the module.
#[derive(Debug)]
pub(crate) struct Pad {
    start: AtomicUsize,
    len: AtomicUsize,
    ring: AtomicPtr<Ring>,
}

impl Pad {
    /// Creates an empty pad.
    pub(crate) fn new() -> Self {
        Self {
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            ring: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Adds a newcomer; `phase` is the current one. Under the lock of registrations.
    pub(crate) fn append(&self, slot: NonNull<Slot>, phase: usize) {
        // ORDERING: Relaxed: written under the lock.
        let len = self.len.load(Ordering::Relaxed);
        let ring = self.room(len, phase);
        // SAFETY: rings live as long as the pad.
        let entry = unsafe { (*ring).at(len) };
        // ORDERING: Release, pairs with Acquire in newcomers (P1): for slow readers, which may find
        // it in place of an older entry.
        entry.store(slot.as_ptr(), Ordering::Release);
        // ORDERING: Release, pairs with Acquire in newcomers (P1).
        self.len.store(len + 1, Ordering::Release);
    }

    /// Returns a ring with a free place for ticket `len`.
    fn room(&self, len: usize, phase: usize) -> *mut Ring {
        // ORDERING: Relaxed: written under the lock.
        let ring = self.ring.load(Ordering::Relaxed);
        // SAFETY: rings live as long as the pad.
        let capacity = unsafe { ring.as_ref() }.map_or(0, |r| r.entries.len());
        if len - self.first() < capacity {
            return ring;
        }
        self.retire(phase);
        let first = self.first();
        if len - first < capacity {
            return ring;
        }
        let larger = Ring::new((2 * capacity).max(4), ring);
        // SAFETY: both live as long as the pad.
        if let (Some(old), new) = (unsafe { ring.as_ref() }, unsafe { &*larger }) {
            for ticket in first..len {
                // ORDERING: Relaxed: written under the lock.
                let slot = old.at(ticket).load(Ordering::Relaxed);
                // ORDERING: Relaxed: published with the ring.
                new.at(ticket).store(slot, Ordering::Relaxed);
            }
        }
        // ORDERING: Release, pairs with Acquire in newcomers (P1).
        self.ring.store(larger, Ordering::Release);
        larger
    }

    #[inline]
    fn first(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in retire (P2). A low value only costs reading
        // retired entries.
        self.start.load(Ordering::Acquire)
    }

    /// Whether there are no newcomers, which may owe signals. In a phase without registrations this
    /// is the only access.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // ORDERING: Relaxed: a newcomer that owes a signal was registered by a task whose signal
        // the caller has seen (signal.S1).
        self.len.load(Ordering::Relaxed) == self.first()
    }

    /// Returns the number of tasks registered so far.
    pub(crate) fn count(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in append (P1).
        self.len.load(Ordering::Acquire)
    }

    /// Returns the tasks that may have been registered in a phase that has not ended, in order,
    /// including those that one of them registers before the iteration reaches it.
    pub(crate) fn newcomers(&self) -> impl Iterator<Item = &Slot> {
        self.since(self.first())
    }

    fn since(&self, first: usize) -> impl Iterator<Item = &Slot> {
        (first..).map_while(|ticket| {
            // Reloaded each time: the signal seen last may follow a registration.
            // ORDERING: Acquire, pairs with Release in append (P1).
            if ticket >= self.len.load(Ordering::Acquire) {
                return None;
            }
            // ORDERING: Acquire, pairs with Release in room (P1): at least as new as the
            // length.
            let ring = self.ring.load(Ordering::Acquire);
            // SAFETY: rings live as long as the pad.
            let ring = unsafe { ring.as_ref() }?;
            // ORDERING: Acquire, pairs with Release in append (P1).
            let slot = ring.at(ticket).load(Ordering::Acquire);
            // SAFETY: slots live as long as the phaser.
            unsafe { slot.as_ref() }
        })
    }

    /// Retires the newcomers whose first phase has ended; `phase` is the current one.
    pub(crate) fn retire(&self, phase: usize) {
        let first = self.first();
        let old = self
            .since(first)
            .take_while(|slot| slot.start() < phase)
            .count();
        if old > 0 {
            // ORDERING: Release, pairs with Acquire in first (P2). It may be read instead of
            // another thread's, whose release sequence it continues.
            self.start.fetch_max(first + old, Ordering::Release);
        }
    }
}

impl Drop for Pad {
    fn drop(&mut self) {
        // ORDERING: Relaxed: no other thread has access any more.
        let mut ring = self.ring.load(Ordering::Relaxed);
        while !ring.is_null() {
            // SAFETY: made by Box::into_raw, and freed once.
            let freed = unsafe { Box::from_raw(ring) };
            ring = freed.older;
        }
    }
}
