//! Cancellation and panics.

use super::WORKERS;
use super::crew::{Cx, on, panic_of, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::task::Cancelled;

const FOUND: Result<(), Cancelled> = Err(Cancelled {
    reason: Reason::Found,
});

/// Counts how often it is dropped.
struct Dropped<'a>(&'a AtomicUsize);

impl Dropped<'_> {
    /// Called by a task that has captured it.
    fn must_not_run(self) {
        panic!("ran with {}", self.0.load(SeqCst));
    }
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A cancellation affects queued and running tasks: none that had not begun runs, their captures
/// are dropped, and running tasks observe it.
#[test]
fn a_cancellation_reaches_queued_and_running_tasks() {
    const QUEUED: usize = 3000;
    for workers in WORKERS {
        let [running, dropped] = [const { AtomicUsize::new(0) }; 2];
        let result = on(workers, |cx| {
            cx.finish(|cx| {
                for _ in 1..workers {
                    cx.spawn(|cx| {
                        running.fetch_add(1, SeqCst);
                        wait_until("the task observes it", || cx.cancelled().is_some());
                        assert_eq!(cx.cancelled(), Some(Reason::Found));
                    });
                }
                // From here on no worker is free.
                wait_until("all run", || running.load(SeqCst) == workers - 1);
                for _ in 0..QUEUED {
                    let token = Dropped(&dropped);
                    cx.spawn(move |_| token.must_not_run());
                }
                assert_eq!(cx.cancelled(), None);
                assert!(cx.cancel(Reason::Found));
            })
        });
        assert_eq!(result, FOUND, "{workers} workers");
        assert_eq!(dropped.load(SeqCst), QUEUED);
    }
}

/// A task cancels its siblings; tasks that it spawns afterwards do not run either.
#[test]
fn a_task_cancels_its_siblings() {
    for workers in WORKERS {
        let late = AtomicBool::new(false);
        let result = on(workers, |cx| {
            cx.finish(|cx| {
                cx.spawn(|cx| {
                    assert!(cx.cancel(Reason::Found));
                    cx.spawn(|_| late.store(true, SeqCst));
                });
            })
        });
        assert_eq!((result, late.into_inner()), (FOUND, false));
    }
}

/// A cancelled finish never returns `Ok`, regardless of the caller and the time: the body, a task,
/// the last task, with nothing left to do; later reasons are ignored.
#[test]
fn a_cancelled_finish_is_an_error() {
    for workers in WORKERS {
        on(workers, |cx| {
            assert_eq!(cx.finish(|cx| _ = cx.cancel(Reason::Found)), FOUND);
            assert_eq!(
                cx.finish(|cx| cx.spawn(|cx| _ = cx.cancel(Reason::Found))),
                FOUND
            );
            let by_the_last = cx.finish(|cx| {
                cx.spawn(|cx| cx.spawn(|cx| cx.spawn(|cx| _ = cx.cancel(Reason::Found))));
            });
            assert_eq!(by_the_last, FOUND);
            let twice = cx.finish(|cx| {
                cx.cancel(Reason::Found);
                cx.cancel(Reason::Deadline);
            });
            assert_eq!(twice, FOUND);
            // A half of a fork belongs to the same finish, on any worker.
            let by_a_fork = cx.finish(|cx| {
                cx.join(|_| (), |cx| _ = cx.cancel(Reason::Found));
            });
            assert_eq!(by_a_fork, FOUND);
        });
    }
}

/// Outside of every finish there is nothing to cancel, and a scope is not a finish.
#[test]
fn only_a_finish_can_be_cancelled() {
    on(2, |cx| {
        assert!(!cx.cancel(Reason::Found));
        cx.scope(|cx| assert!(!cx.cancel(Reason::Found)));
        assert_eq!(cx.cancelled(), None);
        assert_eq!(cx.finish(|cx| cx.cancelled()), Ok(None));
    });
}

/// A finish inside a cancelled one is cancelled too, across any number of scopes, which cannot be;
/// an enclosing one is not.
#[test]
fn a_cancellation_goes_inwards_only() {
    for workers in WORKERS {
        let ran = AtomicUsize::new(0);
        let outermost = on(workers, |cx| {
            cx.finish(|cx| {
                let outer = cx.finish(|cx| {
                    cx.cancel(Reason::Found);
                    let direct = cx.finish(|cx| cx.spawn(|_| _ = ran.fetch_add(1, SeqCst)));
                    assert_eq!(direct, FOUND);
                    cx.scope(|cx| {
                        assert_eq!(cx.cancelled(), Some(Reason::Found));
                        cx.scope(|cx| {
                            let inner = cx.finish(|cx| cx.spawn(|_| _ = ran.fetch_add(1, SeqCst)));
                            assert_eq!(inner, FOUND, "across scopes");
                        });
                        // A scope, which cannot report a partial result, is complete.
                        cx.spawn(|_| _ = ran.fetch_add(10, SeqCst));
                    });
                });
                assert_eq!(outer, FOUND);
                cx.cancelled()
            })
        });
        assert_eq!(outermost, Ok(None));
        assert_eq!(ran.into_inner(), 10, "{workers} workers");
    }
}

/// The innermost finish is the one that is cancelled.
#[test]
fn an_inner_cancellation_stays_inside() {
    for workers in WORKERS {
        let after = AtomicUsize::new(0);
        let outer = on(workers, |cx| {
            cx.finish(|cx| {
                for _ in 0..20 {
                    cx.spawn(|cx| {
                        let inner = cx.finish(|cx| cx.scope(|cx| _ = cx.cancel(Reason::Found)));
                        assert_eq!(inner, FOUND);
                        cx.spawn(|_| _ = after.fetch_add(1, SeqCst));
                    });
                }
            })
        });
        assert_eq!((outer, after.into_inner()), (Ok(()), 20));
    }
}

/// A panic in a task reaches the owner of its scope with its payload; siblings that have not begun
/// are dropped; the worker and the pool remain usable.
#[test]
fn a_panic_reaches_the_owner() {
    for workers in WORKERS {
        let [ran, dropped] = [const { AtomicUsize::new(0) }; 2];
        on(workers, |cx| {
            let payload = panic_of(|| {
                cx.scope(|cx| {
                    for _ in 0..50 {
                        let (token, ran) = (Dropped(&dropped), &ran);
                        cx.spawn(move |cx| {
                            let _token = token;
                            assert_eq!(cx.cancelled(), None);
                            ran.fetch_add(1, SeqCst);
                        });
                    }
                    cx.spawn(|cx| cx.spawn(|_| panic_any("deep inside")));
                })
            });
            assert_eq!(payload, Some("deep inside"));
            assert_eq!(dropped.load(SeqCst), 50);
            if workers == 1 {
                assert_eq!(ran.load(SeqCst), 0, "the newest ran first and panicked");
            }
            assert_eq!(cx.join(|_| 1, |_| 2), (1, 2), "usable");
            cx.scope(|cx| cx.spawn(|_| _ = ran.fetch_add(1000, SeqCst)));
            assert!(ran.load(SeqCst) >= 1000);
        });
    }
}

/// A finish propagates a panic unchanged, not as a cancellation.
#[test]
fn a_panic_is_no_cancellation() {
    for workers in WORKERS {
        let payload = panic_of(|| on(workers, |cx| cx.finish(|cx| cx.spawn(|_| panic_any("no")))));
        assert_eq!(payload, Some("no"));
    }
}

/// Of several panics the first propagates.
#[test]
fn the_first_panic_wins() {
    for workers in [2, 4, 8] {
        let first = AtomicBool::new(false);
        let payload = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    let began = AtomicBool::new(false);
                    cx.join(
                        |cx| {
                            wait_until("the other task runs", || began.load(SeqCst));
                            cx.spawn(|_| {
                                first.store(true, SeqCst);
                                panic_any("first")
                            });
                        },
                        |cx| {
                            began.store(true, SeqCst);
                            // Begins in time and panics later.
                            cx.scope(|cx| {
                                cx.spawn(|_| wait_until("the first", || first.load(SeqCst)));
                            });
                        },
                    );
                })
            })
        });
        assert_eq!(payload, Some("first"));
    }
    // One after the other, on one worker.
    let payload = panic_of(|| {
        on(1, |cx| {
            cx.scope(|cx| {
                cx.spawn(|_| panic_any("older, dropped"));
                cx.spawn(|_| panic_any("newer, first"));
            })
        })
    });
    assert_eq!(payload, Some("newer, first"));
}

/// A body that panics waits for its tasks before it propagates, and its own panic is the one that
/// propagates.
#[test]
fn a_panicking_body_waits_for_its_tasks() {
    for workers in [2, 4, 8] {
        let [began, ended] = [const { AtomicBool::new(false) }; 2];
        on(workers, |cx| {
            let payload = panic_of(|| {
                cx.scope(|cx| {
                    cx.spawn(|cx| {
                        began.store(true, SeqCst);
                        // A join in an aborted scope must not deadlock.
                        cx.join(|_| (), |_| ());
                        ended.store(true, SeqCst);
                        panic_any("the task's");
                    });
                    wait_until("the task runs", || began.load(SeqCst));
                    panic_any("the body's")
                })
            });
            assert_eq!(payload, Some("the body's"));
            assert!(
                ended.load(SeqCst),
                "the body returned before its task ended"
            );
        });
    }
}

/// A panic in the first half while the second runs on another worker: the fork's frame stays until
/// the second has ended, and the panic of the first half propagates, whether the second panics or
/// not.
#[test]
fn a_panic_in_the_first_half_waits_for_a_stolen_second() {
    for workers in [2, 4, 8] {
        for both in [false, true] {
            let [began, unwinding, ended] = [const { AtomicBool::new(false) }; 3];
            struct Announces<'a>(&'a AtomicBool);
            impl Drop for Announces<'_> {
                fn drop(&mut self) {
                    self.0.store(true, SeqCst);
                }
            }
            let payload = panic_of(|| {
                on(workers, |cx| {
                    let local = [1, 2, 3];
                    cx.join(
                        |_| {
                            wait_until("stolen", || began.load(SeqCst));
                            let _announces = Announces(&unwinding);
                            panic_any("first half");
                        },
                        |_| {
                            began.store(true, SeqCst);
                            wait_until("the first unwinds", || unwinding.load(SeqCst));
                            assert_eq!(local.iter().sum::<i32>(), 6);
                            ended.store(true, SeqCst);
                            if both {
                                panic_any("second half");
                            }
                        },
                    )
                })
            });
            assert_eq!(payload, Some("first half"));
            assert!(ended.load(SeqCst));
        }
    }
}

/// A second half that was not stolen is dropped when the first panics, at any depth: in the deque,
/// and beyond its slots.
#[test]
fn a_panic_in_the_first_half_drops_the_second() {
    fn deep(cx: &mut Cx, left: usize, dropped: &AtomicUsize) {
        if left == 0 {
            panic_any("bottom");
        }
        let token = Dropped(dropped);
        cx.join(
            |cx| deep(cx, left - 1, dropped),
            move |_| token.must_not_run(),
        );
    }
    for depth in [1, 10, 1000, 2000] {
        let dropped = AtomicUsize::new(0);
        on(1, |cx| {
            assert_eq!(panic_of(|| deep(cx, depth, &dropped)), Some("bottom"));
            assert_eq!(dropped.load(SeqCst), depth);
            assert_eq!(cx.join(|_| 1, |_| 2), (1, 2));
        });
    }
}

/// A panic in the second half, on any worker, propagates out of the fork.
#[test]
fn a_panic_in_the_second_half_comes_out() {
    for workers in WORKERS {
        for steal in [false, true] {
            if steal && workers == 1 {
                continue;
            }
            let began = AtomicBool::new(false);
            on(workers, |cx| {
                let payload = panic_of(|| {
                    cx.join(
                        |_| {
                            if steal {
                                wait_until("stolen", || began.load(SeqCst));
                            }
                        },
                        |_| {
                            began.store(true, SeqCst);
                            panic_any("second half")
                        },
                    )
                });
                assert_eq!(payload, Some("second half"));
            });
        }
    }
}

/// A panic in a nested scope propagates out of that scope, and no further if it is caught.
#[test]
fn a_panic_in_a_nested_scope() {
    for workers in WORKERS {
        let after = AtomicUsize::new(0);
        on(workers, |cx| {
            cx.scope(|cx| {
                for _ in 0..20 {
                    cx.spawn(|cx| {
                        let inner = || cx.scope(|cx| cx.spawn(|_| panic_any("inner")));
                        assert_eq!(panic_of(inner), Some("inner"));
                        after.fetch_add(1, SeqCst);
                    });
                }
            });
        });
        assert_eq!(after.into_inner(), 20);
        let payload = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| cx.spawn(|cx| cx.scope(|cx| cx.spawn(|_| panic_any("out")))));
            })
        });
        assert_eq!(payload, Some("out"));
    }
}

/// A panic payload whose drop panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("a payload, dropped");
    }
}

/// Discarded payloads and values of tasks that do not run panic when they are dropped: the process
/// continues, and one of the panics propagates.
#[test]
fn panics_in_drops_are_contained() {
    for workers in WORKERS {
        on(workers, |cx| {
            let all = AtomicUsize::new(0);
            let meet = || {
                all.fetch_add(1, SeqCst);
                wait_until("all run", || all.load(SeqCst) >= workers);
            };
            let thrown = panic_of(|| {
                cx.scope(|cx| {
                    for _ in 0..workers {
                        cx.spawn(|_| {
                            meet();
                            panic_any(Bomb)
                        });
                    }
                })
            });
            assert_eq!(thrown, Some("another"));
            let began = AtomicBool::new(false);
            let of_the_body = panic_of(|| {
                cx.scope(|cx| {
                    cx.spawn(|_| {
                        began.store(true, SeqCst);
                        panic_any(Bomb)
                    });
                    wait_until("stolen", || workers == 1 || began.load(SeqCst));
                    panic_any("body")
                })
            });
            assert_eq!(of_the_body, Some("body"));
            let not_run = panic_of(|| {
                cx.scope(|cx| {
                    let bomb = Bomb;
                    cx.spawn(move |_| std::mem::forget(bomb));
                    cx.spawn(|_| panic_any("newest"));
                })
            });
            assert_eq!(not_run, Some("newest"));
        });
    }
}

/// The same where both halves of a fork panic, the second with such a payload, or capture such a
/// value.
#[test]
fn panics_in_drops_of_second_halves_are_contained() {
    for workers in WORKERS {
        on(workers, |cx| {
            let held = panic_of(|| {
                let bomb = Bomb;
                cx.join(|_| panic_any("first half"), move |_| std::mem::forget(bomb))
            });
            assert_eq!(held, Some("first half"));
            if workers > 1 {
                let began = AtomicBool::new(false);
                let thrown = panic_of(|| {
                    cx.join(
                        |_| {
                            wait_until("stolen", || began.load(SeqCst));
                            panic_any("first half")
                        },
                        |_| {
                            began.store(true, SeqCst);
                            panic_any(Bomb)
                        },
                    )
                });
                assert_eq!(thrown, Some("first half"));
            }
            assert_eq!(cx.join(|_| 1, |_| 2), (1, 2));
        });
    }
}

/// Repeated panics: no worker is lost.
#[test]
fn panics_lose_no_worker() {
    const WORKERS: usize = 4;
    on(WORKERS, |cx| {
        for _ in 0..100 {
            let all = AtomicUsize::new(0);
            let act = AssertUnwindSafe(|| {
                cx.scope(|cx| {
                    for _ in 0..WORKERS {
                        cx.spawn(|_| {
                            all.fetch_add(1, SeqCst);
                            wait_until("all run", || all.load(SeqCst) == WORKERS);
                            panic_any("each")
                        });
                    }
                })
            });
            assert!(catch_unwind(act).is_err());
            assert_eq!(all.into_inner(), WORKERS);
        }
    });
}
