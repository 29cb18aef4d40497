//! The depth to which a program may recurse.

use super::waiting::on_usual_stack;
use super::{Cx, WORKERS, start};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A fork in a fork in a fork, to the bottom, where it may panic.
pub(crate) fn down(cx: &mut Cx, left: usize, panics: bool) -> usize {
    if left == 0 {
        if panics {
            panic_any("bottom");
        }
        return 0;
    }
    let (deep, one) = cx.join(|cx| down(cx, left - 1, panics), |_| 1);
    deep + one
}

/// The same in the second half, which thieves may take.
fn down_second(cx: &mut Cx, left: usize) -> usize {
    if left == 0 {
        return 0;
    }
    let (one, deep) = cx.join(|_| 1, |cx| down_second(cx, left - 1));
    one + deep
}

/// A task that joins one that it has spawned, and so on: on one worker, and where thieves take
/// some.
#[test]
fn joined_tasks_a_hundred_thousand_deep() {
    const DEEP: usize = 100_000;
    fn down(cx: &mut Cx, left: usize) -> usize {
        if left == 0 {
            return 0;
        }
        cx.scope(|cx| {
            let below = cx.spawn_value(|cx| down(cx, left - 1));
            below.join(cx).unwrap() + 1
        })
    }
    on_usual_stack(|| {
        for workers in [1, 2, 4] {
            let threads = start(workers);
            assert_eq!(threads.run(|cx| down(cx, DEEP)), DEEP);
        }
    });
}

/// A million forks deep, on the caller's stack of 8 MiB and on a worker's.
#[test]
fn forks_a_million_deep() {
    const DEEP: usize = 1_000_000;
    on_usual_stack(|| {
        for workers in [1, 2, 4] {
            let threads = start(workers);
            assert_eq!(threads.run(|cx| down(cx, DEEP, false)), DEEP);
            assert_eq!(threads.run(|cx| down_second(cx, DEEP)), DEEP);
            // From a spawned task: a worker's stack, if there is one.
            let mut deep = 0;
            threads.run(|cx| cx.spawn(|cx| deep = down(cx, DEEP, false)));
            assert_eq!(deep, DEEP);
        }
    });
}

/// After a panic in the depth the worker knows again which stack it is on.
#[test]
fn deep_again_after_a_panic() {
    const DEEP: usize = 300_000;
    on_usual_stack(|| {
        for workers in [1, 2] {
            let threads = start(workers);
            threads.run(|cx| {
                for _ in 0..3 {
                    let fall = AssertUnwindSafe(|| down(cx, DEEP, true));
                    assert!(catch_unwind(fall).is_err());
                    assert_eq!(down(cx, DEEP, false), DEEP);
                }
            });
        }
    });
}

/// Scopes in scopes, each opened by a task of the one around it, which waits for it.
#[test]
fn scopes_that_wait_a_hundred_thousand_deep() {
    const DEEP: usize = 100_000;
    fn nest<'e>(cx: &mut Cx<'_, 'e>, left: usize, reached: &'e AtomicUsize) {
        reached.fetch_add(1, SeqCst);
        if left > 0 {
            cx.scope(|cx| cx.spawn(move |cx| nest(cx, left - 1, reached)));
        }
    }
    on_usual_stack(|| {
        for workers in WORKERS {
            let reached = AtomicUsize::new(0);
            start(workers).run(|cx| nest(cx, DEEP, &reached));
            assert_eq!(reached.into_inner(), DEEP + 1, "{workers} workers");
        }
    });
}
