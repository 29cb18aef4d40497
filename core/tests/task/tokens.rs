//! Tokens that cancel finishes from any thread.

use super::WORKERS;
use super::crew::{Crew, on, panic_of, wait_until};
use super::futures::Bell;
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::flow::Ddf;
use tautline_core::task::{CancelToken, Cancelled};

type TaskCx<'s, 'e> = tautline_core::task::TaskCx<'s, 'e, Crew>;

const STOPPED: Cancelled = Cancelled {
    reason: Reason::Interrupted,
};

/// A token that another thread cancels reaches running tasks, which poll, suspended futures, and
/// tasks that wait for a cell; the bodies of those that do not run are dropped.
#[test]
fn a_token_reaches_every_kind_of_task() {
    struct Body<'a>(&'a AtomicUsize);
    impl Drop for Body<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for workers in WORKERS {
        let (token, bell, cell) = (CancelToken::new(), Bell::default(), Ddf::<u32>::new());
        let (runs, drops) = (AtomicBool::new(false), AtomicUsize::new(0));
        let outcome = on(workers, |cx| {
            thread::scope(|threads| {
                let other = token.clone();
                threads.spawn(|| {
                    let token = other;
                    wait_until("a task runs", || runs.load(SeqCst));
                    assert!(token.cancel(Reason::Interrupted));
                    assert!(!token.cancel(Reason::Found), "later reasons are ignored");
                });
                cx.finish_until(&token, |cx| {
                    for _ in 0..10 {
                        let body = Body(&drops);
                        cx.spawn_when(&cell, move |_, _| drop(body));
                        let body = Body(&drops);
                        let bell = &bell;
                        cx.spawn_async(|_| async move {
                            let _body = body;
                            bell.rung().await;
                        });
                    }
                    cx.spawn(|cx| {
                        runs.store(true, SeqCst);
                        wait_until("cancelled", || cx.cancelled().is_some());
                    });
                })
            })
        });
        assert_eq!(outcome, Err(STOPPED), "{workers} workers");
        assert_eq!(token.cancelled(), Some(Reason::Interrupted));
        assert_eq!(drops.load(SeqCst), 20);
    }
}

/// A cancelled token lets no body begin; one that is not cancelled changes nothing; the reason of
/// an inner cancellation is kept.
#[test]
fn a_token_is_a_finish() {
    for workers in WORKERS {
        on(workers, |cx| {
            let token = CancelToken::new();
            assert_eq!(cx.finish_until(&token, |_| 1), Ok(1));
            let found = cx.finish_until(&token, |cx| _ = cx.cancel(Reason::Found));
            assert_eq!(found.unwrap_err().reason, Reason::Found);
            let word = panic_of(|| cx.finish_until(&token, |cx| cx.spawn(|_| panic_any("task"))));
            assert_eq!(word, Some("task"));
            assert_eq!(
                cx.finish_until(&token, |cx| cx.join(|_| 1, |_| 2)),
                Ok((1, 2))
            );
            token.cancel(Reason::Interrupted);
            let refused = cx.finish_until(&token, |_| panic_any("not called"));
            assert_eq!(refused, Err::<(), _>(STOPPED));
        });
    }
}

/// A task may cancel the token of its own finish, and a finish around it ends too if it has the
/// same token.
#[test]
fn a_token_is_cancelled_from_inside() {
    for workers in WORKERS {
        on(workers, |cx| {
            let token = CancelToken::new();
            let after = AtomicBool::new(false);
            let outcome = cx.finish_until(&token, |cx| {
                let inner = cx.finish_until(&token, |cx| {
                    cx.spawn(|_| _ = token.cancel(Reason::Interrupted));
                });
                assert_eq!(inner, Err(STOPPED));
                cx.spawn(|_| after.store(true, SeqCst));
            });
            assert_eq!(outcome, Err(STOPPED));
            assert!(!after.load(SeqCst), "a task of a cancelled finish");
        });
    }
}

/// Many finishes, on several threads and pools, begin and end while a token is cancelled: each
/// returns `Ok` or the reason, and none is accessed after its end (for the address sanitizer).
#[test]
fn finishes_end_while_the_token_is_cancelled() {
    const TURNS: usize = if cfg!(miri) { 3 } else { 100 };
    for _ in 0..TURNS {
        let token = CancelToken::new();
        let began = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    on(2, |cx| {
                        loop {
                            let outcome = cx.finish_until(&token, |cx| {
                                began.fetch_add(1, SeqCst);
                                cx.spawn(|_| ());
                                cx.spawn_async(|_| async {});
                            });
                            if let Err(cancelled) = outcome {
                                break assert_eq!(cancelled, STOPPED);
                            }
                        }
                    });
                });
            }
            wait_until("some began", || began.load(SeqCst) > 20);
            token.cancel(Reason::Interrupted);
        });
    }
}

/// Async code: the token ends the wait of a suspended finish; a future that is dropped leaves the
/// token's list, and its tasks continue.
#[test]
fn async_finishes_have_tokens() {
    for workers in WORKERS {
        let (token, runs) = (CancelToken::new(), &AtomicUsize::new(0));
        let bell = &Bell::default();
        on(workers, |cx| {
            let task = cx.task();
            let outcome = cx.block_on(async {
                let other = token.clone();
                let never = task.finish_until(&token, |task: TaskCx| async move {
                    task.spawn_async(|_| bell.rung());
                    task.spawn(move |_| _ = other.cancel(Reason::Interrupted));
                });
                never.await
            });
            assert_eq!(outcome, Err(STOPPED));
            // The body itself is dropped where it waits, also if another thread cancels.
            let from_outside = CancelToken::new();
            let waits = AtomicBool::new(false);
            let outcome = thread::scope(|threads| {
                threads.spawn(|| {
                    wait_until("the body waits", || waits.load(SeqCst));
                    from_outside.cancel(Reason::Interrupted);
                });
                cx.block_on(task.finish_until(&from_outside, |_| async {
                    waits.store(true, SeqCst);
                    std::future::pending::<()>().await;
                }))
            });
            assert_eq!(outcome, Err(STOPPED));
            let fresh = CancelToken::new();
            cx.scope(|cx| {
                let task = cx.task();
                cx.block_on(async {
                    let mut dropped = Box::pin(task.finish_until(&fresh, |task| async move {
                        task.spawn_async(|_| async {
                            bell.rung().await;
                            runs.fetch_add(1, SeqCst);
                        });
                        std::future::pending::<()>().await;
                    }));
                    std::future::poll_fn(|cx| {
                        assert!(dropped.as_mut().poll(cx).is_pending());
                        std::task::Poll::Ready(())
                    })
                    .await;
                    drop(dropped);
                    fresh.cancel(Reason::GivenUp);
                    bell.ring();
                });
            });
            assert_eq!(runs.load(SeqCst), 1);
        });
    }
}

/// The destructor of a task that a token drops may panic, or use the token: the panic is one of
/// that task.
#[test]
fn what_a_token_drops_may_panic() {
    struct Bomb(CancelToken);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0.cancel(Reason::Found));
            assert_eq!(self.0.cancelled(), Some(Reason::Interrupted));
            panic_any("a task");
        }
    }
    for workers in WORKERS {
        on(workers, |cx| {
            let (token, cell) = (CancelToken::new(), Ddf::<u32>::new());
            let word = panic_of(|| {
                cx.finish_until(&token, |cx| {
                    let bomb = Bomb(token.clone());
                    cx.spawn_when(&cell, move |_, _| std::mem::forget(bomb));
                    assert!(token.cancel(Reason::Interrupted));
                })
            });
            assert_eq!(word, Some("a task"), "{workers} workers");
        });
    }
}
