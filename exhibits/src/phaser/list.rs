//! The signals of the tasks of one list: a word each, on a private line, in blocks that never move.
//!
//! # Words
//! `Seat`: written by its task; initialized when the task is registered. `used`, `next`: written by
//! a registration, under the caller's lock.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BL1 | `signal`, `leave`; `enter`, for the task that left the seat | `gather` | what the task did, including its registrations | `flat_marks`, `flat_reuse` |
//! | BL2 | `enter` | `gather` | the blocks up to the seat's | `tiered_seats` |
#![expect(
    unsafe_code,
    reason = "seats are found without a search, and blocks without a lock"
)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};
use tautline_core::port::Relax;
use tautline_core::sync::{AtomicPtr, AtomicUsize, CacheLine, Ordering};

/// The value of a seat that owes no signal for any phase: it is free, or its task has left.
const GONE: usize = usize::MAX;

#[derive(Debug)]
struct Block {
    seats: Box<[CacheLine<AtomicUsize>]>,
    next: AtomicPtr<Self>,
}

impl Block {
    fn new(seats: usize) -> Self {
        let seats = (0..seats).map(|_| CacheLine(AtomicUsize::new(GONE)));
        Self {
            seats: seats.collect(),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

/// One task's seat in a list, which must outlive the seat.
#[derive(Debug)]
pub(super) struct Seat(NonNull<CacheLine<AtomicUsize>>);

// SAFETY: the pointer leads to an atomic word that any thread may access.
unsafe impl Send for Seat {}
// SAFETY: the pointer leads to an atomic word that any thread may access.
unsafe impl Sync for Seat {}

/// The free seats of a list, under a lock.
#[derive(Debug, Default)]
pub(super) struct Free(Vec<Seat>);

/// The seats.
#[derive(Debug)]
pub(super) struct List {
    first: Block,
    used: AtomicUsize,
}

impl List {
    /// Creates an empty list, whose first block has `seats` seats; each further block has twice as
    /// many as the one before.
    pub(super) fn new(seats: usize) -> Self {
        Self {
            first: Block::new(seats.max(1)),
            used: AtomicUsize::new(0),
        }
    }

    /// Assigns a seat to a task that owes `start` first. `free` is the list's.
    pub(super) fn enter(&self, free: &mut Free, start: usize) -> Seat {
        if let Some(seat) = free.0.pop() {
            self.signal(&seat, start);
            return seat;
        }
        // ORDERING: Relaxed: written under the lock.
        let used = self.used.load(Ordering::Relaxed);
        let (mut block, mut index) = (&self.first, used);
        while index >= block.seats.len() {
            index -= block.seats.len();
            block = Self::following(block);
        }
        let seat = Seat(NonNull::from(&block.seats[index]));
        self.signal(&seat, start);
        // ORDERING: Release, pairs with Acquire in gather (BL2).
        self.used.store(used + 1, Ordering::Release);
        seat
    }

    /// Returns the block after this one, made if necessary.
    fn following(block: &Block) -> &Block {
        // ORDERING: Relaxed: written under the lock.
        let mut next = block.next.load(Ordering::Relaxed);
        if next.is_null() {
            next = Box::into_raw(Box::new(Block::new(2 * block.seats.len())));
            // ORDERING: Relaxed: published by the store of used that follows (BL2).
            block.next.store(next, Ordering::Relaxed);
        }
        // SAFETY: blocks live as long as the list.
        unsafe { &*next }
    }

    /// Records that all phases below `signalled` are signalled.
    #[inline]
    pub(super) fn signal(&self, seat: &Seat, signalled: usize) {
        // SAFETY: seats are used with their list only, which is borrowed.
        let word = unsafe { seat.0.as_ref() };
        // ORDERING: Release, pairs with Acquire in gather (BL1).
        word.store(signalled, Ordering::Release);
    }

    /// Records that the task has left and owes no more signals.
    pub(super) fn leave(&self, seat: &Seat) {
        self.signal(seat, GONE);
    }

    /// Frees the seat for a later task.
    pub(super) fn free(&self, free: &mut Free, seat: Seat) {
        free.0.push(seat);
    }

    /// Waits for each task of the list to signal `phase`, in sequence.
    #[inline]
    pub(super) fn gather(&self, phase: usize, relax: &impl Relax) {
        // ORDERING: Acquire, pairs with Release in enter (BL2).
        let mut left = self.used.load(Ordering::Acquire);
        let mut block = &self.first;
        loop {
            for seat in block.seats.iter().take(left) {
                let mut turn = 0;
                // ORDERING: Acquire, pairs with Release in signal (BL1).
                while seat.load(Ordering::Acquire) <= phase {
                    relax.relax(turn);
                    turn = turn.saturating_add(1);
                }
            }
            left = left.saturating_sub(block.seats.len());
            if left == 0 {
                return;
            }
            // ORDERING: Relaxed: written before used, which counts seats of later blocks (BL2).
            let next = block.next.load(Ordering::Relaxed);
            debug_assert!(!next.is_null(), "the seats that are used have blocks");
            // SAFETY: blocks live as long as the list; the remaining seats are in this block and
            // later ones.
            block = unsafe { &*next };
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // ORDERING: Relaxed: no other thread has access any more.
        let mut next = self.first.next.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: made by Box::into_raw, and freed once.
            let block = unsafe { Box::from_raw(next) };
            // ORDERING: Relaxed: no other thread has access any more.
            next = block.next.load(Ordering::Relaxed);
        }
    }
}
