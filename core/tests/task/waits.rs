//! Waiting workers, and workers that join and leave.

use super::WORKERS;
use super::crew::{on, panic_of, run_on, wait_until, when_relaxing, within};
use std::cell::Cell;
use std::panic::panic_any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::finish::Reason;
use tautline_core::flow::Ddf;
use tautline_core::task::Wait;

const ISOLATED: [Wait; 2] = [Wait::Own, Wait::Park];

thread_local! {
    /// Whether this thread is inside a wait that must run nothing unrelated.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// A lock held over a parallel call does not deadlock if that call runs only its own tasks while it
/// waits: the unrelated tasks in the same deque, which acquire the lock, are not run.
#[test]
fn a_lock_may_be_held_over_an_isolated_wait() {
    for workers in WORKERS {
        for wait in ISOLATED {
            let lock = Mutex::new(0);
            on(workers, |cx| {
                cx.scope(|cx| {
                    for _ in 0..30 {
                        cx.spawn(|cx| {
                            assert!(!HOLDS.get(), "an unrelated task in an isolated wait");
                            let mut sum = lock.lock().unwrap();
                            HOLDS.set(true);
                            let part = AtomicUsize::new(0);
                            cx.scope_with(wait, |cx| {
                                for _ in 0..10 {
                                    cx.spawn(|_| _ = part.fetch_add(1, SeqCst));
                                }
                            });
                            HOLDS.set(false);
                            *sum += part.into_inner();
                        });
                    }
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 300, "{workers} {wait:?}");
        }
    }
}

/// The same with forks, in a task of an isolated scope, and with a lock that other tasks contend
/// for while the second half is stolen.
#[test]
fn a_lock_may_be_held_over_an_isolated_fork() {
    for workers in WORKERS {
        for wait in ISOLATED {
            let lock = Mutex::new(0);
            on(workers, |cx| {
                cx.scope(|cx| {
                    for _ in 0..30 {
                        cx.spawn(|cx| {
                            cx.scope_with(wait, |cx| {
                                let mut sum = lock.lock().unwrap();
                                let (a, b) = cx.join(|_| 1, |cx| cx.join(|_| 2, |_| 3));
                                *sum += a + b.0 + b.1;
                            });
                        });
                    }
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 180, "{workers} {wait:?}");
        }
    }
}

/// A scope inside an isolated one is isolated too, regardless of its own wait mode: on the worker
/// that opened it, and on a worker that stole a task of it.
#[test]
fn isolation_is_inherited() {
    for workers in WORKERS {
        for wait in ISOLATED {
            let lock = Mutex::new(0);
            on(workers, |cx| {
                cx.scope(|cx| {
                    for _ in 0..20 {
                        cx.spawn(|cx| {
                            let mut sum = lock.lock().unwrap();
                            let part = AtomicUsize::new(0);
                            cx.scope_with(wait, |cx| {
                                for _ in 0..4 {
                                    cx.spawn(|cx| {
                                        cx.scope(|cx| {
                                            cx.spawn(|_| _ = part.fetch_add(1, SeqCst));
                                            cx.spawn(|cx| {
                                                _ = cx.finish(|cx| {
                                                    cx.spawn(|_| _ = part.fetch_add(1, SeqCst));
                                                });
                                            });
                                        });
                                    });
                                }
                            });
                            *sum += part.into_inner();
                        });
                    }
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 160, "{workers} {wait:?}");
        }
    }
}

/// More tasks in an isolated scope than a deque has slots, with one worker: it runs all of them
/// itself, and none of the enclosing scope.
#[test]
fn an_isolated_scope_may_be_large() {
    const MANY: usize = 5000;
    for workers in [1, 2] {
        for wait in ISOLATED {
            let [outer, inner, deepest] = [const { AtomicUsize::new(0) }; 3];
            on(workers, |cx| {
                cx.scope(|cx| {
                    for _ in 0..MANY {
                        cx.spawn(|_| _ = outer.fetch_add(1, SeqCst));
                    }
                    cx.scope_with(wait, |cx| {
                        let before = outer.load(SeqCst);
                        for _ in 0..MANY {
                            cx.spawn(|_| _ = inner.fetch_add(1, SeqCst));
                        }
                        cx.scope(|cx| {
                            for _ in 0..MANY {
                                cx.spawn(|_| _ = deepest.fetch_add(1, SeqCst));
                            }
                        });
                        assert_eq!(deepest.load(SeqCst), MANY);
                        if workers == 1 {
                            let now = (outer.load(SeqCst), inner.load(SeqCst));
                            assert_eq!(now, (before, 0), "ran a task of the enclosing scope");
                        }
                    });
                    assert_eq!(inner.load(SeqCst), MANY);
                });
            });
            assert_eq!(outer.into_inner(), MANY, "{workers} workers, {wait:?}");
        }
    }
}

/// Waiting in the default mode runs other tasks: with one worker permanently busy, the other runs
/// all.
#[test]
fn a_waiting_worker_helps() {
    let done = AtomicUsize::new(0);
    on(2, |cx| {
        let began = AtomicBool::new(false);
        cx.join(
            |_| {
                wait_until("stolen", || began.load(SeqCst));
            },
            |cx| {
                began.store(true, SeqCst);
                // Ends only when the worker that waits for this half has run those.
                (0..100).for_each(|_| cx.spawn(|_| _ = done.fetch_add(1, SeqCst)));
                wait_until("helped", || done.load(SeqCst) == 100);
            },
        );
    });
    assert_eq!(done.into_inner(), 100);
}

/// Isolated scopes can be cancelled and can panic like others.
#[test]
fn isolated_scopes_end_early_too() {
    for workers in WORKERS {
        for wait in ISOLATED {
            on(workers, |cx| {
                let cancelled = cx.finish_with(wait, |cx| {
                    cx.spawn(|cx| _ = cx.cancel(Reason::GivenUp));
                });
                assert_eq!(cancelled.unwrap_err().reason, Reason::GivenUp);
                let act = || cx.scope_with(wait, |cx| cx.spawn(|_| panic_any("alone")));
                assert_eq!(panic_of(act), Some("alone"));
            });
        }
    }
}

/// The number of workers changes while tasks run: no task is lost, and workers that are wanted
/// again run tasks again.
#[test]
fn workers_come_and_go() {
    const MOST: usize = 4;
    const ROUNDS: usize = 30;
    within(MOST, |pool| {
        let over = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                let turns = [1, 4, 2, 3, 1, 2, 4].iter().cycle();
                for &wanted in turns.take_while(|_| !over.load(SeqCst)) {
                    pool.want(wanted);
                    thread::yield_now();
                }
            });
            for round in 0..ROUNDS {
                let done = AtomicUsize::new(0);
                run_on(pool, |cx| {
                    for _ in 0..500 {
                        cx.spawn(|cx| {
                            let halves = cx.join(|_| 1, |_| 1);
                            done.fetch_add(halves.0 + halves.1, SeqCst);
                        });
                    }
                });
                assert_eq!(done.into_inner(), 1000, "round {round}");
            }
            over.store(true, SeqCst);
        });
        assert!(pool.wanted() <= MOST);
        all_work(pool.wanted(), pool);
        pool.want(1);
        run_on(pool, |cx| {
            assert_eq!(cx.join(|cx| cx.worker(), |cx| cx.worker()).0, WorkerId(0));
        });
        pool.want(MOST);
        all_work(MOST, pool);
    });
}

/// Runs as many tasks as workers, each of which waits for all.
fn all_work(workers: usize, pool: &tautline_core::task::Pool<super::crew::Crew>) {
    let met = AtomicUsize::new(0);
    run_on(pool, |cx| {
        for _ in 0..workers {
            cx.spawn(|_| {
                met.fetch_add(1, SeqCst);
                wait_until("all run", || met.load(SeqCst) == workers);
            });
        }
    });
}

/// A worker that ends its search because the event that it waits for has happened passes on the
/// wake-up that its search suppressed: a task was offered in the meantime, and both other workers
/// are busy until it has run.
#[test]
fn a_search_that_ends_passes_the_wake_up_on() {
    static SEARCHES: AtomicBool = AtomicBool::new(false);
    static OFFERED: AtomicBool = AtomicBool::new(false);
    let [began, ran] = [const { AtomicBool::new(false) }; 2];
    let cell = Ddf::new();
    on(3, |cx| {
        cx.spawn(|cx| {
            began.store(true, SeqCst);
            wait_until("worker 0 searches", || SEARCHES.load(SeqCst));
            let third = WorkerId(3 - cx.worker().0);
            let port = cx.pool().port();
            wait_until("the third worker sleeps", || port.is_parked(third));
            cx.spawn(|_| ran.store(true, SeqCst));
            cell.put(1).unwrap();
            OFFERED.store(true, SeqCst);
            wait_until("the third worker runs it", || ran.load(SeqCst));
        });
        wait_until("it is stolen", || began.load(SeqCst));
        // A wait begins twice: before it counts as a search, and as one.
        let begins = Cell::new(0);
        let relax = move |turn| {
            begins.set(begins.get() + u32::from(turn == 0));
            if begins.get() == 2 {
                SEARCHES.store(true, SeqCst);
                wait_until("the task is offered", || OFFERED.load(SeqCst));
            }
        };
        when_relaxing(relax, || _ = cx.block_on(cell.wait()));
        wait_until("the third worker runs it", || ran.load(SeqCst));
    });
}
