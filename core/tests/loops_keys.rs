//! What distinguishes the loops whose times are kept, the call site, the name and the loops around them; and what timing costs.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::{Crew, advance, clock_reads, on, run_on};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Instant;
use tautline_core::port::{Clock, Host};
use tautline_core::taper::Trail;
use tautline_core::task::{Cx, Pool};

/// Runs a loop of which times are kept. Returns whether it used those of an earlier execution.
fn inner<P: Host>(cx: &mut Cx<'_, '_, P>) -> bool {
    let inner = cx.loop_over(0..200).named("inner");
    inner.explain(|_| advance(2000)).is_cached
}

/// Calls `body` in loops of these names, outermost first.
fn inside<P: Host>(
    cx: &mut Cx<'_, '_, P>,
    names: &[&'static str],
    body: &(impl Fn(&mut Cx<'_, '_, P>) -> bool + Sync),
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
    on(2, |cx| {
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

/// Lucco, acceptance fact 21: the word that records the path.
#[test]
fn a_trail_has_the_three_innermost_loops() {
    let trail = |ids: &[usize]| ids.iter().fold(Trail::NONE, |trail, &id| trail.enter(id));
    // Addresses of call sites, 24 bytes apart.
    let site = |k: usize| 0x5555_5560_0000 + 24 * k;
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
        assert_ne!(trail(&[a, b, c, d]).key(site(9)), trail(&other).key(site(9)));
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
        thread::yield_now();
    }
}

/// Both items of the outer loop are under way at once, so one is in a chunk of another worker; they run the inner loop in turns.
#[test]
fn a_chunk_on_another_worker_knows_the_loops_around_it() {
    on(2, |cx| {
        let (begun, turn) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let cached = [const { AtomicBool::new(false) }; 2];
        let outer = cx.par(0..2usize).named("outer").with_cx();
        outer.for_each(|cx, item| {
            begun.fetch_add(1, SeqCst);
            wait_for(&begun, 2);
            wait_for(&turn, item);
            cached[item].store(inner(cx), SeqCst);
            turn.fetch_add(1, SeqCst);
        });
        assert_eq!(cached.map(AtomicBool::into_inner), [false, true]);
    });
}

/// A fork that another worker runs, a spawned task, and an async one are in the loops around them.
#[test]
fn tasks_of_a_body_are_in_its_loop() {
    on(2, |cx| {
        let forked = |cx: &mut Cx<'_, '_, _>| {
            let is_begun = AtomicUsize::new(0);
            let second = |cx: &mut Cx<'_, '_, _>| {
                is_begun.store(1, SeqCst);
                inner(cx)
            };
            cx.join(|_| wait_for(&is_begun, 1), second).1
        };
        let spawned = |cx: &mut Cx<'_, '_, _>| {
            let is_cached = AtomicBool::new(false);
            cx.scope(|cx| cx.spawn(|cx| is_cached.store(inner(cx), SeqCst)));
            is_cached.into_inner()
        };
        let suspended = |cx: &mut Cx<'_, '_, _>| {
            let is_cached = AtomicBool::new(false);
            let store = &is_cached;
            cx.scope(|cx| {
                cx.spawn_async(|task| async move {
                    let done = task.finish(|task| async move {
                        task.spawn(|cx| store.store(inner(cx), SeqCst));
                    });
                    done.await.expect("not cancelled");
                });
            });
            is_cached.into_inner()
        };
        assert!(!inside(cx, &["loop"], &inner));
        assert!(inside(cx, &["loop"], &forked));
        assert!(inside(cx, &["loop"], &spawned));
        assert!(inside(cx, &["loop"], &suspended));
        assert!(!inside(cx, &["other"], &forked));
        assert!(!forked(cx), "in no loop");
    });
}

/// The times of iterators are kept by their call site, which `cx.par` is, and their name: an execution that knows enough does not
/// read the clock.
#[test]
fn iterators_learn_from_their_earlier_executions() {
    // The other worker never comes, so this thread runs all chunks.
    let pool = Pool::new(Crew::new(2), 2);
    run_on(&pool, |cx| {
        let item = |i: usize| {
            advance(2000);
            i
        };
        let mut readings = |name| {
            let before = clock_reads();
            let sum: usize = cx.par(0..200usize).named(name).map(item).sum();
            assert_eq!(sum, 199 * 100);
            clock_reads() - before
        };
        let rows: Vec<_> = (0..8).map(|_| readings("rows")).collect();
        assert!(rows[..3].iter().all(|&count| count > 0), "{rows:?}");
        assert!(rows[3..7].iter().all(|&count| count == 0), "{rows:?}");
        assert!(rows[7] > 0, "the times are renewed: {rows:?}");
        assert!(readings("other") > 0);

        let mut sums = vec![1u64; 1 << 20];
        let mut readings = || {
            let before = clock_reads();
            cx.par(&mut sums).scan(|a, b| {
                advance(1);
                a.wrapping_add(*b)
            });
            clock_reads() - before
        };
        let both: Vec<_> = (0..4).map(|_| readings()).collect();
        assert!(both[0] > 0 && both[3] == 0, "both loops of a scan: {both:?}");
    });
}

/// Lucco, acceptance fact 24: with a clock that costs 25 ns, a loop of iterations of 1 µs spends less than 1 % of its time on
/// reading it, in any execution; and in the long run by the clock of this machine.
#[test]
fn sampling_costs_a_hundredth_at_most() {
    const ITERATION_NS: u64 = 1000;
    const READING_NS: u64 = 25;
    // The other worker never comes, so this thread reads the clock for all chunks.
    let pool = Pool::new(Crew::new(2), 2);
    let reading_ns = reading_ns();
    run_on(&pool, |cx| {
        for (name, len) in [("a", 64), ("b", 500), ("c", 2000), ("d", 100_000)] {
            let mut readings = || {
                let before = clock_reads();
                let named = cx.loop_over(0..len).named(name);
                let report = named.explain(|_| advance(ITERATION_NS));
                assert!(report.chunks > 0);
                clock_reads() - before
            };
            let counts: Vec<_> = (0..16).map(|_| readings()).collect();
            let loop_ns = len as u64 * ITERATION_NS;
            let most = loop_ns / 100 / READING_NS;
            assert!(counts.iter().all(|&count| count < most), "{len}: {counts:?}");
            // Of eight executions one is timed.
            let later: u64 = counts[8..].iter().sum();
            let share = later as f64 * reading_ns / (8 * loop_ns) as f64;
            assert!(share < 0.01, "{len}: {share}");
        }
    });
}

/// Returns what a reading of the clock costs, undisturbed, on a thread without a time of its own.
fn reading_ns() -> f64 {
    let of_many = |_| {
        let crew = Crew::new(1);
        let began = Instant::now();
        (0..1000).for_each(|_| _ = black_box(crew.now()));
        began.elapsed().as_nanos() as f64 / 1000.0
    };
    let least = move || (0..200).map(of_many).fold(f64::INFINITY, f64::min);
    thread::spawn(least).join().expect("no panic")
}
