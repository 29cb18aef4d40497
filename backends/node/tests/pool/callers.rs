//! Threads that are inside of a pool at the same time, more of them than there are seats.

use super::{fib, start};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Barrier, Mutex};
use std::thread;
use tautline_core::hierarchy::{Domain, Kind, Spec};
use tautline_core::task::Wait;
use tautline_node::pool::{Plan, Threads};

/// Calls `body` on `callers` threads, once all of them are inside a run; returns what they
/// returned, by caller.
fn meet<R: Send>(
    threads: &Threads,
    callers: usize,
    body: impl Fn(&mut super::Cx, usize) -> R + Sync,
) -> Vec<R> {
    let (met, body) = (&Barrier::new(callers), &body);
    thread::scope(|scope| {
        let call = |caller| {
            scope.spawn(move || {
                threads.run(|cx| {
                    met.wait();
                    body(cx, caller)
                })
            })
        };
        let calls: Vec<_> = (0..callers).map(call).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    })
}

/// Any number of callers meet in their bodies, with joins, spawned tasks and nested runs, and again
/// on the same pool.
#[test]
fn any_number_of_callers_meet() {
    for workers in [1, 2, 4] {
        let threads = &start(workers);
        for callers in [5, 16, 100, 16] {
            let found = meet(threads, callers, |cx, caller| {
                let mut spawned = 0;
                cx.scope(|cx| cx.spawn(|_| spawned = caller));
                fib(cx, 10) as usize + spawned + threads.run(|cx| fib(cx, 5)) as usize
            });
            let expected: Vec<_> = (0..callers).map(|caller| 55 + caller + 5).collect();
            assert_eq!(found, expected, "{workers} workers");
        }
    }
}

/// Callers with and without a seat meet in tasks too, while every worker is blocked.
#[test]
fn callers_meet_while_all_workers_are_blocked() {
    const CALLERS: usize = 12;
    let threads = &start(4);
    let met = &Barrier::new(CALLERS);
    thread::scope(|scope| {
        for _ in 0..CALLERS {
            scope.spawn(move || threads.run(|cx| cx.join(|_| met.wait(), |_| ()).0));
        }
    });
}

/// A run inside the run of a caller without a seat is nested in it: a lock may be held over an
/// isolated scope.
#[test]
fn a_run_inside_a_run_without_a_seat() {
    let (threads, lock) = (&start(1), &Mutex::new(0));
    let add = || {
        let mut sum = lock.lock().unwrap();
        let (a, b) = threads.run(|cx| cx.join(|_| 1, |_| threads.run(|_| 1)));
        *sum += a + b;
    };
    meet(threads, 10, |cx, _| {
        cx.scope_with(Wait::Own, |cx| {
            for _ in 0..5 {
                cx.spawn(|_| add());
            }
        });
    });
    assert_eq!(*lock.lock().unwrap(), 100);
}

/// A panic comes out of the run of a caller without a seat too, and the pool is as good as before.
#[test]
fn a_panic_without_a_seat() {
    let threads = &start(1);
    for _ in 0..3 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let odd = |cx: &mut super::Cx, caller: usize| {
                let run = || cx.join(|_| assert_eq!(caller % 2, 0, "odd"), |_| ());
                catch_unwind(AssertUnwindSafe(run)).is_err()
            };
            meet(threads, 12, odd)
        }));
        let panicked = caught.unwrap();
        assert_eq!(panicked.iter().filter(|&&it| it).count(), 6);
        let out = catch_unwind(AssertUnwindSafe(|| threads.run(|_| panic!("out"))));
        assert!(out.is_err());
    }
    assert_eq!(meet(threads, 12, |cx, _| fib(cx, 10)), [55; 12]);
}

/// A caller without a seat runs also those tasks that it binds to a domain.
#[test]
fn tasks_bound_without_a_seat() {
    let halves = Spec::new(Kind::Cache).copies(2).workers(1);
    let threads = &Threads::start(&Plan {
        tree: Spec::new(Kind::Memory).child(halves).build().unwrap(),
        ..Plan::flat(2)
    });
    let met = meet(threads, 12, |cx, _| {
        let mut sum = [0; 3];
        cx.scope(|cx| {
            for (domain, sum) in sum.iter_mut().enumerate() {
                cx.spawn_in(Domain(domain as u32), move |_| *sum += domain + 1);
            }
        });
        sum
    });
    assert_eq!(met, [[1, 2, 3]; 12]);
}
