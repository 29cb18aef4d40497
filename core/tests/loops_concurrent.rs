//! Concurrent loops: order, pipelines by declared columns, refused declarations, panics and
//! cancellation.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 42: a split loop | `split_loops_equal_the_sequential_ones`, `the_independent_part_begins_before_the_other_loop_ends`, `any_order_of_chunks_respects_the_declarations`, `random_declarations_are_refused_or_equal_the_sequential_loops` |

#[path = "loops_concurrent/declarations.rs"]
mod declarations;
#[path = "loops_concurrent/dispatched.rs"]
mod dispatched;
#[path = "loops/left_out.rs"]
mod left_out;
#[path = "loops_concurrent/random.rs"]
mod random;
#[path = "taper/reference.rs"]
#[allow(dead_code, reason = "shared with the tests of chunk policies")]
mod reference;

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::{on, wait_until};
use reference::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::loops::{Schedule, Sharing};

const WORKERS: [usize; 4] = [1, 2, 4, 8];
const SHARINGS: [Sharing; 2] = [Sharing::Fill, Sharing::Partition];

/// Computes for about `n` steps.
fn work(n: usize) {
    for step in 0..n {
        std::hint::black_box(step);
    }
}

fn counters(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn all_are_one(calls: &[AtomicU32]) -> bool {
    calls.iter().all(|calls| calls.load(SeqCst) == 1)
}

#[test]
fn each_index_of_each_loop_is_called_once() {
    let schedules = [
        Schedule::Auto,
        Schedule::Static,
        Schedule::Dynamic(3),
        Schedule::Guided,
    ];
    for workers in WORKERS {
        for (sharing, schedule) in SHARINGS.into_iter().flat_map(|s| schedules.map(|x| (s, x))) {
            let (first, second) = (counters(3000), counters(700));
            on(workers, |cx| {
                let ran = cx.concurrent(|loops| {
                    loops.share_by(sharing);
                    let a = loops.par_for(10..3010).named("first").schedule(schedule);
                    a.for_each(|i| {
                        work(if i % 100 == 0 { 10_000 } else { 10 });
                        first[i - 10].fetch_add(1, SeqCst);
                    });
                    loops.par_for(0..0).for_each(|_| unreachable!());
                    let b = loops.par_for(0..700).schedule(schedule);
                    b.for_each(|i| {
                        work(200);
                        second[i].fetch_add(1, SeqCst);
                    });
                });
                let reports = ran.expect("no columns are shared");
                assert_eq!(reports.len(), 3);
                assert_eq!((reports[0].name, reports[2].name), (Some("first"), None));
                assert_eq!(reports[1].chunks, 0);
                assert!((1..=3000).contains(&reports[0].chunks), "{}", reports[0]);
            });
            assert!(
                all_are_one(&first) && all_are_one(&second),
                "{workers} {schedule:?}"
            );
        }
    }
}

/// A chain in which each loop sees the whole of the one before, also through loops without
/// iterations.
#[test]
fn a_loop_comes_after_others() {
    const LEN: usize = 1000;
    for workers in WORKERS {
        let counts = [(); 3].map(|()| AtomicUsize::new(0));
        on(workers, |cx| {
            let ran = cx.concurrent(|loops| {
                let count = |at: usize| {
                    let before = counts[at].fetch_add(1, SeqCst);
                    assert!(before < LEN);
                    let whole = (0..at).all(|before| counts[before].load(SeqCst) == LEN);
                    assert!(whole, "loop {at}");
                };
                let first = loops.par_for(0..LEN).for_each(move |_| count(0));
                let empty = loops
                    .par_for(5..5)
                    .after(first)
                    .for_each(|_| unreachable!());
                let none = loops.par_for(0..9).only(|_| false).after(empty);
                let none = none.for_each(|_| unreachable!());
                let second = loops
                    .par_for(0..LEN)
                    .after(none)
                    .for_each(move |_| count(1));
                loops
                    .par_for(0..LEN)
                    .after(second)
                    .for_each(move |_| count(2));
            });
            assert!(ran.is_ok());
        });
        assert!(counts.iter().all(|count| count.load(SeqCst) == LEN));
    }
}

/// The results of A for a column, and of B for the columns around one.
fn a(column: &mut [u64]) {
    column.iter_mut().for_each(|x| *x = 3 * *x + 1);
}

fn b(q: impl Iterator<Item = u64>, output: &mut [u64]) {
    let sum = q.fold(0, |sum: u64, x| sum.wrapping_mul(31).wrapping_add(x));
    output.iter_mut().for_each(|x| *x += sum);
}

/// Runs A on the columns of `mask`, and B, which reads `around` columns on both sides, pipelined on
/// `workers` workers.
fn pipelined(workers: usize, mask: &[bool], around: usize, sharing: Sharing) -> Vec<u64> {
    const WIDTH: usize = 3;
    let n = mask.len();
    let mut q: Vec<u64> = (0..(n * WIDTH) as u64).collect();
    let mut output = vec![1; n * WIDTH];
    let is_final: Vec<AtomicBool> = mask.iter().map(|active| AtomicBool::new(!active)).collect();
    let near = |c: usize| c.saturating_sub(around)..n.min(c + around + 1);
    on(workers, |cx| {
        let ran = cx.concurrent(|loops| {
            loops.share_by(sharing);
            let q = loops.columns("q", &mut q, WIDTH);
            let output = loops.columns("output", &mut output, WIDTH);
            let first = loops.par_for(0..n).named("A").only(|c| mask[c]);
            let first = first.writes(&q, |c| c..c + 1).run(|c, (mut q,)| {
                work(if c % 7 == 0 { 3000 } else { 30 });
                a(&mut q[c]);
                is_final[c].store(true, SeqCst);
            });
            let second = loops.par_for(0..n).named("B").after(first).split();
            let second = second.reads(&q, near).writes(&output, |c| c..c + 1);
            second.run(|c, (q, mut output)| {
                for read in q.columns() {
                    assert!(is_final[read].load(SeqCst), "column {read} for {c}");
                }
                b(
                    q.columns().flat_map(|at| q[at].iter().copied()),
                    &mut output[c],
                );
            });
        });
        assert_eq!(ran.map(|reports| reports.len()), Ok(2));
    });
    output.extend(q);
    output
}

fn sequential(mask: &[bool], around: usize) -> Vec<u64> {
    let (n, width) = (mask.len(), 3);
    let mut q: Vec<u64> = (0..(n * width) as u64).collect();
    let mut output = vec![1; n * width];
    let active = (0..n).filter(|c| mask[*c]);
    active.for_each(|c| a(&mut q[c * width..][..width]));
    for c in 0..n {
        let read = c.saturating_sub(around) * width..n.min(c + around + 1) * width;
        b(q[read].iter().copied(), &mut output[c * width..][..width]);
    }
    output.extend(q);
    output
}

#[test]
fn split_loops_equal_the_sequential_ones() {
    let mut random = Random(5);
    for workers in WORKERS {
        for run in 0..40 {
            let n = [1, 2, 17, 100, 333][run % 5];
            let density = [0.0, 1.0, 0.1, 0.5, 0.9][run / 5 % 5];
            let mask: Vec<bool> = (0..n).map(|_| random.unit() < density).collect();
            // The last one is above the number of columns for which an iteration waits one by one.
            let around = [0, 1, 5, 100][run % 4];
            let sharing = SHARINGS[run % 2];
            assert_eq!(
                pipelined(workers, &mask, around, sharing),
                sequential(&mask, around),
                "{workers} workers, {mask:?}, {around}"
            );
        }
    }
}

/// The last iteration of A ends only when an independent one of B has begun.
#[test]
fn the_independent_part_begins_before_the_other_loop_ends() {
    for (workers, sharing) in [2, 4].into_iter().flat_map(|w| SHARINGS.map(|s| (w, s))) {
        let (mut q, mut output) = (vec![0; 100], vec![0; 100]);
        let has_begun = AtomicBool::new(false);
        on(workers, |cx| {
            let ran = cx.concurrent(|loops| {
                loops.share_by(sharing);
                let q = loops.columns("q", &mut q, 1);
                let output = loops.columns("output", &mut output, 1);
                let first = loops.par_for(0..100).only(|c| c % 2 == 0);
                let first = first.writes(&q, |c| c..c + 1).run(|c, (mut q,)| {
                    if c == 98 {
                        wait_until("B begins", || has_begun.load(SeqCst));
                    }
                    q[c][0] = 1;
                });
                let second = loops.par_for(0..100).after(first).split();
                let second = second.reads(&q, |c| c..c + 1).writes(&output, |c| c..c + 1);
                second.run(|c, (q, mut output)| {
                    has_begun.fetch_or(c % 2 == 1, SeqCst);
                    output[c][0] = q[c][0];
                });
            });
            assert!(ran.is_ok());
        });
        assert!(
            output
                .iter()
                .enumerate()
                .all(|(c, x)| *x == usize::from(c % 2 == 0))
        );
    }
}

/// A loop that writes what several earlier ones read and write, and a reversed one.
#[test]
fn a_split_loop_waits_for_readers_and_for_all_loops_before() {
    const LEN: usize = 200;
    for workers in WORKERS {
        let (mut q, mut sums) = (vec![1u64; LEN], vec![0; 2 * LEN]);
        on(workers, |cx| {
            let ran = cx.concurrent(|loops| {
                let q = loops.columns("q", &mut q, 1);
                let sums = loops.columns("sums", &mut sums, 1);
                let shift = |by: usize| move |c: usize| c + by..c + by + 1;
                let one = loops
                    .par_for(0..LEN)
                    .reads(&q, |c| c..c + 1)
                    .writes(&sums, shift(0));
                let one = one.run(|c, (q, mut sums)| {
                    work(1000);
                    sums[c][0] = q[c][0];
                });
                let many = loops
                    .par_for(0..LEN)
                    .reads(&q, |_| 0..LEN)
                    .writes(&sums, shift(LEN));
                let many = many.run(|c, (q, mut sums)| {
                    sums[c + LEN][0] = q.columns().map(|at| q[at][0]).sum();
                });
                let double = loops.par_for(0..LEN).after(one).after(many).split();
                let double = double.writes(&q, |c| LEN - 1 - c..LEN - c);
                let double = double.run(|c, (mut q,)| q[LEN - 1 - c][0] *= 2);
                // After the first two through the third.
                let last = loops
                    .par_for(0..2 * LEN)
                    .after(double)
                    .split()
                    .writes(&sums, shift(0));
                last.run(|c, (mut sums,)| sums[c][0] += 1);
            });
            assert!(ran.is_ok());
        });
        assert!(q.iter().all(|x| *x == 2));
        assert!(sums[..LEN].iter().all(|x| *x == 2));
        assert!(sums[LEN..].iter().all(|x| *x == LEN as u64 + 1));
    }
}

#[test]
fn a_panic_of_one_loop_reaches_the_owner_and_leaves_out_the_rest() {
    for (workers, sharing) in WORKERS.into_iter().flat_map(|w| SHARINGS.map(|s| (w, s))) {
        let is_late = AtomicBool::new(false);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            on(workers, |cx| {
                _ = cx.concurrent(|loops| {
                    loops.share_by(sharing);
                    // Without the stop, these would last for centuries.
                    let endless = loops.par_for(0..usize::MAX >> 1);
                    let endless = endless.for_each(|i| assert_ne!(i, 1000, "index 1000"));
                    loops.par_for(0..usize::MAX >> 1).for_each(|_| ());
                    let after = loops.par_for(0..10).after(endless);
                    after.for_each(|_| is_late.store(true, SeqCst));
                });
            });
        }));
        let payload = ended.expect_err("the panic of index 1000");
        let message = payload.downcast_ref::<String>().expect("a message");
        assert!(message.contains("index 1000"), "{message}");
        assert!(!is_late.into_inner());
    }
}

/// The panic waits until another worker runs a chunk, which then ends within a block. The number of
/// iterations may be the largest.
#[test]
fn a_panic_ends_chunks_of_half_the_loop() {
    for schedule in [Schedule::Static, Schedule::Guided, Schedule::Factoring] {
        let body = left_out::Body::new(false);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            on(2, |cx| {
                _ = cx.concurrent(|loops| {
                    let endless = loops.par_for(0..usize::MAX).schedule(schedule);
                    endless.for_each(|_| body.step());
                });
            });
        }));
        body.assert_left_out(ended, &format!("{schedule:?}"));
    }
}

#[test]
fn cancelled_loops_leave_out_the_rest() {
    for workers in WORKERS {
        on(workers, |cx| {
            let begun = AtomicUsize::new(0);
            let ended = cx.finish(|cx| {
                cx.cancel(Reason::Found);
                _ = cx.concurrent(|loops| {
                    let endless = loops.par_for(0..usize::MAX >> 1);
                    endless.for_each(|_| _ = begun.fetch_add(1, SeqCst));
                });
            });
            assert_eq!(
                ended.map_err(|cancelled| cancelled.reason),
                Err(Reason::Found)
            );
            assert_eq!(begun.into_inner(), 0, "cancelled before it began");

            // While it runs.
            let is_running = AtomicBool::new(false);
            let ended = cx.finish(|cx| {
                cx.spawn(|cx| {
                    if workers > 1 {
                        wait_until("the loop runs", || is_running.load(SeqCst));
                    }
                    cx.cancel(Reason::Deadline);
                });
                cx.spawn(|cx| {
                    _ = cx.concurrent(|loops| {
                        let endless = loops.par_for(0..usize::MAX >> 1);
                        endless.for_each(|i| {
                            is_running.store(true, SeqCst);
                            assert!(workers > 1 || i < usize::MAX >> 2);
                        });
                    });
                });
                if workers == 1 {
                    cx.cancel(Reason::Deadline);
                }
            });
            assert_eq!(
                ended.map_err(|cancelled| cancelled.reason),
                Err(Reason::Deadline)
            );
        });
    }
}

/// Scopes inside the iterations of other loops, and several at a time.
#[test]
fn scopes_of_loops_nest() {
    let calls = counters(20 * 50);
    on(4, |cx| {
        cx.scope(|cx| {
            for row in 0..20 {
                let calls = &calls;
                cx.spawn(move |cx| {
                    let ran = cx.concurrent(|loops| {
                        let count = move |i: usize| _ = calls[50 * row + i].fetch_add(1, SeqCst);
                        loops.par_for(0..30).for_each(count);
                        loops.par_for(30..50).for_each(count);
                    });
                    assert!(ran.is_ok());
                });
            }
        });
    });
    assert!(all_are_one(&calls));
}
