//! Pools of threads: entering them, depth of recursion, numbers of workers.
//!
//! No test waits for a time: a task lasts until the event that it must coincide with.

#[path = "pool/callers.rs"]
mod callers;
#[path = "pool/halves.rs"]
mod halves;
#[path = "pool/holds.rs"]
mod holds;
#[path = "pool/hooks.rs"]
mod hooks;
#[path = "pool/idle.rs"]
mod idle;
#[path = "../../../core/tests/phaser/program.rs"]
mod program;
#[cfg(feature = "deep-recursion")]
#[path = "pool/refused.rs"]
mod refused;
#[path = "pool/seats.rs"]
mod seats;
#[cfg(feature = "deep-recursion")]
#[path = "pool/stack.rs"]
mod stack;
#[path = "pool/waiting.rs"]
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::task::Wait;
use tautline_node::pool::{Node, Plan, Threads};

type Cx<'s, 'e> = tautline_core::task::Cx<'s, 'e, Node>;

const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// The time to wait for an event. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        thread::yield_now();
    }
}

fn start(workers: usize) -> Threads {
    Threads::start(&Plan::flat(workers))
}

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

/// As many tasks as workers, each of which waits for all.
fn all_work(threads: &Threads, workers: usize) {
    let met = AtomicUsize::new(0);
    threads.run(|cx| {
        for _ in 0..workers {
            cx.spawn(|_| {
                met.fetch_add(1, SeqCst);
                wait_until("all work", || met.load(SeqCst) == workers);
            });
        }
    });
}

/// More threads from outside than there are seats, again and again.
#[test]
fn many_callers_at_once() {
    const CALLERS: usize = 8;
    const RUNS: usize = 1000;
    for workers in [1, 2, 4] {
        let threads = start(workers);
        let (ready, sum) = (Barrier::new(CALLERS), AtomicUsize::new(0));
        thread::scope(|scope| {
            for caller in 0..CALLERS {
                let (threads, ready, sum) = (&threads, &ready, &sum);
                scope.spawn(move || {
                    ready.wait();
                    for run in 0..RUNS {
                        let mut out = 0;
                        let (a, b) = threads.run(|cx| {
                            cx.scope(|cx| cx.spawn(|_| out = caller));
                            cx.join(|_| run, |_| 1)
                        });
                        sum.fetch_add(out + a + b, SeqCst);
                    }
                });
            }
        });
        let each = RUNS * (RUNS - 1) / 2 + RUNS;
        let all = CALLERS * each + RUNS * CALLERS * (CALLERS - 1) / 2;
        assert_eq!(sum.into_inner(), all, "{workers} workers");
    }
}

/// Fact 52: on threads of the system.
#[test]
fn the_program_of_all_pools_has_the_same_results() {
    for workers in WORKERS {
        let results = start(workers).run(|cx| program::program(cx));
        assert_eq!(results, program::RESULTS);
    }
}

/// A run from within a task of the same pool, deeper than there are seats for callers.
#[test]
fn a_run_inside_a_run() {
    fn deeper(threads: &Threads, left: usize) -> usize {
        threads.run(|cx| {
            if left == 0 {
                return cx.join(|_| 1, |_| 0).0;
            }
            let (a, b) = cx.join(|_| deeper(threads, left - 1), |_| 1);
            a + b
        })
    }
    for workers in WORKERS {
        let threads = start(workers);
        assert_eq!(deeper(&threads, 20), 21, "{workers} workers");
        // From every worker at once, and from spawned tasks.
        let sum = AtomicUsize::new(0);
        threads.run(|cx| {
            for _ in 0..100 {
                cx.spawn(|_| _ = sum.fetch_add(deeper(&threads, 3), SeqCst));
            }
        });
        assert_eq!(sum.into_inner(), 400);
    }
}

/// A run inside a task of an isolated scope is isolated too: a lock may be held over it.
#[test]
fn a_run_inside_an_isolated_scope() {
    for workers in WORKERS {
        for wait in [Wait::Own, Wait::Park] {
            let threads = start(workers);
            let lock = Mutex::new(0);
            let take = || {
                let mut sum = lock.lock().unwrap();
                let part = AtomicUsize::new(0);
                threads.run(|cx| {
                    for _ in 0..5 {
                        cx.spawn(|_| _ = part.fetch_add(1, SeqCst));
                    }
                });
                *sum += part.into_inner();
            };
            threads.run(|cx| {
                for _ in 0..50 {
                    // In its body, in a task of it, in a half of a fork: one of them, wherever it
                    // runs.
                    cx.spawn(|cx| cx.scope_with(wait, |_| take()));
                    cx.spawn(|cx| cx.scope_with(wait, |cx| cx.spawn(|_| take())));
                    cx.spawn(|cx| cx.scope_with(wait, |cx| cx.join(|_| (), |_| take()).1));
                }
            });
            assert_eq!(lock.into_inner().unwrap(), 750, "{workers} workers");
        }
    }
}

/// Two pools whose tasks run tasks in the other, from more threads than either has seats for.
#[test]
fn two_pools_crosswise() {
    fn cross(here: &Threads, there: &Threads, left: usize) -> usize {
        here.run(|cx| {
            if left == 0 {
                return 1;
            }
            let (a, b) = cx.join(
                |_| cross(there, here, left - 1),
                |_| cross(there, here, left - 1),
            );
            a + b
        })
    }
    for workers in [1, 2, 4] {
        let (a, b) = (&start(workers), &start(workers));
        let ready = &Barrier::new(10);
        thread::scope(|scope| {
            for caller in 0..10 {
                scope.spawn(move || {
                    ready.wait();
                    let (a, b) = if caller % 2 == 0 { (a, b) } else { (b, a) };
                    for _ in 0..20 {
                        assert_eq!(cross(a, b, 6), 64);
                    }
                });
            }
        });
    }
}

/// A panic comes out of the run, in a nested one too, and the pool is as good as before.
#[test]
fn a_panic_comes_out_of_the_run() {
    for workers in WORKERS {
        let threads = start(workers);
        for _ in 0..20 {
            let run = || threads.run(|cx| cx.spawn(|_| threads.run(|_| panic_any(7u8))));
            let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&7u8));
            assert_eq!(threads.run(|cx| fib(cx, 10)), 55);
        }
        all_work(&threads, workers);
    }
}

/// Started, run, dropped at once: `TAUTLINE_SOAK_CYCLES` times, 2000 by default.
#[test]
fn started_run_and_stopped() {
    let asked = std::env::var("TAUTLINE_SOAK_CYCLES");
    let cycles: usize = asked.map_or(2000, |cycles| cycles.parse().expect("a number"));
    for cycle in 0..cycles {
        let threads = start(WORKERS[cycle % 3]);
        if cycle % 4 < 3 {
            let done = AtomicUsize::new(0);
            threads.run(|cx| {
                (0..cycle % 10).for_each(|_| cx.spawn(|_| _ = done.fetch_add(1, SeqCst)))
            });
            assert_eq!(done.into_inner(), cycle % 10);
        }
        drop(threads);
    }
}

/// The number of workers goes up and down while tasks run; none is lost, and all that are wanted
/// work.
#[test]
fn workers_come_and_go() {
    const MOST: usize = 6;
    let plan = Plan {
        most: MOST,
        ..Plan::flat(2)
    };
    let threads = &Threads::start(&plan);
    assert_eq!((threads.workers(), threads.most()), (2, MOST));
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(move || {
            let turns = [1, 6, 2, 5, 1, 3].iter().cycle();
            for &wanted in turns.take_while(|_| !over.load(SeqCst)) {
                threads.set_workers(wanted).expect("threads start");
                thread::yield_now();
            }
        });
        for _ in 0..200 {
            assert_eq!(threads.run(|cx| fib(cx, 14)), 377);
        }
        over.store(true, SeqCst);
    });
    for wanted in [1, MOST, 3, 1, MOST] {
        threads.set_workers(wanted).expect("threads start");
        assert_eq!(threads.workers(), wanted);
        all_work(threads, wanted);
    }
}
