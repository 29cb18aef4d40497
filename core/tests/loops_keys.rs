//! What distinguishes the loops whose times are kept: the call site, the name, and the loops around them.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::on;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use tautline_core::port::Host;
use tautline_core::taper::Trail;
use tautline_core::task::Cx;

/// Runs a loop of which times are kept. Returns whether it used those of an earlier execution.
fn inner<P: Host>(cx: &mut Cx<'_, '_, P>) -> bool {
    let report = cx.loop_over(0..200).named("inner").explain(|_| {
        (0..2000).for_each(|step| _ = black_box(step));
    });
    report.is_cached
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
        std::thread::yield_now();
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

/// The times of iterators are kept by their call site, which `cx.par` is.
#[test]
fn iterators_learn_from_their_earlier_executions() {
    on(2, |cx| {
        // Of a loop whose times are known, no chunk is more than a quarter of the predicted work.
        let heavy = 40usize;
        let largest = |cx: &mut Cx<'_, '_, _>, name| {
            let (last, chunks) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
            let items = cx.par(0..400usize).named(name);
            let sum: usize = items
                .map(|i| {
                    let steps = if i < heavy { 100_000 } else { 1000 };
                    (0..steps).for_each(|step| _ = black_box(step));
                    if last.swap(i, SeqCst) != i.wrapping_sub(1) {
                        chunks.fetch_add(1, SeqCst);
                    }
                    i
                })
                .sum();
            assert_eq!(sum, 399 * 200);
            chunks.into_inner()
        };
        for _ in 0..3 {
            assert!(largest(cx, "rows") > 0);
        }
    });
}
