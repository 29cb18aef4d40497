//! External threads that take seats: of two pools at once, and while other threads want the same.

use super::{fib, start};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use tautline_core::WorkerId;
use tautline_node::pool::Threads;

/// The seat for callers from outside in a pool with one worker.
const SEAT: WorkerId = WorkerId(0);

/// Whether a new thread can take the seat.
fn is_free(threads: &Threads) -> bool {
    let taken = || threads.pool().with_seat(SEAT, |_| ()).is_some();
    thread::scope(|scope| scope.spawn(taken).join().unwrap())
}

/// Whether the calling thread is a worker of that pool.
fn is_inside(threads: &Threads) -> bool {
    threads.pool().run_inside(|_| ()).is_ok()
}

/// A thread with a seat in each of two pools is a worker of both, and of neither once it has left,
/// also by a panic. Then other threads can take the seats, and calls from this one take a seat
/// again.
#[test]
fn seats_of_two_pools_nest() {
    let (outer, inner) = (&start(1), &start(1));
    for panics in [false, true, false] {
        let both = || {
            outer.pool().with_seat(SEAT, |_| {
                let within = inner.pool().with_seat(SEAT, |_| {
                    assert!(is_inside(outer) && is_inside(inner));
                    assert!(!is_free(outer) && !is_free(inner));
                    assert_eq!(inner.run(|_| outer.run(|cx| fib(cx, 10))), 55);
                    assert!(!panics, "out of both");
                });
                assert!(is_inside(outer) && !is_inside(inner));
                assert!(!is_free(outer) && is_free(inner));
                within
            })
        };
        let left = catch_unwind(AssertUnwindSafe(both));
        assert_eq!(left.ok(), (!panics).then_some(Some(Some(()))));
        for threads in [outer, inner] {
            assert!(!is_inside(threads) && is_free(threads));
        }
        thread::scope(|scope| {
            let there = scope.spawn(|| outer.run(|cx| fib(cx, 15)));
            assert_eq!(outer.run(|cx| fib(cx, 15)), 610);
            assert_eq!(there.join().unwrap(), 610);
        });
    }
}

/// While a task runs on a seat, no other thread can take that seat, and its own thread can take
/// none, regardless of how the task was entered. The seat is free as soon as the run on it has
/// ended.
#[test]
fn a_seat_at_work_is_taken() {
    let threads = &start(1);
    let seat = threads.pool().with_seat(SEAT, |_| {
        threads.run(|cx| {
            assert_eq!(cx.worker(), SEAT);
            let again = |worker| threads.pool().with_seat(WorkerId(worker), |_| ());
            assert_eq!((again(0), again(1)), (None, None));
            cx.join(|_| assert!(!is_free(threads)), |_| ());
            thread::scope(|scope| {
                let there = scope.spawn(|| threads.run(|cx| (cx.worker(), fib(cx, 10))));
                assert_eq!(fib(cx, 10), 55);
                let (worker, result) = there.join().unwrap();
                assert!(worker != SEAT && result == 55, "{worker:?}");
            });
        });
    });
    assert!(seat.is_some() && is_free(threads));
}
