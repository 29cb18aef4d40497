//! The times of earlier executions: what distinguishes the loops of which they are kept, namely the
//! call site, the name, and the loops around them; and what keeping them costs.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::{Crew, Cx, reads, run_on, spend, within_crew};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Instant;
use tautline_core::WorkerId;
use tautline_core::taper::{Slot, Trail};
use tautline_core::task::Pool;

/// Runs `body` on one of two workers, whose clock shows what it spends, while the seat of the other
/// one is free.
fn alone<'e, R>(body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
    run_on(&Pool::new(Crew::spending(2), 2), body)
}

/// As `alone`, while the other worker is there.
fn together<'e, R>(body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
    within_crew(Crew::spending(2), 2, |pool| run_on(pool, body))
}

/// Runs a loop of which times are kept. Returns whether there was an earlier execution.
fn inner(cx: &mut Cx<'_, '_>) -> bool {
    let inner = cx.loop_over(0..200).named("inner");
    inner.explain(|_| spend(3000)).class.is_some()
}

/// Calls `body` in loops of these names, outermost first.
fn inside(
    cx: &mut Cx<'_, '_>,
    names: &[&'static str],
    body: &(impl Fn(&mut Cx<'_, '_>) -> bool + Sync),
) -> bool {
    let Some((&name, names)) = names.split_first() else {
        return body(cx);
    };
    let result = AtomicBool::new(false);
    let outer = cx.par(0..1).named(name).with_cx();
    outer.for_each(|cx, _| result.store(inside(cx, names, body), SeqCst));
    result.into_inner()
}

/// Lucco, acceptance fact 21.
#[test]
fn three_enclosing_loops_are_part_of_the_key() {
    alone(|cx| {
        let mut execute = |names: [&'static str; 4]| inside(cx, &names, &inner);
        assert!(!execute(["a", "b", "c", "d"]));
        assert!(execute(["a", "b", "c", "d"]));
        assert!(execute(["x", "b", "c", "d"]), "the fourth around it");
        assert!(!execute(["a", "x", "c", "d"]), "the third");
        assert!(!execute(["a", "b", "x", "d"]), "the second");
        assert!(!execute(["a", "b", "c", "x"]), "the first");
        assert!(execute(["a", "b", "c", "d"]), "kept beside the others");
        assert!(!inner(cx), "in no loop");
    });
}

/// Lucco, acceptance fact 21 is not met for frames of calls: functions that call one loop outside
/// of loops share its times.
#[test]
fn frames_of_calls_are_no_part_of_the_key() {
    #[inline(never)]
    fn one(cx: &mut Cx<'_, '_>) -> bool {
        inner(cx)
    }
    #[inline(never)]
    fn other(cx: &mut Cx<'_, '_>) -> bool {
        inner(cx)
    }
    alone(|cx| {
        assert!(!one(cx));
        assert!(other(cx), "another path of calls to the same loop");
        assert!(!inside(cx, &["loop"], &other), "another loop around it");
    });
}

/// Lucco, acceptance fact 21: the word that records the path.
#[test]
fn a_trail_has_the_three_innermost_loops() {
    let trail = |ids: &[usize]| ids.iter().fold(Trail::NONE, |trail, &id| trail.enter(id));
    // Addresses of call sites, 24 bytes apart.
    let site = |k: usize| 0x5555_5560_0000_u64 as usize + 24 * k;
    let [a, b, c, d, x] = [1, 2, 3, 4, 5].map(site);
    assert_eq!(trail(&[a, b, c, d]), trail(&[x, b, c, d]));
    for other in [
        [a, x, c, d],
        [a, b, x, d],
        [a, b, c, x],
        [a, b, d, c],
        [a, c, b, d],
    ] {
        assert_ne!(trail(&[a, b, c, d]), trail(&other));
        assert_ne!(
            trail(&[a, b, c, d]).key(site(9)),
            trail(&other).key(site(9))
        );
    }
    // Recursion distinguishes the outermost three calls.
    let depths: Vec<_> = (0..6).map(|depth| trail(&vec![a; depth])).collect();
    assert!((0..3).all(|depth| depths[depth] != depths[depth + 1]));
    assert!(depths[3] == depths[4] && depths[4] == depths[5]);
    assert_eq!(Trail::NONE.key(a), a);
    assert_ne!(Trail::NONE.key(0), 0);
}

/// Waits until `count` is `n`.
fn wait_for(count: &AtomicUsize, n: usize) {
    while count.load(SeqCst) < n {
        spin_loop();
        std::thread::yield_now();
    }
}

/// Both items of the outer loop run concurrently, so one is in a chunk of another worker; they run
/// the inner loop in turns.
#[test]
fn a_chunk_on_another_worker_knows_the_loops_around_it() {
    together(|cx| {
        let (begun, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let known = [const { AtomicBool::new(false) }; 2];
        let workers = [const { AtomicUsize::new(9) }; 2];
        let outer = cx.par(0..2usize).named("outer").with_cx();
        outer.for_each(|cx, item| {
            begun.fetch_add(1, SeqCst);
            wait_for(&begun, 2);
            wait_for(&turn, item);
            known[item].store(inner(cx), SeqCst);
            let WorkerId(worker) = cx.worker();
            workers[item].store(worker as usize, SeqCst);
            turn.fetch_add(1, SeqCst);
        });
        let [first, second] = workers.map(AtomicUsize::into_inner);
        assert_ne!(first, second, "both items were under way at once");
        assert_eq!(known.map(AtomicBool::into_inner), [false, true]);
        assert!(!inner(cx), "in no loop");
    });
}

/// A fork that another worker runs, a spawned task, and an async one are in the loops around them.
#[test]
fn tasks_of_a_body_are_in_its_loop() {
    together(|cx| {
        let forked = |cx: &mut Cx<'_, '_>| {
            let is_begun = AtomicUsize::new(0);
            let second = |cx: &mut Cx<'_, '_>| {
                is_begun.store(1, SeqCst);
                inner(cx)
            };
            cx.join(|_| wait_for(&is_begun, 1), second).1
        };
        let spawned = |cx: &mut Cx<'_, '_>| {
            let is_known = AtomicBool::new(false);
            cx.scope(|cx| cx.spawn(|cx| is_known.store(inner(cx), SeqCst)));
            is_known.into_inner()
        };
        let suspended = |cx: &mut Cx<'_, '_>| {
            let is_known = AtomicBool::new(false);
            let store = &is_known;
            cx.scope(|cx| {
                cx.spawn_async(|task| async move {
                    let done = task.finish(|task| async move {
                        task.spawn(|cx| store.store(inner(cx), SeqCst));
                    });
                    done.await.expect("not cancelled");
                });
            });
            is_known.into_inner()
        };
        assert!(!inside(cx, &["loop"], &inner));
        assert!(inside(cx, &["loop"], &forked));
        assert!(inside(cx, &["loop"], &spawned));
        assert!(inside(cx, &["loop"], &suspended));
        assert!(!inside(cx, &["other"], &forked));
        assert!(!forked(cx), "in no loop");
    });
}

/// The fourth execution of a loop whose iterations have taken the same times reads no clock.
#[test]
fn iterators_learn_from_their_earlier_executions() {
    alone(|cx| {
        let mut numbers = vec![1; 400];
        let mut execute = |name| {
            let before = reads();
            let sum: usize = cx
                .par(0..400usize)
                .named(name)
                .map(|i| {
                    spend(if i < 40 { 100_000 } else { 3000 });
                    i
                })
                .sum();
            assert_eq!(sum, 399 * 200);
            let even = cx.par(0..400usize).filter(|i| i % 2 == 0).named(name);
            assert_eq!(even.map(|_| spend(3000)).collect::<Vec<_>>().len(), 200);
            cx.par(&mut numbers).named(name).for_each(|_| spend(3000));
            reads() - before
        };
        let measured = [(); 3].map(|()| execute("rows"));
        assert!(measured.iter().all(|&reads| reads > 200), "{measured:?}");
        assert_eq!(execute("rows"), 0);
        assert!(execute("other") > 200, "another name, another loop");
    });
}

/// A prefix sum is two loops, whose times are kept apart.
#[test]
fn both_loops_of_a_prefix_sum_learn() {
    alone(|cx| {
        let mut execute = || {
            let (mut numbers, before) = (vec![1u64; 40 * 1024], reads());
            cx.par(&mut numbers).scan(|a, b| {
                spend(100);
                a + b
            });
            assert!(numbers.into_iter().eq(1..=40 * 1024));
            reads() - before
        };
        let measured = [(); 3].map(|()| execute());
        assert!(measured.iter().all(|&reads| reads > 70), "{measured:?}");
        assert_eq!(execute(), 0);
    });
}

/// A loop shorter than a block is not worth a fork, nor a clock, until its iterations take longer.
#[test]
fn a_short_loop_is_one_chunk_until_it_is_long() {
    alone(|cx| {
        let mut execute = |ns, is_explained| {
            let (before, rows) = (reads(), cx.loop_over(0..100));
            let chunks = match is_explained {
                true => rows.explain(|_| spend(ns)).chunks,
                false => {
                    rows.for_each(|_| spend(ns));
                    0
                }
            };
            (chunks, reads() - before)
        };
        (0..3).for_each(|_| _ = execute(10, false));
        assert_eq!(execute(10, false), (0, 0), "no clock");
        assert_eq!(execute(10, true).0, 1, "one chunk");
        // Measured, once in eight executions.
        (0..8).for_each(|_| _ = execute(10_000, false));
        let (chunks, _) = execute(10_000, true);
        assert!(chunks > 8, "{chunks} chunks of a long loop");
    });
}

/// Spec 2.9: the cache is bounded, by 4 KiB for each call site.
#[test]
fn a_call_site_takes_four_kib_at_most() {
    assert!(size_of::<Slot>() <= 4096, "{} bytes", size_of::<Slot>());
    assert_eq!(Trail::DEPTH, 3, "Lucco, acceptance fact 10");
}

/// Nanoseconds of reading a clock on a present processor: `std::time::Instant` takes 20 to 30.
const READ_NS: u64 = 30;

/// Executions of a loop; the first three measure, then one of eight.
const EXECUTIONS: usize = 16;

/// Returns by execution of a loop of `len` iterations the nanoseconds that it takes on this
/// processor, and the reads of the clock; and the nanoseconds of such a read: each the least of
/// some runs. Iterations take no time but on the clock that is read.
fn executions(len: usize, ns: impl Fn(usize) -> u64 + Sync) -> ([(u64, u64); EXECUTIONS], u64) {
    const READS: u64 = 200;
    let (mut least, mut clock) = ([(u64::MAX, 0); EXECUTIONS], u64::MAX);
    for _ in 0..40 {
        let start = Instant::now();
        (0..READS).for_each(|_| _ = black_box(start.elapsed()));
        clock = clock.min(start.elapsed().as_nanos() as u64 / READS);
        alone(|cx| {
            for (took, read) in &mut least {
                let (before, start) = (reads(), Instant::now());
                cx.par_for(0..len, |i| spend(ns(i)));
                *took = (*took).min(start.elapsed().as_nanos() as u64);
                *read = reads() - before;
            }
        });
    }
    (least, clock)
}

/// Lucco, acceptance fact 24: what measuring costs, namely reads of the clock, the search for a
/// block, recording, merging and learning: the processor time of the executions that measure beyond
/// that of those that do not, where a read takes READ_NS; on a slower processor, or a busy one, in
/// proportion.
///
/// It is less than 1 % of the work of a loop of a millisecond or more, over 16 executions, and of a
/// loop of 20 ms in each. **Not met** by an execution that measures a shorter loop, nor over 16 of
/// a loop far below a millisecond: bounds of 4 and 3 %. Nor with words of 32 bits: a sample took
/// 0.8 microseconds on i686.
#[test]
#[cfg(not(target_pointer_width = "32"))]
fn sampling_takes_one_percent_at_most() {
    for mean in [1000, 1700, 5000, 40_000] {
        for len in [64, 1000, 20_000] {
            let ns = |i| mean + i as u64 % 7 * mean / 20;
            let work: u64 = (0..len).map(ns).sum();
            let (found, clock) = executions(len, ns);
            let case = format!("{len} iterations of {mean} ns, {work}: {found:?}, clock {clock}");
            let reads = found.map(|(_, reads)| reads);
            let measures = |at: usize| at < 3 || at % 8 == 7;
            assert!(
                (0..EXECUTIONS).all(|at| measures(at) == (reads[at] > 0)),
                "{case}"
            );
            // A sample takes two reads at most; there are 512 in about half as many blocks or more.
            assert!(reads[0] < 4 * 512, "{case}: too many samples");
            let of_reads = reads.iter().max().expect("some") * READ_NS;
            assert!(work < 1_000_000 || of_reads * 100 < work, "{case}");

            let others = found.iter().filter(|(_, reads)| *reads == 0);
            let other = others.map(|(took, _)| *took).min().expect("some");
            let measured = found.iter().filter(|(_, reads)| *reads > 0);
            let costs: Vec<u64> = measured
                .map(|(took, _)| took.saturating_sub(other) * READ_NS / clock.max(READ_NS))
                .collect();
            let (all, worst) = (costs.iter().sum::<u64>(), costs.iter().max().expect("some"));
            println!("{len:5} x {mean:5} ns: {costs:?} of {work}, clock {clock}");
            let (of_all, of_one) = match work {
                20_000_000.. => (100, 100),
                1_000_000.. => (100, 25),
                _ => (33, 10),
            };
            assert!(all * of_all < EXECUTIONS as u64 * work, "{case}: {costs:?}");
            assert!(worst * of_one < work, "{case}: {costs:?}");
        }
    }
}
