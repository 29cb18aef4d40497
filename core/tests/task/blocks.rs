//! The memory of spawned tasks: bodies of all sizes and alignments, and blocks that return to the
//! worker that made them.

use super::WORKERS;
use super::crew::{Crew, Cx, on, panic_of, wait_until};
use std::collections::BTreeSet;
use std::panic::panic_any;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::flow::Ddf;
use tautline_core::task::{Block, Blocks, Pool};

/// Counts its drops.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// `N` bytes at addresses that the alignment of `A` divides.
struct Bytes<A, const N: usize>([A; 0], [u8; N]);

impl<A, const N: usize> Bytes<A, N> {
    fn new(seed: u8) -> Self {
        Self([], std::array::from_fn(|i| seed.wrapping_add(i as u8)))
    }

    fn check(&self, seed: u8) {
        let address = std::ptr::from_ref(self).addr();
        assert_eq!(
            address % align_of::<A>(),
            0,
            "{N} bytes, align {}",
            align_of::<A>()
        );
        assert_eq!(
            self.1,
            Self::new(seed).1,
            "{N} bytes, align {}",
            align_of::<A>()
        );
    }
}

#[repr(align(16))]
struct A16;
#[repr(align(32))]
struct A32;
#[repr(align(64))]
struct A64;
#[repr(align(128))]
struct A128;

/// The counters of a test's tasks.
#[derive(Clone, Copy)]
struct Tally<'a> {
    ran: &'a AtomicUsize,
    dropped: &'a AtomicUsize,
}

/// Spawns a task that captures nothing but `N` bytes, one that also counts, and one that spawns in
/// turn.
fn spawn_bytes<'s, A: Send + 's, const N: usize>(cx: &mut Cx<'s, '_>, tally: Tally<'s>) {
    let (alone, bytes, outer) = (
        Bytes::<A, N>::new(1),
        Bytes::<A, N>::new(2),
        Bytes::<A, N>::new(3),
    );
    cx.spawn(move |_| alone.check(1));
    let token = Counted(tally.dropped);
    cx.spawn(move |_| {
        bytes.check(2);
        tally.ran.fetch_add(1, SeqCst);
        drop(token);
    });
    let token = Counted(tally.dropped);
    cx.spawn(move |cx| {
        let inner = Bytes::<A, N>::new(4);
        cx.spawn(move |_| {
            inner.check(4);
            outer.check(3);
            tally.ran.fetch_add(1, SeqCst);
            drop(token);
        });
    });
}

/// Calls `spawn_bytes` with each number of bytes, and counts the calls.
macro_rules! spawn_sizes {
    ($cx:expr, $tally:expr, $align:ty: $($size:literal)*) => {
        0 $(+ { spawn_bytes::<$align, $size>($cx, $tally); 1 })*
    };
}

fn spawn_all<'s>(cx: &mut Cx<'s, '_>, tally: Tally<'s>) -> usize {
    let mut calls = spawn_sizes!(cx, tally, u8:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40
        41 42 43 44 45 46 47 48 49 55 56 57 63 64 65 71 72 73 79 80 81 96 112 127 128 129 160 192 199 200);
    calls += spawn_sizes!(cx, tally, u16: 0 1 8 14 16 24 32 40 48 64 200);
    calls += spawn_sizes!(cx, tally, u64: 0 1 8 16 24 32 40 48 64 200);
    calls += spawn_sizes!(cx, tally, A16: 0 1 16 31 32 33 48 64 200);
    calls += spawn_sizes!(cx, tally, A32: 0 1 16 32 33 64 200);
    calls += spawn_sizes!(cx, tally, A64: 0 1 32 64 200);
    calls += spawn_sizes!(cx, tally, A128: 0 1 32 128 200);
    calls
}

#[test]
fn bodies_of_all_sizes_and_alignments_run_once() {
    for workers in WORKERS {
        let [ran, dropped] = [const { AtomicUsize::new(0) }; 2];
        let tally = Tally {
            ran: &ran,
            dropped: &dropped,
        };
        let calls = on(workers, |cx| {
            (0..20)
                .map(|_| cx.scope(|cx| spawn_all(cx, tally)))
                .sum::<usize>()
        });
        assert_eq!(ran.load(SeqCst), 2 * calls, "{workers} workers");
        assert_eq!(dropped.load(SeqCst), 2 * calls, "{workers} workers");
    }
}

/// Bodies panic, and the scope drops those that have not begun: each is dropped once, and its
/// memory serves the next scope.
#[test]
fn bodies_that_panic_are_dropped_once() {
    const TASKS: usize = 400;
    for workers in WORKERS {
        let dropped = AtomicUsize::new(0);
        on(workers, |cx| {
            for scope in 1..=20 {
                let panic = panic_of(|| {
                    cx.scope(|cx| {
                        for task in 0..TASKS {
                            let token = Counted(&dropped);
                            cx.spawn(move |_| {
                                let _token = token;
                                if task % 10 == 0 {
                                    panic_any("task");
                                }
                            });
                        }
                    });
                });
                assert_eq!(panic, Some("task"), "{workers} workers");
                assert_eq!(dropped.load(SeqCst), scope * TASKS, "{workers} workers");
            }
        });
    }
}

/// In each round one worker's tasks all run on the others, on new threads: each keeps an incomplete
/// batch for the next holder of its seat, and the pool is dropped with these batches.
#[test]
fn blocks_stay_with_the_seat() {
    const SEATS: usize = 3;
    const TASKS: usize = 50;
    for rounds in 1..=2 * SEATS {
        let pool = &Pool::new(Crew::new(SEATS), SEATS);
        let ran = AtomicUsize::new(0);
        for round in 0..rounds {
            let all_ran = Ddf::new();
            let help = |cx: &mut Cx<'_, '_>| {
                cx.scope(|cx| cx.spawn_when(&all_ran, |(), _| ()));
            };
            let spawn = |cx: &mut Cx<'_, '_>| {
                cx.scope(|cx| {
                    for _ in 0..TASKS {
                        cx.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                    }
                    let wanted = (round + 1) * TASKS;
                    wait_until("stolen", || ran.load(SeqCst) == wanted);
                });
                assert!(all_ran.put(()).is_ok());
            };
            thread::scope(|threads| {
                for seat in 0..SEATS {
                    let (help, spawn) = (&help, &spawn);
                    threads.spawn(move || {
                        let spawns = seat == round % SEATS;
                        let run = |cx: &mut Cx<'_, '_>| if spawns { spawn(cx) } else { help(cx) };
                        let ran = pool.with_seat(WorkerId(seat as u32), |seat| seat.run(run));
                        ran.expect("a free seat");
                    });
                }
            });
        }
        assert_eq!(ran.load(SeqCst), rounds * TASKS);
    }
}

/// The blocks of several workers, all used by this thread.
struct Crewless(Vec<Blocks>);

impl Crewless {
    fn new(workers: u32) -> Self {
        Self((0..workers).map(|w| Blocks::new(WorkerId(w))).collect())
    }

    fn take(&self, worker: usize) -> Option<NonNull<Block>> {
        // SAFETY: one thread makes all calls.
        unsafe { self.0[worker].take() }
    }

    fn take_all(&self, worker: usize) -> Vec<NonNull<Block>> {
        std::iter::from_fn(|| self.take(worker)).collect()
    }

    fn give(&self, worker: usize, block: NonNull<Block>) {
        // SAFETY: one thread makes all calls, and each test gives only blocks that it has taken.
        unsafe { self.0[worker].give(block, |home| &self.0[home.index()]) };
    }
}

fn distinct(blocks: &[NonNull<Block>]) -> usize {
    blocks.iter().collect::<BTreeSet<_>>().len()
}

#[test]
fn a_worker_makes_a_bounded_number_of_blocks() {
    let crew = Crewless::new(2);
    let all = crew.take_all(0);
    assert!((64..=1 << 16).contains(&all.len()), "{}", all.len());
    assert_eq!(distinct(&all), all.len());
    all.iter().for_each(|&block| crew.give(0, block));
    let again = crew.take_all(0);
    assert_eq!((again.len(), distinct(&again)), (all.len(), all.len()));
    assert!(crew.take(1).is_some(), "each worker has its own blocks");
}

#[test]
fn the_last_block_given_is_taken_first() {
    let crew = Crewless::new(1);
    let [a, b] = [(); 2].map(|()| crew.take(0).unwrap());
    crew.give(0, a);
    crew.give(0, b);
    assert_eq!(crew.take(0), Some(b));
    assert_eq!(crew.take(0), Some(a));
}

/// Blocks are returned in batches of one home. An incomplete batch is returned when a block of
/// another home is given.
#[test]
fn others_return_blocks_in_batches() {
    let crew = Crewless::new(3);
    let mut all = crew.take_all(0);
    let mut given = Vec::new();
    while crew.take(0).map(|b| given.push(b)).is_none() {
        crew.give(1, all.pop().expect("some are returned immediately"));
    }
    let batch = 1 + crew.take_all(0).len();
    assert!((2..=64).contains(&batch), "{batch}");
    let theirs = crew.take(2).unwrap();
    crew.give(1, all.pop().unwrap());
    assert_eq!(crew.take(0), None);
    crew.give(1, theirs);
    assert!(crew.take(0).is_some());
    assert_eq!(crew.take(0), None);
}
