//! Memory use of spawned tasks, of loops, and of the times that are kept of loops.

#[expect(dead_code, reason = "shared with the tests of tasks")]
#[path = "task/crew.rs"]
mod crew;

use crew::{Cx, run_on, wait_until, within};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use tautline_core::taper::{Samples, Site};

/// The system's allocator, with counts of the bytes in use and of the allocations so far, of all
/// threads.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, SeqCst);
        ALLOCATIONS.fetch_add(1, SeqCst);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: the caller meets the same conditions here.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Waits until the memory of pools is freed, except for less than a slab of blocks: the harness may
/// allocate a little at any time, and threads that are ending may still hold some.
fn all_is_given_back(before: isize) {
    wait_until("all memory is freed", || BYTES.load(SeqCst) < before + 1024);
}

/// A single test, since the counts are those of the whole process.
#[test]
fn recycled_blocks() {
    many_scopes_allocate_no_more_than_a_few();
    a_burst_leaves_little_behind();
    loops_allocate_nothing();
    the_times_of_a_loop_are_few();
}

/// Some of the tasks are stolen in each scope. The memory in use stays flat, and all of it is freed
/// when the pool is dropped.
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
                            // The other workers run all of them.
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

/// After a scope with very many tasks at once, only a small part of their memory stays in use.
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
        println!("{at_once} bytes during a burst, {after} after it");
        assert_eq!(ran.load(SeqCst), TASKS);
        assert!(after < 4 * 1024 * 1024, "{after} bytes");
    });
    all_is_given_back(before);
}

const ITEMS: usize = 10_000;

fn each(cx: &mut Cx<'_, '_>) -> usize {
    let sum = AtomicUsize::new(0);
    cx.par_for(0..ITEMS, |i| _ = sum.fetch_add(i, SeqCst));
    sum.into_inner()
}

fn sum(cx: &mut Cx<'_, '_>) -> usize {
    cx.par(0..ITEMS).sum()
}

fn reduced(cx: &mut Cx<'_, '_>) -> usize {
    cx.par(0..ITEMS).map(|i| 2 * i).reduce(|| 0, |a, b| a + b) / 2
}

/// Calls `execute` with a function that returns once it has been called by all workers.
fn met<R>(workers: usize, execute: impl FnOnce(&(dyn Fn() + Sync)) -> R) -> R {
    let begun = AtomicUsize::new(0);
    execute(&|| {
        begun.fetch_add(1, SeqCst);
        wait_until("all workers take part", || begun.load(SeqCst) == workers);
    })
}

/// A loop with an item for each worker, which all of them execute at a time.
fn each_at_a_time(cx: &mut Cx<'_, '_>, workers: usize) -> usize {
    met(workers, |meet| cx.par_for(0..workers, |_| meet()));
    workers
}

fn sum_at_a_time(cx: &mut Cx<'_, '_>, workers: usize) -> usize {
    let one = |meet: &(dyn Fn() + Sync)| {
        meet();
        1
    };
    met(workers, |meet| cx.par(0..workers).map(|_| one(meet)).sum())
}

/// Executions of a loop after the first one, whether one worker executes it or all.
fn loops_allocate_nothing() {
    const EXECUTIONS: usize = 50;
    for workers in [1, 2, 4] {
        let repeat = |name, expected, execute: &dyn Fn(&mut Cx<'_, '_>) -> usize| {
            let count = || {
                within(workers, |pool| {
                    run_on(pool, |cx| {
                        assert_eq!(execute(cx), expected, "{name}");
                        let before = ALLOCATIONS.load(SeqCst);
                        for _ in 0..EXECUTIONS {
                            assert_eq!(execute(cx), expected, "{name}");
                        }
                        ALLOCATIONS.load(SeqCst) - before
                    })
                })
            };
            // The harness may allocate a little at any time.
            let counts: Vec<usize> = (0..3).map(|_| count()).collect();
            println!("{workers} workers, {name}: {counts:?} allocations");
            assert!(counts.contains(&0), "{workers} workers, {name}: {counts:?}");
        };
        let all = ITEMS * (ITEMS - 1) / 2;
        repeat("par_for", all, &each);
        repeat("sum", all, &sum);
        repeat("reduce", all, &reduced);
        repeat("par_for by all", workers, &|cx| each_at_a_time(cx, workers));
        repeat("sum by all", workers, &|cx| sum_at_a_time(cx, workers));
    }
}

/// Lucco, acceptance fact 23: the memory kept for a loop of 10⁶ iterations, without a table of a
/// word for each iteration.
fn the_times_of_a_loop_are_few() {
    const N: usize = 1_000_000;
    let before = BYTES.load(SeqCst);
    let mut site = Box::new(Site::default());
    for _ in 0..3 {
        let Site { cost, samples, .. } = &mut *site;
        let mut samples = samples.try_lock().expect("no other thread");
        cost.prepare(N as u64);
        for at in 0..N {
            let is_long = at / (N / 16) == 5 && at % 4 == 0;
            cost.record(&mut samples, at as u64, if is_long { 39_700 } else { 100 });
        }
        cost.learn(&samples, 1);
        *samples = Samples::default();
    }
    let bytes = BYTES.load(SeqCst) - before;
    println!("{bytes} bytes for {} sections", site.cost.sections());
    assert!(site.cost.sections() > 16, "some are refined");
    assert!(
        20 * bytes < (N * size_of::<u32>()) as isize,
        "{bytes} bytes"
    );
}
