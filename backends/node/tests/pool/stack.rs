//! How deep a program may go, and how deep waiting takes it.

use super::{Cx, WORKERS, start};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// The stack of a program's first thread, in bytes.
const STACK_BYTES: usize = 8 << 20;

/// Calls `body` on a thread with a stack as the first one of a program has.
fn on_usual_stack(body: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        thread
            .spawn_scoped(scope, body)
            .expect("a thread")
            .join()
            .unwrap();
    });
}

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

/// A task that joins one that it has spawned, and so on: on one worker, and where thieves take some.
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

/// A hundred thousand tasks that each open a scope and wait for a child: what waits helps others that wait in turn, yet no
/// stack gets deeper than half of what there is, and a little.
#[test]
fn waiting_is_no_way_down() {
    const TASKS: usize = 100_000;
    on_usual_stack(|| {
        for workers in WORKERS {
            let threads = start(workers);
            let (lowest, done) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
            let top = ptr::from_ref(&lowest).addr();
            let caller = thread::current().id();
            threads.run(|cx| {
                for _ in 0..TASKS {
                    cx.spawn(|cx| {
                        cx.scope(|cx| {
                            cx.spawn(|cx| {
                                let marker = cx.worker();
                                if thread::current().id() == caller {
                                    lowest.fetch_min(ptr::from_ref(&marker).addr(), SeqCst);
                                }
                                done.fetch_add(1, SeqCst);
                            });
                        });
                    });
                }
            });
            assert_eq!(done.into_inner(), TASKS);
            let depth = top.saturating_sub(lowest.into_inner());
            assert!(
                depth < STACK_BYTES * 5 / 8,
                "{workers} workers: {depth} bytes deep"
            );
        }
    });
}
