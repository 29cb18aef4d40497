//! Tasks: the guarantees of forks, spawned tasks, waits, cancellations and panics.
//!
//! No test waits for a time: a task lasts until the event that must coincide with it has happened.

#[path = "task/blocks.rs"]
mod blocks;
#[path = "task/broken.rs"]
mod broken;
#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of what is on tasks")]
mod crew;
#[path = "task/data_driven.rs"]
mod data_driven;
#[path = "task/domains.rs"]
mod domains;
#[path = "task/drops.rs"]
mod drops;
#[path = "task/ends.rs"]
mod ends;
#[path = "task/future_ends.rs"]
mod future_ends;
#[path = "task/futures.rs"]
mod futures;
#[path = "task/graphs.rs"]
mod graphs;
#[path = "task/handles.rs"]
mod handles;
#[path = "task/holds.rs"]
mod holds;
#[path = "task/layouts.rs"]
mod layouts;
#[path = "task/owned.rs"]
mod owned;
#[path = "task/tokens.rs"]
mod tokens;
#[path = "task/trees.rs"]
mod trees;
#[path = "task/waits.rs"]
mod waits;
#[path = "task/wakers.rs"]
mod wakers;

use crew::{Cx, on, wait_until};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// As many workers as there are processors, fewer, and more.
const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Chatterjee, acceptance fact 1: a finish returns only after all tasks that were spawned in it,
/// also by tasks, have ended; here each spawner has ended before its child begins.
#[test]
fn finish_waits_for_tasks_that_outlive_their_spawner() {
    const DEEP: usize = 50;
    fn chain<'s>(cx: &mut Cx<'s, '_>, left: usize, ended: &'s AtomicUsize) {
        struct End<'s>(&'s AtomicUsize);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        wait_until("the spawner has ended", || {
            ended.load(SeqCst) == DEEP - left
        });
        if left > 1 {
            cx.spawn(move |cx| chain(cx, left - 1, ended));
        }
        // The guard is dropped with the task's frame: only the finish can wait for the child.
        drop(End(ended));
    }
    for workers in WORKERS {
        let ended = AtomicUsize::new(0);
        let seen = on(workers, |cx| {
            cx.finish(|cx| cx.spawn(|cx| chain(cx, DEEP, &ended)))
                .unwrap();
            ended.load(SeqCst)
        });
        assert_eq!(seen, DEEP, "{workers} workers");
    }
}

/// Chatterjee, acceptance fact 1: the same for `run` and for a nested scope.
#[test]
fn every_scope_waits_for_its_own() {
    for workers in WORKERS {
        let [inner, outer] = [const { AtomicUsize::new(0) }; 2];
        on(workers, |cx| {
            for _ in 0..100 {
                cx.spawn(|cx| {
                    cx.scope(|cx| {
                        cx.spawn(|cx| cx.spawn(|_| _ = inner.fetch_add(1, SeqCst)));
                    });
                    // In this order: other tasks may end between the two loads.
                    let before = outer.fetch_add(1, SeqCst);
                    assert!(inner.load(SeqCst) > before);
                });
            }
        });
        assert_eq!((inner.into_inner(), outer.into_inner()), (100, 100));
    }
}

/// Chatterjee, acceptance fact 2: writes of tasks through a borrow are visible after the finish;
/// values moved into tasks are private copies.
#[test]
fn out_is_visible_after_and_in_is_private() {
    for workers in WORKERS {
        let (mut out, mut inout, mut given, mut seen) = (0, vec![1, 2, 3], 10, 0);
        on(workers, |cx| {
            cx.finish(|cx| {
                cx.spawn(|_| out = 7);
                cx.spawn(|_| inout.iter_mut().for_each(|x| *x *= 2));
                cx.spawn(move |_| {
                    given += 1;
                    assert_eq!(given, 11);
                });
                let seen = &mut seen;
                cx.spawn(move |_| {
                    given += 5;
                    *seen = given;
                });
            })
            .unwrap();
            // Inside the run and after the finish.
            assert_eq!((out, &inout[..], given, seen), (7, &[2, 4, 6][..], 10, 15));
        });
        given -= 10;
        assert_eq!(given, 0);
    }
}

/// Chatterjee, acceptance fact 3: a waiting task releases its worker to others; with one worker, a
/// task that waits for two children completes, and so do children that wait in turn.
#[test]
fn one_worker_is_enough_for_tasks_that_wait() {
    fn wait_for_two(cx: &mut Cx, deep: usize) -> usize {
        let (mut a, mut b) = (1, 1);
        if deep > 0 {
            cx.scope(|cx| {
                cx.spawn(|cx| a = wait_for_two(cx, deep - 1));
                cx.spawn(|cx| b = wait_for_two(cx, deep - 1));
            });
        }
        a + b
    }
    assert_eq!(on(1, |cx| wait_for_two(cx, 10)), 1 << 11);
    let (first, second) = on(1, |cx| {
        cx.join(|cx| wait_for_two(cx, 3), |cx| wait_for_two(cx, 4))
    });
    assert_eq!((first, second), (1 << 4, 1 << 5));
}

/// Chatterjee, acceptance fact 4: on one worker `async A; B` is B then A where tasks are spawned
/// (help-first), and A then B where they are forked (work-first).
#[test]
fn spawns_are_help_first_and_forks_work_first() {
    let order = Mutex::new(String::new());
    let note = |letter| order.lock().unwrap().push(letter);
    on(1, |cx| {
        cx.scope(|cx| {
            cx.spawn(|_| note('A'));
            note('B');
        });
        note(' ');
        cx.join(|_| note('A'), |_| note('B'));
        note(' ');
        // The newest first, as a stack.
        cx.scope(|cx| "abc".chars().for_each(|x| cx.spawn(move |_| note(x))));
    });
    assert_eq!(order.into_inner().unwrap(), "BA AB cba");
}

/// A fork is stolen by an idle worker while the first half still runs; both results are returned.
#[test]
fn the_second_half_is_stolen() {
    for workers in [2, 4, 8] {
        let began = AtomicBool::new(false);
        let (first, second) = on(workers, |cx| {
            cx.join(
                |cx| {
                    wait_until("the other half runs", || began.load(SeqCst));
                    cx.worker()
                },
                |cx| {
                    began.store(true, SeqCst);
                    cx.worker()
                },
            )
        });
        assert_ne!(first, second);
    }
}

/// More forks and more spawned tasks than the deque of a worker has slots: the forks are called,
/// the tasks go to the overflow queue.
#[test]
fn nothing_is_lost_where_the_deque_is_full() {
    const MANY: usize = 10_000;
    fn deep(cx: &mut Cx, left: usize) -> usize {
        match left {
            0 => 0,
            _ => {
                let (a, b) = cx.join(|cx| deep(cx, left - 1), |_| 1);
                a + b
            }
        }
    }
    for workers in WORKERS {
        assert_eq!(on(workers, |cx| deep(cx, 3000)), 3000);
        let done = AtomicUsize::new(0);
        on(workers, |cx| {
            (0..MANY).for_each(|_| cx.spawn(|_| _ = done.fetch_add(1, SeqCst)));
        });
        assert_eq!(done.into_inner(), MANY, "{workers} workers");
    }
}

/// A finish without tasks returns immediately, and a scope returns the result of its body.
#[test]
fn an_empty_finish_is_a_call() {
    assert_eq!(on(1, |cx| cx.finish(|_| 3)), Ok(3));
    assert_eq!(on(2, |cx| cx.scope(|cx| cx.scope(|_| 4))), 4);
}

/// A seat has one holder at a time, and can be acquired again, also by another thread.
#[test]
fn a_seat_is_handed_on() {
    crew::within(1, |pool| {
        use tautline_core::WorkerId;
        let run = pool.with_seat(WorkerId(0), |seat| {
            assert!(pool.with_seat(WorkerId(0), |_| ()).is_none());
            assert!(pool.with_seat(WorkerId(1), |_| ()).is_none());
            seat.run(|cx| cx.join(|_| 1, |_| 2))
        });
        assert_eq!(run, Some((1, 2)));
        let other = || crew::run_on(pool, |cx| cx.worker());
        let there = std::thread::scope(|s| s.spawn(other).join().unwrap());
        assert_eq!(there, WorkerId(0));
        assert!(pool.with_seat(WorkerId(0), |_| ()).is_some());
    });
}

/// A pool has at least one worker.
#[test]
#[should_panic(expected = "at least one worker")]
fn a_pool_without_workers_is_refused() {
    on(0, |_| ());
}
