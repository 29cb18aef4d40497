//! Parallel loops: each index once, whatever the range, the workers and the costs; panics and cancellation.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::on;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;

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

#[test]
fn a_panic_leaves_out_the_rest() {
    for workers in WORKERS {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            // Without the stop, this loop would last for centuries.
            on(workers, |cx| {
                cx.par_for(0..usize::MAX >> 1, |i| assert_ne!(i, 1000, "index 1000"));
            });
        }));
        let payload = ended.expect_err("the panic of index 1000");
        let message = payload.downcast_ref::<String>().expect("a message");
        assert!(message.contains("index 1000"), "{message}");
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
