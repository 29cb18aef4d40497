//! Parallel loops: each index once, whatever the range, the workers and the costs; panics and
//! cancellation.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;
#[path = "loops/left_out.rs"]
mod left_out;

use crew::{Crew, on, reads, run_on, spend};
use std::iter::Sum;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tautline_core::finish::Reason;
use tautline_core::loops::{Report, Schedule};
use tautline_core::port::Host;
use tautline_core::taper::{Q16, Taper};
use tautline_core::task::{Cx, Pool};

const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Computes for about `n` steps.
fn work(n: usize) {
    for step in 0..n {
        std::hint::black_box(step);
    }
}

#[test]
fn each_index_is_called_once() {
    for workers in WORKERS {
        for (from, len) in [(0, 0), (5, 1), (0, 2), (3, 7), (0, 1000), (9, 100_000)] {
            let calls: Vec<_> = (0..len).map(|_| AtomicU32::new(0)).collect();
            on(workers, |cx| {
                cx.par_for(from..from + len, |i| {
                    calls[i - from].fetch_add(1, SeqCst);
                });
            });
            let once = calls.iter().all(|calls| calls.load(SeqCst) == 1);
            assert!(once, "{workers} workers, {from} and {len} more");
        }
    }
}

/// Costs that rise, fall, lie at one end, or in a few indices.
#[test]
fn uneven_costs_change_nothing() {
    const LEN: usize = 3000;
    let shapes: [fn(usize) -> usize; 4] = [
        |i| i,
        |i| LEN - i,
        |i| if i < 10 { 100_000 } else { 1 },
        |i| if i % 1000 == 7 { 1_000_000 } else { 10 },
    ];
    for workers in WORKERS {
        for cost in shapes {
            let sum = AtomicUsize::new(0);
            on(workers, |cx| {
                cx.par_for(0..LEN, |i| {
                    work(cost(i));
                    sum.fetch_add(i, SeqCst);
                });
            });
            assert_eq!(sum.into_inner(), LEN * (LEN - 1) / 2);
        }
    }
}

/// An inner loop on whatever workers are free.
#[test]
fn loops_nest() {
    for workers in WORKERS {
        let calls: Vec<_> = (0..100 * 100).map(|_| AtomicU32::new(0)).collect();
        on(workers, |cx| {
            cx.scope(|cx| {
                for row in 0..100 {
                    let calls = &calls;
                    cx.spawn(move |cx| {
                        cx.par_for(0..100, |column| {
                            calls[100 * row + column].fetch_add(1, SeqCst);
                        });
                    });
                }
            });
        });
        assert!(calls.iter().all(|calls| calls.load(SeqCst) == 1));
    }
}

/// The panic waits until another worker runs a part of the loop, which then ends within a block.
#[test]
fn a_panic_leaves_out_the_rest() {
    for (workers, schedule) in WORKERS
        .into_iter()
        .flat_map(|w| [Schedule::Auto, Schedule::Guided].map(|s| (w, s)))
    {
        let body = left_out::Body::new(workers == 1);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            on(workers, |cx| {
                let rows = cx.loop_over(0..usize::MAX >> 1).schedule(schedule);
                rows.for_each(|_| body.step());
            });
        }));
        body.assert_left_out(ended, &format!("{workers} workers, {schedule:?}"));
    }
}

#[test]
fn a_cancelled_loop_leaves_out_the_rest() {
    for workers in WORKERS {
        let is_last = AtomicBool::new(false);
        on(workers, |cx| {
            let ended = cx.finish(|cx| {
                cx.cancel(Reason::Found);
                cx.par_for(0..usize::MAX >> 1, |_| is_last.store(true, SeqCst));
            });
            assert_eq!(
                ended.map_err(|cancelled| cancelled.reason),
                Err(Reason::Found)
            );
        });
        assert!(!is_last.into_inner(), "cancelled before it began");
    }
}

/// The number of times that a loop polled whether it was stopped: it adds up what runs between two
/// polls.
struct Polls(usize);

impl Sum<usize> for Polls {
    fn sum<I: Iterator<Item = usize>>(items: I) -> Self {
        items.for_each(drop);
        Self(1)
    }
}

impl Sum for Polls {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        Self(items.map(|polls| polls.0).sum())
    }
}

/// A poll in each iteration would take several times as long as short iterations.
#[test]
fn a_schedule_without_times_polls_seldom() {
    for (workers, schedule) in WORKERS
        .into_iter()
        .flat_map(|w| [Schedule::Guided, Schedule::Factoring, Schedule::Trapezoid].map(|s| (w, s)))
    {
        on(workers, |cx| {
            let Polls(polls) = cx.par(0..100_000_usize).schedule(schedule).sum();
            assert!(polls <= 1000, "{polls} with {workers} workers");
        });
    }
}

/// The least duration of a block is a time, whatever a tick of the clock is.
#[test]
fn blocks_take_as_long_with_a_slow_clock() {
    let long = |_| {
        let began = Instant::now();
        while began.elapsed() < Duration::from_micros(10) {}
    };
    for tick in [1, 100] {
        let report = run_on(&Pool::new(Crew::ticking(2, tick), 2), |cx| {
            cx.loop_over(0..200).explain(long)
        });
        assert_eq!(report.block, 1, "ticks of {tick} ns");
        assert!(
            report.mean_ns().to_bits() >> 16 >= 10_000,
            "ticks of {tick} ns: {report}"
        );
    }
}

/// Each schedule, in the first execution and in later ones, with costs that the third execution
/// does not expect.
#[test]
fn every_schedule_calls_each_index_once_in_each_execution() {
    const LEN: usize = 500;
    let schedules = [
        Schedule::Auto,
        Schedule::Static,
        Schedule::Dynamic(0),
        Schedule::Dynamic(7),
        Schedule::Guided,
        Schedule::Factoring,
        Schedule::Trapezoid,
        Schedule::Taper(Taper::unmeasured()),
    ];
    for workers in WORKERS {
        on(workers, |cx| {
            for (schedule, execution) in schedules
                .into_iter()
                .flat_map(|s| [0, 1, 2, 3].map(|e| (s, e)))
            {
                let calls: Vec<_> = (0..LEN).map(|_| AtomicU32::new(0)).collect();
                let report = cx.loop_over(10..10 + LEN).schedule(schedule).explain(|i| {
                    work(if execution == 2 {
                        i
                    } else {
                        20 * (LEN + 10 - i)
                    });
                    calls[i - 10].fetch_add(1, SeqCst);
                });
                let once = calls.iter().all(|calls| calls.load(SeqCst) == 1);
                assert!(
                    once,
                    "{workers} workers, {schedule:?}, execution {execution}"
                );
                assert!((1..=LEN).contains(&report.chunks), "{report}");
            }
        });
    }
}

#[test]
fn a_second_execution_uses_the_times_of_the_first() {
    on(2, |cx| {
        let mut execute = || {
            let rows = cx.loop_over(0..400).named("rows");
            rows.explain(|i| work(if i < 40 { 100_000 } else { 1000 }))
        };
        let (first, second) = (execute(), execute());
        assert!(!first.is_cached && second.is_cached, "{first}; {second}");
        let line = second.to_string();
        assert!(line.starts_with("rows: auto, "), "{line}");
        assert!(line.ends_with(", divided by earlier times"), "{line}");
        assert!(
            second.mean_ns() > Q16::ZERO && second.class.is_some(),
            "{line}"
        );
        // Another loop, and one of another size, have no earlier execution.
        let other = cx.loop_over(0..400).named("other").explain(|_| work(1000));
        assert!(!other.is_cached, "{other}");
        let plain = cx
            .loop_over(0..400)
            .schedule(Schedule::Guided)
            .explain(|_| work(1000));
        assert!(!plain.is_cached, "{plain}");
    });
}

/// The inner executions are of the call site that the outer one uses.
#[test]
fn a_loop_within_itself_runs_without_times() {
    fn nested<P: Host>(cx: &mut Cx<'_, '_, P>, len: usize, calls: &AtomicUsize) -> Report {
        cx.loop_over(0..len).explain(|_| {
            work(20_000);
            calls.fetch_add(1, SeqCst);
        })
    }
    on(4, |cx| {
        let calls = AtomicUsize::new(0);
        for _ in 0..4 {
            cx.scope(|cx| {
                (0..8).for_each(|_| cx.spawn(|cx| _ = nested(cx, 100, &calls)));
            });
        }
        assert_eq!(calls.load(SeqCst), 4 * 8 * 100);
        let classified = nested(cx, 100, &calls).class.is_some();
        assert!(classified, "times were kept, and their slot is free");
    });
}

#[test]
fn a_loop_runs_as_before_after_a_panic() {
    on(2, |cx| {
        for execution in 0..6 {
            let calls = AtomicUsize::new(0);
            let ended = catch_unwind(AssertUnwindSafe(|| {
                cx.par_for(0..200, |i| {
                    assert!(execution % 2 == 0 || i != 100, "index 100");
                    work(10_000);
                    calls.fetch_add(1, SeqCst);
                });
            }));
            assert_eq!(ended.is_ok(), execution % 2 == 0);
            assert!(ended.is_err() || calls.into_inner() == 200);
        }
    });
}

/// Blocks have as many iterations as last some microseconds at the begin of a loop. Where they last
/// longer, so that few remain for the other workers, chunks have fewer.
#[test]
fn chunks_shrink_below_a_block_where_costs_rise() {
    // The other worker never comes, and the clock shows what this thread spends.
    run_on(&Pool::new(Crew::spending(2), 2), |cx| {
        let mut execute = |name, last_ns| {
            let named = cx.loop_over(0..2000).named(name);
            let report = named.explain(|i| spend(if i < 1900 { 700 } else { last_ns }));
            assert_eq!(report.block, 4, "{report}");
            report.chunks
        };
        let (even, first) = (execute("even", 700), execute("hot", 40_000));
        assert!(first >= even + 30, "{first} chunks, {even} if even");
    });
}

/// As by a page fault or a preemption.
#[test]
fn one_slow_iteration_determines_no_block() {
    run_on(&Pool::new(Crew::spending(2), 2), |cx| {
        for (name, slow) in [("first", 0), ("second", 1), ("tenth", 9), ("late", 200)] {
            let rows = cx.loop_over(0..100_000).named(name);
            let report = rows.explain(|i| spend(if i == slow { 50_000 } else { 10 }));
            assert_eq!(report.block, 256, "{report}");
        }
    });
}

/// The first iterations take longer than all others, so the first execution has blocks of one
/// iteration.
#[test]
fn blocks_that_turn_out_short_are_timed_seldom_and_grow() {
    const LEN: usize = 100_000;
    run_on(&Pool::new(Crew::spending(2), 2), |cx| {
        let mut execute = || {
            let (before, rows) = (reads(), cx.loop_over(0..LEN));
            let report = rows.explain(|i| spend(if i < 20 { 5000 } else { 10 }));
            (report.block, reads() - before)
        };
        let (first, second, third) = (execute(), execute(), execute());
        assert_eq!(first.0, 1);
        assert!(first.1 < LEN as u64 / 100, "{first:?}");
        assert!(second.0 >= 64, "{second:?}");
        assert!(third.0 >= 64 && third.0 < LEN / 64, "{third:?}");
    });
}
