//! Collective operations for which the calling thread waits rarely allocate once they have run a
//! few times.
#![cfg(feature = "serde")]
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use tautline::world::{self, World};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

// SAFETY: all calls go to the system's allocator; the counter has no destructor, and its first use
// takes no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's obligations are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from there.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; the memory came from there.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const CALLS: u64 = 2000;

/// Returns the allocations of the calling thread in as many calls, after some that are not counted:
/// the least of some rounds.
fn allocations(mut call: impl FnMut()) -> u64 {
    let round = |_| {
        let before = ALLOCATIONS.get();
        (0..CALLS).for_each(|_| call());
        ALLOCATIONS.get() - before
    };
    let rounds = (0..5).map(round).skip(1);
    rounds.min().expect("there are some")
}

fn both(world: &World) -> [u64; 2] {
    let barriers = allocations(|| world.barrier().expect("all ranks live"));
    let sums = allocations(|| {
        let sum = world.all_reduce(black_box(1u64 << 60), u64::wrapping_add);
        black_box(sum.expect("all ranks live"));
    });
    [barriers, sums]
}

#[test]
fn barriers_and_sums_of_words_do_not_allocate() {
    for ranks in [2, 3, 4] {
        for (rank, counted) in world::loopback(ranks, both).into_iter().enumerate() {
            // A thread that is preempted while it has the last mailbox makes the next call take a
            // new one.
            let few = CALLS / 50;
            let is_free = counted.iter().all(|count| *count < few);
            assert!(
                is_free,
                "rank {rank} of {ranks}: {counted:?} of {CALLS} calls"
            );
        }
    }
}
