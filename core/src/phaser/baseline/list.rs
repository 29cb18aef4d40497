//! What the tasks of one list have signalled: a word each, on a line of its own, in blocks that never move.
//!
//! # Words
//! `Seat`: the task's; set by whoever registers it. `used`, `next`: whoever registers, under the caller's lock.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BL1 | `signal`, `leave`; `enter`, for who left the seat | `gather` | what the task did, its registrations too | `flat_marks`, `flat_reuse` |
//! | BL2 | `enter` | `gather` | the blocks up to the seat's | `tiered_seats` |

use crate::port::Relax;
use crate::sync::{AtomicPtr, AtomicUsize, CacheLine, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr::{self, NonNull};

/// What a seat says that owes no signal for any phase: free, or left by its task.
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

/// One task's seat in a list, which must be there as long.
#[derive(Debug)]
pub(super) struct Seat(NonNull<CacheLine<AtomicUsize>>);

// SAFETY: leads to a word that any thread may touch.
unsafe impl Send for Seat {}
// SAFETY: as above.
unsafe impl Sync for Seat {}

/// What registrations know of a list, under a lock.
#[derive(Debug, Default)]
pub(super) struct Free(Vec<Seat>);

/// The seats.
#[derive(Debug)]
pub(super) struct List {
    first: Block,
    used: AtomicUsize,
}

impl List {
    /// An empty one, whose first block has so many seats; each further one has twice as many as the one before.
    pub fn new(seats: usize) -> Self {
        Self {
            first: Block::new(seats.max(1)),
            used: AtomicUsize::new(0),
        }
    }

    /// Seats a task that owes `start` first. `free` is the list's.
    pub fn enter(&self, free: &mut Free, start: usize) -> Seat {
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

    /// The block behind this one, made if need be.
    fn following(block: &Block) -> &Block {
        // ORDERING: Relaxed: written under the lock.
        let mut next = block.next.load(Ordering::Relaxed);
        if next.is_null() {
            next = Box::into_raw(Box::new(Block::new(2 * block.seats.len())));
            // ORDERING: Relaxed: the store of used that follows carries it (BL2).
            block.next.store(next, Ordering::Relaxed);
        }
        // SAFETY: blocks live as long as the list.
        unsafe { &*next }
    }

    /// All phases below `signalled` are signalled.
    #[inline]
    pub fn signal(&self, seat: &Seat, signalled: usize) {
        // SAFETY: seats are used with their list only, which is borrowed.
        let word = unsafe { seat.0.as_ref() };
        // ORDERING: Release, pairs with Acquire in gather (BL1).
        word.store(signalled, Ordering::Release);
    }

    /// The task owes nothing any more.
    pub fn leave(&self, seat: &Seat) {
        self.signal(seat, GONE);
    }

    /// Gives the seat to whoever comes next.
    pub fn free(&self, free: &mut Free, seat: Seat) {
        free.0.push(seat);
    }

    /// Waits for each task of the list to signal `phase`, one after the other.
    #[inline]
    pub fn gather(&self, phase: usize, relax: &impl Relax) {
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
            // ORDERING: Relaxed: written before used, which counts seats behind this block (BL2).
            let next = block.next.load(Ordering::Relaxed);
            debug_assert!(!next.is_null(), "the seats that are used have blocks");
            // SAFETY: blocks live as long as the list; the seats that are left are in this one and those behind it.
            block = unsafe { &*next };
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // ORDERING: Relaxed: nobody else has the list any more.
        let mut next = self.first.next.load(Ordering::Relaxed);
        while !next.is_null() {
            // SAFETY: made by Box::into_raw, and freed once.
            let block = unsafe { Box::from_raw(next) };
            // ORDERING: Relaxed: as above.
            next = block.next.load(Ordering::Relaxed);
        }
    }
}
