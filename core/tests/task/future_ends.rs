//! The ends of async tasks: dropped, panicking, cancelled, awaited by other threads.

use super::WORKERS;
use super::crew::{Crew, on, panic_of, run_on, wait_until, within};
use std::future::{Future, pending, poll_fn, ready};
use std::panic::panic_any;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::flow::Ddf;
use tautline_core::task::Pool;

use super::futures::{Bell, Boxed, Dropped, FOUND, TaskCx, give_way};

/// Returns the result of the first of two to be ready; the other one is dropped.
async fn either<R>(one: impl Future<Output = R>, other: impl Future<Output = R>) -> R {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(value),
        Poll::Pending => other.as_mut().poll(cx),
    })
    .await
}

/// A finish may be dropped while its tasks run: they continue, and the scope around it waits for
/// them.
#[test]
fn a_finish_may_be_dropped() {
    for workers in WORKERS {
        for depth in 1..4 {
            let (go, runs) = (&Bell::default(), &AtomicUsize::new(0));
            fn nest<'s, 'e: 's>(
                task: TaskCx<'s, 'e>,
                depth: usize,
                go: &'s Bell,
                runs: &'s AtomicUsize,
            ) -> Boxed<'s, bool> {
                Box::pin(async move {
                    let mut finish = pin!(task.finish(|task| async move {
                        for _ in 0..10 {
                            task.spawn_async(|_| async {
                                go.rung().await;
                                runs.fetch_add(1, SeqCst);
                            });
                        }
                        if depth > 1 {
                            let task = task.clone();
                            nest(task, depth - 1, go, runs).await;
                        }
                        true
                    }));
                    let finish = async { finish.as_mut().await.unwrap() };
                    either(finish, async {
                        give_way().await;
                        false
                    })
                    .await
                })
            }
            on(workers, |cx| {
                cx.scope(|cx| {
                    let task = cx.task();
                    assert!(!cx.block_on(nest(task, depth, go, runs)));
                    go.ring();
                });
                assert_eq!(runs.load(SeqCst), 10 * depth, "{workers} workers");
            });
        }
    }
}

/// A panic of a task in an awaited finish ends the finish and reaches the owner of the awaiting
/// task, with its payload.
#[test]
fn a_panic_reaches_the_owner_of_the_awaiting_task() {
    for workers in WORKERS {
        let (after, dropped) = (&AtomicBool::new(false), &AtomicUsize::new(0));
        let word = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    cx.spawn_async(|task| async move {
                        let finish = task.finish(|task| async move {
                            let token = Dropped(dropped);
                            task.spawn_async(|_| async move {
                                let _held = token;
                                pending().await
                            });
                            task.spawn_async(|_| async {
                                give_way().await;
                                panic_any("in a child")
                            });
                        });
                        _ = finish.await;
                        after.store(true, SeqCst);
                    });
                });
            });
        });
        assert_eq!(word, Some("in a child"), "{workers} workers");
        assert_eq!((after.load(SeqCst), dropped.load(SeqCst)), (false, 1));
    }
}

/// A panic in a finish that was dropped reaches the owner of the scope around it.
#[test]
fn a_panic_in_a_dropped_finish_is_not_lost() {
    for workers in WORKERS {
        // Before the finish is dropped, and after.
        for early in [true, false] {
            let (go, done) = (&Bell::default(), &AtomicBool::new(false));
            let word = panic_of(|| {
                on(workers, |cx| {
                    cx.scope(|cx| {
                        let task = cx.task();
                        cx.block_on(async {
                            let finish = task.finish(|task| async move {
                                task.spawn_async(|_| async move {
                                    if !early {
                                        go.rung().await;
                                    }
                                    done.store(true, SeqCst);
                                    panic_any("not awaited")
                                });
                            });
                            let mut finish = Box::pin(finish);
                            either(async { _ = finish.as_mut().await }, give_way()).await;
                            while early && !done.load(SeqCst) {
                                give_way().await;
                            }
                            drop(finish);
                        });
                        go.ring();
                    });
                })
            });
            assert_eq!(
                word,
                Some("not awaited"),
                "{workers} workers, early: {early}"
            );
        }
    }
}

/// A cancellation wakes tasks that are suspended for ever and drops them, also in nested finishes,
/// before the finish ends.
#[test]
fn a_cancellation_wakes_suspended_tasks() {
    for workers in WORKERS {
        let (dropped, made) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        let suspended = move |task: TaskCx| {
            made.fetch_add(1, SeqCst);
            let token = Dropped(dropped);
            drop(task);
            async move {
                let _held = token;
                pending::<()>().await;
            }
        };
        let ended = on(workers, |cx| {
            cx.finish(|cx| {
                (0..20).for_each(|_| cx.spawn_async(suspended));
                cx.spawn_async(move |task| async move {
                    let inner = task.finish(|task| async move {
                        (0..20).for_each(|_| task.spawn_async(suspended));
                        suspended(task).await;
                    });
                    _ = inner.await;
                    unreachable!("a task of a cancelled finish continues");
                });
                cx.spawn(|cx| {
                    wait_until("all are suspended", || {
                        workers == 1 || made.load(SeqCst) == 41
                    });
                    assert!(cx.cancel(Reason::Found));
                });
            })
        });
        assert_eq!(ended, Err(FOUND));
        assert_eq!(dropped.load(SeqCst), made.load(SeqCst), "{workers} workers");
    }
}

/// A finish of async code is cancelled by a task in it: the awaiter is notified and resumes.
#[test]
fn async_code_cancels() {
    for workers in WORKERS {
        let dropped = &AtomicUsize::new(0);
        on(workers, |cx| {
            cx.spawn_async(|task| async move {
                let ended = task.finish(|task| async move {
                    for _ in 0..10 {
                        let token = Dropped(dropped);
                        task.spawn_async(|_| async move {
                            let _held = token;
                            pending::<()>().await;
                        });
                    }
                    task.spawn_async(|task| async move {
                        give_way().await;
                        assert!(task.cancel(Reason::Found));
                        assert_eq!(task.cancelled(), Some(Reason::Found));
                    });
                });
                assert_eq!(ended.await, Err(FOUND));
                assert_eq!((dropped.load(SeqCst), task.cancelled()), (10, None));
                dropped.fetch_add(1, SeqCst);
            });
        });
        assert_eq!(dropped.load(SeqCst), 11, "{workers} workers");
    }
}

/// Chains of tasks that await each other may be long, and finishes deeply nested.
#[test]
fn chains_may_be_long() {
    const LONG: usize = 50_000;
    fn deep<'s, 'e: 's>(task: TaskCx<'s, 'e>, left: usize, cell: &'s Ddf<()>) -> Boxed<'s, ()> {
        Box::pin(async move {
            if left == 0 {
                return cell.put(()).unwrap();
            }
            let finish = task.finish(|task| async move {
                task.spawn_async(|task| deep(task, left - 1, cell));
            });
            finish.await.unwrap();
        })
    }
    for workers in [1, 4] {
        let cells: Vec<Ddf<usize>> = (0..LONG).map(|_| Ddf::new()).collect();
        let (cells, bottom) = (&cells, &Ddf::new());
        on(workers, |cx| {
            for at in 1..LONG {
                cx.spawn_async(|_| async move {
                    let before = *cells[at - 1].wait().await;
                    cells[at].put(before + 1).unwrap();
                });
            }
            cells[0].put(0).unwrap();
            let task = cx.task();
            task.spawn_async(|task| deep(task, 2000, bottom));
        });
        assert_eq!(cells[LONG - 1].get(), Ok(&(LONG - 1)));
        assert!(bottom.is_full());
    }
}

/// Async code of the pool may be polled to completion by a thread that is no worker.
#[test]
fn a_finish_is_awaited_elsewhere() {
    struct Unpark(thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    fn block_on<T: Future>(future: T) -> T::Output {
        let mut future = pin!(future);
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }
    for workers in WORKERS {
        for _ in 0..50 {
            let (bell, runs) = (&Bell::default(), &AtomicUsize::new(0));
            on(workers, |cx| {
                let task = cx.task();
                thread::scope(|threads| {
                    threads.spawn(move || {
                        let ended = task.finish(|task| async move {
                            for _ in 0..3 {
                                task.spawn(|_| _ = runs.fetch_add(1, SeqCst));
                                task.fork(|_| async { _ = runs.fetch_add(1, SeqCst) }).await;
                            }
                        });
                        assert_eq!(block_on(ended), Ok(()));
                        assert_eq!(runs.load(SeqCst), 6);
                        bell.ring();
                    });
                    cx.block_on(bell.rung());
                });
            });
        }
    }
}

/// A task that a foreign thread wakes is found although all workers are parked.
#[test]
fn sleepers_are_woken_by_foreign_threads() {
    for workers in WORKERS {
        let bell = &Bell::default();
        within(workers, |pool: &Pool<Crew>| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    let waker = bell.waker();
                    for _ in 0..100 {
                        waker.wake_by_ref();
                        thread::yield_now();
                    }
                    bell.ring();
                });
                run_on(pool, |cx| cx.spawn_async(|_| bell.rung()));
            });
        });
    }
}

/// A future that is ready immediately takes one poll, and a task that awaits nothing is a call.
#[test]
fn nothing_to_await() {
    for workers in WORKERS {
        let runs = &AtomicUsize::new(0);
        let given = on(workers, |cx| {
            cx.spawn_async(|_| async { _ = runs.fetch_add(1, SeqCst) });
            let task = cx.task();
            cx.block_on(async {
                let empty = task.finish(|_| ready(3)).await;
                empty.unwrap() + ready(4).await
            })
        });
        assert_eq!((given, runs.load(SeqCst)), (7, 1));
    }
}
