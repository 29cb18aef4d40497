//! What spawned tasks cost in memory.

#[expect(dead_code, reason = "shared with the tests of tasks")]
#[path = "task/crew.rs"]
mod crew;

use crew::{run_on, wait_until, within};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};

/// The system's allocator, with a count of the bytes that are out and of the allocations so far, of
/// all threads.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, SeqCst);
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Waits until what pools allocated is given back, down to less than a slab of blocks: the harness
/// allocates a little at any time, and threads that end may still have something.
fn all_is_given_back(before: isize) {
    wait_until("all is given back", || BYTES.load(SeqCst) < before + 1024);
}

/// One test, since the counts are the process's.
#[test]
fn recycled_blocks() {
    many_scopes_allocate_no_more_than_a_few();
    a_burst_leaves_little_behind();
}

/// Some of the tasks are stolen in each scope; memory stays flat, and all is given back when the
/// pool is dropped.
fn many_scopes_allocate_no_more_than_a_few() {
    const SCOPES: usize = 2_000;
    const TASKS: usize = 100;
    for workers in [1, 2, 4] {
        let before = BYTES.load(SeqCst);
        let ran = AtomicUsize::new(0);
        let (allocations, bytes, threads) = within(workers, |pool| {
            let threads = BYTES.load(SeqCst);
            let allocations = ALLOCATIONS.load(SeqCst);
            run_on(pool, |cx| {
                for scope in 0..SCOPES {
                    cx.scope(|cx| {
                        for _ in 0..TASKS {
                            cx.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                        }
                        if workers > 1 && scope % 10 == 0 {
                            // The others run all of them.
                            wait_until("all ran", || ran.load(SeqCst) == (scope + 1) * TASKS);
                        }
                    });
                }
            });
            let allocations = ALLOCATIONS.load(SeqCst) - allocations;
            (allocations, BYTES.load(SeqCst), threads)
        });
        println!(
            "{workers} workers: {allocations} allocations, {} bytes",
            bytes - threads
        );
        assert_eq!(ran.load(SeqCst), SCOPES * TASKS);
        assert!(
            allocations < 100,
            "{workers} workers: {allocations} allocations"
        );
        assert!(
            bytes - threads < 64 * 1024,
            "{workers} workers: {} bytes",
            bytes - threads
        );
        all_is_given_back(before);
    }
}

/// A scope with very many tasks at once: what stays is a small part of what they took.
fn a_burst_leaves_little_behind() {
    const TASKS: usize = 200_000;
    let before = BYTES.load(SeqCst);
    within(2, |pool| {
        let ran = AtomicUsize::new(0);
        let (at_once, after) = run_on(pool, |cx| {
            let at_once = cx.scope(|cx| {
                for _ in 0..TASKS {
                    let ran = [&ran; 3];
                    cx.spawn(move |_| _ = ran[0].fetch_add(1, SeqCst) + ran[1..].len());
                }
                BYTES.load(SeqCst) - before
            });
            (at_once, BYTES.load(SeqCst) - before)
        });
        println!("{at_once} bytes in a burst, {after} after it");
        assert_eq!(ran.load(SeqCst), TASKS);
        assert!(after < 4 * 1024 * 1024, "{after} bytes");
    });
    all_is_given_back(before);
}
