//! Holds: a scope ends after the release of each, by any thread, whatever else ends it; and their
//! failures.

use super::WORKERS;
use super::crew::{Crew, Cx, on, panic_of, run_on, wait_until, within};
use std::future::Future;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::finish::Reason;
use tautline_core::flow::Ddf;
use tautline_core::task::{CancelToken, Hold, Pool, TaskCx};

/// Releases a hold, by `release`, once worker 0 of the pool is parked.
fn when_parked(
    pool: &Pool<Crew>,
    hold: Hold<Crew>,
    released: &AtomicBool,
    release: impl FnOnce(Hold<Crew>),
) {
    let owner = WorkerId(0);
    wait_until("the owner is parked", || pool.port().is_parked(owner));
    released.store(true, SeqCst);
    release(hold);
}

/// The owner is parked when a thread that is no worker drops the last hold: it is woken, and the
/// scope ends.
#[test]
fn the_last_hold_wakes_its_owner() {
    for workers in WORKERS {
        let released = &AtomicBool::new(false);
        within(workers, |pool| {
            thread::scope(|threads| {
                run_on(pool, |cx| {
                    cx.scope(|cx| {
                        let hold = cx.hold();
                        threads.spawn(move || when_parked(pool, hold, released, drop));
                    });
                    assert!(released.load(SeqCst), "{workers} workers: ended early");
                });
            });
        });
    }
}

/// A hold needs no lifetime: a detached thread may have it.
#[test]
fn a_hold_borrows_nothing() {
    static RELEASED: AtomicBool = AtomicBool::new(false);
    on(2, |cx| {
        let hold = cx.hold();
        thread::spawn(move || {
            RELEASED.store(true, SeqCst);
            drop(hold);
        });
    });
    assert!(RELEASED.load(SeqCst));
}

/// A task of a scope takes a hold of it, and a task of another scope has it: the first scope alone
/// waits, also if the other is cancelled and drops it with the task.
#[test]
fn a_hold_outlives_the_scope_in_which_it_is() {
    for workers in WORKERS {
        for cancels in [false, true] {
            let (go, released) = (&Ddf::new(), &AtomicBool::new(false));
            on(workers, |cx| {
                let inner = |cx: &mut Cx| {
                    let outer = cx.hold();
                    let ended = cx.finish(|cx| {
                        let inner = cx.hold();
                        cx.spawn_when(go, move |(), _| {
                            released.store(true, SeqCst);
                            drop((outer, inner));
                        });
                        if cancels {
                            released.store(true, SeqCst);
                            cx.cancel(Reason::Found);
                        } else {
                            cx.spawn(|_| go.put(()).unwrap());
                        }
                    });
                    assert_eq!(ended.is_err(), cancels);
                    assert!(released.load(SeqCst));
                };
                cx.scope(|cx| cx.spawn(inner));
            });
        }
    }
}

/// Neither a panic nor a cancellation ends a scope before its holds are released; it is reported
/// afterwards.
#[test]
fn an_abort_waits_for_holds() {
    for workers in WORKERS {
        for end in [
            "a task panics",
            "the body panics",
            "a task cancels",
            "a token",
        ] {
            let (released, token) = (&AtomicBool::new(false), &CancelToken::new());
            let panicked = within(workers, |pool| {
                thread::scope(|threads| {
                    panic_of(|| {
                        let ended = run_on(pool, |cx| {
                            cx.finish_until(token, |cx| {
                                let hold = cx.hold();
                                threads.spawn(move || when_parked(pool, hold, released, drop));
                                match end {
                                    "a task panics" => cx.spawn(move |_| panic_any(end)),
                                    "the body panics" => panic_any(end),
                                    "a task cancels" => {
                                        cx.spawn(|cx| assert!(cx.cancel(Reason::Found)));
                                    }
                                    _ => assert!(token.cancel(Reason::Found)),
                                }
                            })
                        });
                        assert!(released.load(SeqCst), "{end}: ended early");
                        assert_eq!(ended.unwrap_err().reason, Reason::Found);
                    })
                })
            });
            assert!(released.load(SeqCst), "{end}: ended early");
            let panics = end.ends_with("panics").then_some(end);
            assert_eq!(panicked, panics, "{workers} workers");
        }
    }
}

/// A hold that fails is a task that panics: waiting tasks are dropped, and the owner gets the
/// payload.
#[test]
fn a_failure_reaches_the_owner() {
    for workers in WORKERS {
        let (never, released) = (&Ddf::<()>::new(), &AtomicBool::new(false));
        let payload = within(workers, |pool| {
            thread::scope(|threads| {
                panic_of(|| {
                    run_on(pool, |cx| {
                        _ = cx.finish(|cx| {
                            cx.spawn_when(never, |(), _| unreachable!());
                            cx.spawn_async(|_| async { _ = never.wait().await });
                            let hold = cx.hold();
                            let fail = |hold: Hold<Crew>| hold.fail(Box::new("lost"));
                            threads.spawn(move || when_parked(pool, hold, released, fail));
                        });
                    });
                })
            })
        });
        assert_eq!(payload, Some("lost"), "{workers} workers");
    }
}

/// The first cause counts, and the drop of a later payload may panic.
#[test]
fn later_failures_are_discarded() {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            panic_any("the drop of a payload");
        }
    }
    let first = panic_of(|| {
        on(2, |cx| {
            let [one, two] = [cx.hold(), cx.hold()];
            one.fail(Box::new("first"));
            two.fail(Box::new(Broken));
        });
    });
    assert_eq!(first, Some("first"));
}

/// The finish of async code, which waits without a worker, or whose future is dropped: the scope
/// around it waits for its holds.
#[test]
fn async_finishes_wait_for_holds() {
    for workers in WORKERS {
        for dropped in [false, true] {
            let released = &AtomicBool::new(false);
            within(workers, |pool| {
                thread::scope(|threads| {
                    let finish = async |task: TaskCx<'_, '_, Crew>| {
                        let finish = task.finish(async |task| {
                            let hold = task.hold();
                            threads.spawn(move || when_parked(pool, hold, released, drop));
                        });
                        if dropped {
                            let mut finish = pin!(finish);
                            let cx = &mut Context::from_waker(Waker::noop());
                            assert!(finish.as_mut().poll(cx).is_pending());
                        } else {
                            assert!(finish.await.is_ok());
                            assert!(released.load(SeqCst), "ended early");
                        }
                    };
                    run_on(pool, |cx| {
                        let task = cx.task();
                        cx.block_on(finish(task));
                    });
                    assert!(released.load(SeqCst), "{dropped}: ended early");
                });
            });
        }
    }
}

/// Holds are displayed with the calls that took them.
#[test]
fn a_hold_knows_its_call() {
    on(1, |cx| {
        let (hold, line) = (cx.hold(), line!());
        let text = format!("{hold:?}");
        assert!(text.contains(&format!("holds.rs:{line}:")), "{text}");
    });
}

/// Many holds of several calls, released in another order than taken, by workers and by another
/// thread.
#[test]
fn holds_are_released_in_any_order() {
    const TASKS: usize = 50;
    for workers in WORKERS {
        let (kept, released) = (&Mutex::new(Vec::new()), &AtomicUsize::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                wait_until("all were taken", || kept.lock().unwrap().len() == TASKS);
                let kept = std::mem::take(&mut *kept.lock().unwrap());
                released.fetch_add(kept.len(), SeqCst);
                drop(kept);
            });
            on(workers, |cx| {
                for n in 0..TASKS {
                    cx.spawn(move |cx| {
                        let both = [cx.hold(), cx.hold()];
                        let mut kept = kept.lock().unwrap();
                        kept.extend(both);
                        let at = n * 7 % kept.len();
                        let hold = kept.swap_remove(at);
                        cx.spawn(move |_| {
                            released.fetch_add(1, SeqCst);
                            drop(hold);
                        });
                    });
                }
            });
            assert_eq!(released.load(SeqCst), 2 * TASKS, "{workers} workers");
        });
    }
}
