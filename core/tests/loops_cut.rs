//! Loops of a cancelled finish unwind to it, so that no code takes a partial result for the whole.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::{Crew, Cx, on, panic_of, run_on, wait_until, within, within_crew};
use std::any::Any;
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tautline_core::finish::Reason;
use tautline_core::port::Unwind;
use tautline_core::task::{CancelToken, Cancelled, JoinError};

const WORKERS: [usize; 3] = [1, 2, 4];

/// More items than a test can take.
const ENDLESS: usize = usize::MAX >> 1;

const FOUND: Result<(), Cancelled> = Err(Cancelled {
    reason: Reason::Found,
});

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Cancels the finish around `cx` before the loop, or in one of the first items of each worker.
struct Cancel<'c> {
    token: &'c CancelToken,
    is_early: bool,
}

impl Cancel<'_> {
    fn new<'c>(token: &'c CancelToken, is_early: bool) -> Cancel<'c> {
        if is_early {
            token.cancel(Reason::Found);
        }
        Cancel { token, is_early }
    }

    /// Called for each item.
    fn step(&self) {
        assert!(!self.is_early, "a loop that was cancelled before it began");
        CALLS.set(CALLS.get() + 1);
        if CALLS.get() % 100 == 0 {
            self.token.cancel(Reason::Found);
        }
    }
}

/// A verb that runs on a loop which cannot end by itself.
type Verb = (&'static str, fn(&mut Cx<'_, '_>, &Cancel<'_>));

/// The verbs of loops. Those over slices are too long for a hundred items to be all.
const VERBS: &[Verb] = &[
    ("par_for", |cx, cancel| {
        cx.par_for(0..ENDLESS, |_| cancel.step())
    }),
    ("loop_over", |cx, cancel| {
        cx.loop_over(0..ENDLESS).for_each(|_| cancel.step());
    }),
    ("explain", |cx, cancel| {
        _ = cx.loop_over(0..ENDLESS).explain(|_| cancel.step());
    }),
    ("for_each", |cx, cancel| {
        cx.par(0..ENDLESS).for_each(|_| cancel.step());
    }),
    ("with_cx", |cx, cancel| {
        let items = cx.par(0..ENDLESS).with_cx();
        items.for_each(|cx, _| _ = cx.join(|_| cancel.step(), |_| ()));
    }),
    ("nested", |cx, cancel| {
        let items = cx.par(0..ENDLESS).with_cx();
        items.for_each(|cx, _| cx.par_for(0..1000, |_| cancel.step()));
    }),
    ("sum", |cx, cancel| {
        _ = cx.par(0..ENDLESS).map(|_| step(cancel)).sum::<usize>();
    }),
    ("fold", |cx, cancel| {
        _ = cx
            .par(0..ENDLESS)
            .fold(|| 0, |_, _| step(cancel), |a, b| a + b);
    }),
    ("reduce", |cx, cancel| {
        _ = cx
            .par(0..ENDLESS)
            .map(|_| step(cancel))
            .reduce(|| 0, |a, b| a + b);
    }),
    ("reduce in order", |cx, cancel| {
        let items = cx.par(0..1_000_000).map(|_| step(cancel)).in_order();
        _ = items.reduce_with(|a, b| a + b);
    }),
    ("min", |cx, cancel| {
        _ = cx.par(0..ENDLESS).map(|_| step(cancel)).min();
    }),
    ("max", |cx, cancel| {
        _ = cx.par(0..ENDLESS).map(|_| step(cancel)).max();
    }),
    ("count", |cx, cancel| {
        _ = cx.par(0..ENDLESS).map(|_| step(cancel)).count();
    }),
    ("all", |cx, cancel| {
        _ = cx.par(0..ENDLESS).all(|_| step(cancel) == 0);
    }),
    ("any", |cx, cancel| {
        _ = cx.par(0..ENDLESS).any(|_| step(cancel) == 1);
    }),
    ("find_any", |cx, cancel| {
        _ = cx.par(0..ENDLESS).find_any(|_| step(cancel) == 1);
    }),
    ("find_first", |cx, cancel| {
        _ = cx.par(0..ENDLESS).find_first(|_| step(cancel) == 1);
    }),
    ("try_for_each", |cx, cancel| {
        _ = cx
            .par(0..ENDLESS)
            .try_for_each(|_| (step(cancel) == 0).then_some(()));
    }),
    ("try_fold in order", |cx, cancel| {
        let items = cx.par(0..1_000_000).in_order();
        _ = items.try_fold(|| 0, |_, _| Some(step(cancel)), usize::checked_add);
    }),
    ("for_each_init", |cx, cancel| {
        cx.par(0..ENDLESS).for_each_init(|| 0, |_, _| cancel.step());
    }),
    ("flat_map", |cx, cancel| {
        let items = cx.par(0..ENDLESS).flat_map(|_| [1, 2]);
        items.for_each(|_| cancel.step());
    }),
    ("rev, step_by", |cx, cancel| {
        let items = cx.par(0..ENDLESS).rev().step_by(3);
        items.for_each(|_| cancel.step());
    }),
    ("chain", |cx, cancel| {
        let items = cx.par(0..ENDLESS).chain(0..ENDLESS).skip(9);
        items.for_each(|_| cancel.step());
    }),
    ("max_by_key", |cx, cancel| {
        _ = cx.par(0..ENDLESS).max_by_key(|_| step(cancel));
    }),
    ("lines", |cx, cancel| {
        let text = "line\n".repeat(100_000);
        cx.par(&text).lines().for_each(|_| cancel.step());
    }),
    ("try_collect", |cx, cancel| {
        let items = cx.par(0..1_000_000).map(|_| Some(step(cancel)));
        _ = items.try_collect::<Option<Vec<_>>>();
    }),
    ("partition", |cx, cancel| {
        let items = cx.par(0..ENDLESS).filter(|_| step(cancel) == 1);
        _ = items.partition::<Vec<_>, Vec<_>>(|_| true);
    }),
    ("collect", |cx, cancel| {
        _ = cx
            .par(0..1_000_000)
            .map(|_| step(cancel))
            .collect::<Vec<_>>();
    }),
    ("collect of a filter", |cx, cancel| {
        _ = cx
            .par(0..ENDLESS)
            .filter(|_| step(cancel) == 1)
            .collect::<Vec<_>>();
    }),
    ("sort", |cx, cancel| {
        let mut items: Vec<_> = (0..1_000_000).rev().collect();
        cx.par(&mut items)
            .sort_by(|a, b| a.cmp(b).then(compare(cancel)));
    }),
    ("sort_unstable", |cx, cancel| {
        let mut items: Vec<_> = (0..1_000_000).rev().collect();
        cx.par(&mut items)
            .sort_unstable_by(|a, b| a.cmp(b).then(compare(cancel)));
    }),
    ("scan", |cx, cancel| {
        let mut items = vec![1; 1_000_000];
        cx.par(&mut items).scan(|a, b| a + b + step(cancel));
    }),
    ("concurrent", |cx, cancel| {
        _ = cx.concurrent(|loops| {
            loops.par_for(0..ENDLESS).for_each(|_| cancel.step());
            loops.par_for(0..1000).for_each(|_| cancel.step());
        });
    }),
];

fn step(cancel: &Cancel<'_>) -> usize {
    cancel.step();
    0
}

fn compare(cancel: &Cancel<'_>) -> std::cmp::Ordering {
    cancel.step();
    std::cmp::Ordering::Equal
}

/// Whichever verb was cut short: the code after it does not run, the finish reports the
/// cancellation, and the code after the finish continues.
#[test]
fn a_cancelled_loop_unwinds_to_its_finish() {
    for workers in WORKERS {
        on(workers, |cx| {
            for (name, run) in VERBS {
                for is_early in [true, false] {
                    if workers == 1 && name.starts_with("sort") && !is_early {
                        // std's sort does all, so the result is whole.
                        continue;
                    }
                    let (token, mut is_whole) = (CancelToken::new(), false);
                    let ended = cx.finish(|cx| {
                        let inner = cx.finish_until(&token, |cx| {
                            run(cx, &Cancel::new(&token, is_early));
                            is_whole = true;
                        });
                        assert_eq!(inner, FOUND, "{name}");
                        cx.par(0..1000usize).sum::<usize>()
                    });
                    assert!(!is_whole, "{name} has returned, {workers} workers");
                    assert_eq!(ended, Ok(499_500), "the finish around {name}");
                }
            }
        });
    }
}

/// The unwinding, no panic, passes joins, scopes, loops and finishes inside of the cancelled one.
#[test]
fn the_unwinding_passes_what_is_inside_of_the_finish() {
    let reports = Box::leak(Box::new(AtomicUsize::new(0)));
    let before = std::panic::take_hook();
    let seen = &*reports;
    std::panic::set_hook(Box::new(move |info| {
        // Other tests panic with a word or a message.
        let is_message = info.payload().is::<&str>() || info.payload().is::<String>();
        seen.fetch_add(usize::from(!is_message), SeqCst);
        before(info);
    }));
    let cut = |cx: &mut Cx<'_, '_>| {
        cx.cancel(Reason::Found);
        cx.par_for(0..ENDLESS, |_| ());
        unreachable!("the loop has returned")
    };
    for workers in WORKERS {
        on(workers, |cx| {
            assert_eq!(cx.finish(cut), FOUND);
            assert_eq!(cx.finish(|cx| cx.join(cut, |_| ())).map(drop), FOUND);
            assert_eq!(cx.finish(|cx| cx.join(|_| (), cut)).map(drop), FOUND);
            assert_eq!(cx.finish(|cx| cx.scope(|cx| cx.scope(cut))), FOUND);
            assert_eq!(cx.finish(|cx| cx.scope(|cx| cx.spawn(cut))), FOUND);
            assert_eq!(cx.finish(|cx| cx.spawn(cut)), FOUND);
            let nested = cx.finish(|cx| {
                let inner = cx.finish(|cx| cx.scope(|cx| cx.spawn(cut)));
                assert_eq!(inner, FOUND, "the innermost finish was cancelled");
                cx.par(0..10usize).sum::<usize>()
            });
            assert_eq!(nested, Ok(45));
            // One around a finish: that ends, too, and the code after it is still inside of the
            // cancelled one.
            let token = CancelToken::new();
            let outer = cx.finish_until(&token, |cx| {
                let inner = cx.finish(|cx| {
                    token.cancel(Reason::Found);
                    cx.par_for(0..ENDLESS, |_| ());
                });
                assert_eq!(inner, FOUND);
                cx.par_for(0..ENDLESS, |_| ());
                unreachable!("the loop has returned")
            });
            assert_eq!(outer, FOUND);
        });
    }
    assert_eq!(reports.load(SeqCst), 0, "the hook was called");
}

/// A handle of a task that was cut short reports that it was cancelled.
#[test]
fn a_task_that_was_cut_short_has_no_value() {
    for workers in WORKERS {
        on(workers, |cx| {
            let mut joined = None;
            let ended = cx.finish(|cx| {
                let sum = cx.spawn_value(|cx| {
                    cx.cancel(Reason::Found);
                    cx.par(0..ENDLESS).sum::<usize>()
                });
                joined = Some(sum.join(cx));
            });
            assert_eq!((ended, joined), (FOUND, Some(Err(JoinError::Cancelled))));
        });
    }
}

/// A finish of async code ends as one that blocks.
#[test]
fn a_loop_in_a_task_of_async_code_unwinds_to_the_finish() {
    for workers in WORKERS {
        on(workers, |cx| {
            let is_whole = AtomicBool::new(false);
            let is_whole = &is_whole;
            cx.scope(|cx| {
                let task = cx.task();
                cx.block_on(async move {
                    let ended = task.finish(|task| async move {
                        task.spawn(|cx| {
                            cx.cancel(Reason::Found);
                            cx.par_for(0..ENDLESS, |_| ());
                            is_whole.store(true, SeqCst);
                        });
                    });
                    assert_eq!(ended.await, FOUND);
                });
            });
            assert!(!is_whole.load(SeqCst));
        });
    }
}

/// A loop whose items have all been taken when the cancellation comes is whole.
#[test]
fn a_loop_that_has_taken_all_items_returns_its_result() {
    on(1, |cx| {
        let mut sum = 0;
        let ended = cx.finish(|cx| {
            let task = cx.task();
            let last = |i: usize| {
                task.cancel(Reason::Found);
                i
            };
            sum = cx.par(7..8usize).map(last).sum();
            assert!(cx.par(0..0usize).all(|_| false), "there are no items");
        });
        assert_eq!((ended, sum), (FOUND, 7));
    });
}

/// A panic of the program is reported rather than the cancellation, if it came before.
#[test]
fn a_panic_takes_precedence_over_a_cancellation_that_unwinds() {
    for workers in WORKERS {
        let ended = panic_of(|| {
            on(workers, |cx| {
                cx.finish(|cx| {
                    cx.cancel(Reason::Found);
                    panic_any("the body");
                })
            })
        });
        assert_eq!(ended, Some("the body"));
        // A task panics, then the body is cut short.
        let ended = panic_of(|| {
            on(workers, |cx| {
                _ = cx.finish(|cx| {
                    cx.scope(|cx| {
                        let task = cx.spawn_value(|_| panic_any("the task"));
                        assert_eq!(task.join(cx), Err::<(), _>(JoinError::Panicked));
                        cx.cancel(Reason::Found);
                        cx.par_for(0..ENDLESS, |_| ());
                    });
                });
            });
        });
        assert_eq!(ended, Some("the task"));
    }
}

/// Code that swallows the unwinding continues, inside of a finish that is cancelled.
#[test]
fn an_unwinding_that_is_swallowed_does_not_end_the_cancellation() {
    on(2, |cx| {
        let ended = cx.finish(|cx| {
            cx.cancel(Reason::Found);
            for _ in 0..2 {
                let caught = catch_unwind(AssertUnwindSafe(|| cx.par_for(0..9, |_| ())));
                let payload = caught.expect_err("cut short");
                assert!(!payload.is::<&str>() && !payload.is::<String>());
            }
            7
        });
        assert_eq!(ended.map(drop), FOUND);
        // Elsewhere the payload is one of a panic.
        let mut stray: Option<Box<dyn Any + Send>> = None;
        _ = cx.finish(|cx| {
            cx.cancel(Reason::Found);
            stray = catch_unwind(AssertUnwindSafe(|| cx.par_for(0..9, |_| ()))).err();
        });
        let stray = AssertUnwindSafe(stray.expect("cut short"));
        let raised = catch_unwind(AssertUnwindSafe(|| {
            cx.finish(|cx| cx.scope(|cx| cx.spawn(|_| std::panic::resume_unwind({ stray }.0))))
        }));
        assert!(raised.is_err(), "a finish that was not cancelled");
    });
}

/// The tasks of a loop that other workers run end before the loop unwinds.
#[test]
fn no_item_runs_after_the_finish() {
    for _ in 0..50 {
        on(4, |cx| {
            let (running, data) = (AtomicUsize::new(0), AtomicBool::new(true));
            let ended = cx.finish(|cx| {
                let task = cx.task();
                cx.par_for(0..ENDLESS, |_| {
                    running.fetch_add(1, SeqCst);
                    assert!(data.load(SeqCst));
                    if running.load(SeqCst) > 2 {
                        task.cancel(Reason::Found);
                    }
                    running.fetch_sub(1, SeqCst);
                });
            });
            assert_eq!((ended, running.load(SeqCst)), (FOUND, 0));
            data.store(false, SeqCst);
        });
    }
}

/// A loop that nothing can unwind runs to its end.
#[test]
fn without_unwinding_a_loop_is_whole() {
    for workers in WORKERS {
        let crew = Crew::new(workers).without_cancellation();
        assert!(crew.cancellation().is_none());
        within_crew(crew, workers, |pool| {
            run_on(pool, |cx| {
                let mut results = None;
                let ended = cx.finish(|cx| {
                    cx.cancel(Reason::Found);
                    let sum = cx.par(0..1000usize).sum::<usize>();
                    let mut sorted: Vec<_> = (0..20_000).rev().collect();
                    cx.par(&mut sorted).sort();
                    let ran = AtomicUsize::new(0);
                    let concurrent = cx.concurrent(|loops| {
                        let count = |_| _ = ran.fetch_add(1, SeqCst);
                        loops.par_for(0..100).for_each(count);
                    });
                    assert!(concurrent.is_ok());
                    results = Some((sum, sorted.is_sorted(), ran.into_inner()));
                });
                assert_eq!((ended, results), (FOUND, Some((499_500, true, 100))));
            });
        });
    }
}

/// A worker that is in a loop learns of a cancellation from outside of the pool.
#[test]
fn a_cancellation_from_another_thread_cuts_a_loop_short() {
    within(2, |pool| {
        let (token, is_running) = (CancelToken::new(), AtomicBool::new(false));
        std::thread::scope(|threads| {
            threads.spawn(|| {
                wait_until("the loop runs", || is_running.load(SeqCst));
                token.cancel(Reason::Found);
            });
            let ended = run_on(pool, |cx| {
                cx.finish_until(&token, |cx| {
                    cx.par_for(0..ENDLESS, |_| is_running.store(true, SeqCst));
                    unreachable!("the loop has returned")
                })
            });
            assert_eq!(ended, FOUND);
        });
    });
}

/// Returns the least time of a thousand polls inside of `depth` nested scopes or finishes.
fn polls_at(cx: &mut Cx<'_, '_>, depth: usize, are_finishes: bool) -> Duration {
    if depth > 0 && are_finishes {
        return cx.finish(|cx| polls_at(cx, depth - 1, true)).unwrap();
    }
    if depth > 0 {
        return cx.scope(|cx| polls_at(cx, depth - 1, false));
    }
    let times = (0..50).map(|_| {
        let begin = Instant::now();
        let cancelled = (0..1000).filter(|_| black_box(&*cx).cancelled().is_some());
        assert_eq!(cancelled.count(), 0);
        begin.elapsed()
    });
    times.min().unwrap()
}

/// A poll does not walk the scopes around it: in 4000 it takes as long as in 4.
#[test]
fn a_poll_takes_the_same_time_in_any_number_of_scopes() {
    let thread = std::thread::Builder::new().stack_size(1 << 28);
    let test = move || {
        for are_finishes in [false, true] {
            let measure = |depth| on(1, |cx| polls_at(cx, depth, are_finishes));
            let (few, many) = (measure(4), measure(4000));
            assert!(many < 20 * few, "{few:?}, then {many:?}");
        }
    };
    thread.spawn(test).unwrap().join().unwrap();
}
