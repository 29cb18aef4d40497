//! Async code in tasks: a waiting task releases its worker, any thread may wake it at any time, and
//! no task outlives its scope.

use super::WORKERS;
use super::crew::{Crew, on, panic_of, wait_until};
use std::future::{Future, poll_fn};
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::flow::{Ddf, wait_all};
use tautline_core::task::Cancelled;

pub(super) type TaskCx<'s, 'e> = tautline_core::task::TaskCx<'s, 'e, Crew>;

pub(super) const FOUND: Cancelled = Cancelled {
    reason: Reason::Found,
};

/// Counts how often it is dropped.
pub(super) struct Dropped<'a>(pub(super) &'a AtomicUsize);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Yields to other tasks, once.
pub(super) async fn give_way() {
    let mut given = false;
    poll_fn(|cx| {
        if given {
            return Poll::Ready(());
        }
        given = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// An event that any thread may signal.
#[derive(Default)]
pub(super) struct Bell(Mutex<(bool, Vec<Waker>)>);

impl Bell {
    pub(super) fn ring(&self) {
        let wakers = {
            let mut bell = self.0.lock().unwrap();
            bell.0 = true;
            std::mem::take(&mut bell.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns the waker of a waiter, as soon as there is one.
    pub(super) fn waker(&self) -> Waker {
        wait_until("a waiter", || !self.0.lock().unwrap().1.is_empty());
        self.0.lock().unwrap().1[0].clone()
    }

    pub(super) async fn rung(&self) {
        poll_fn(|cx| {
            let mut bell = self.0.lock().unwrap();
            if bell.0 {
                return Poll::Ready(());
            }
            bell.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A future with an erased type: for async code that calls itself.
pub(super) type Boxed<'s, R> = Pin<Box<dyn Future<Output = R> + Send + 's>>;

/// Chatterjee, acceptance fact 3: with one worker, an async task that awaits a finish with two
/// children completes, and so do children that await in turn.
#[test]
fn one_worker_is_enough_for_tasks_that_await() {
    fn leaves<'s, 'e: 's>(task: TaskCx<'s, 'e>, deep: usize) -> Boxed<'s, usize> {
        Box::pin(async move {
            let sum = Arc::new(AtomicUsize::new(0));
            let of_tasks = Arc::clone(&sum);
            let ended = task.finish(async |task: TaskCx<'s, 'e>| {
                for _ in 0..2 {
                    let sum = Arc::clone(&of_tasks);
                    if deep == 0 {
                        task.spawn(move |_| _ = sum.fetch_add(1, SeqCst));
                    } else {
                        task.spawn_async(|task| async move {
                            let below = leaves(task, deep - 1).await;
                            sum.fetch_add(below, SeqCst);
                        });
                    }
                }
            });
            assert_eq!(ended.await, Ok(()));
            sum.load(SeqCst)
        })
    }
    for workers in WORKERS {
        let sum = on(workers, |cx| {
            let task = cx.task();
            cx.block_on(leaves(task, 9))
        });
        assert_eq!(sum, 1 << 10, "{workers} workers");
    }
}

/// Chatterjee, acceptance fact 3: a suspended task has no worker: on one worker, many wait for the
/// last.
#[test]
fn a_suspended_task_holds_no_worker() {
    for workers in WORKERS {
        let (bells, woken): (Vec<Bell>, _) = (
            (0..100).map(|_| Bell::default()).collect(),
            AtomicUsize::new(0),
        );
        let (bells, woken) = (&bells, &woken);
        on(workers, |cx| {
            for bell in bells {
                cx.spawn_async(|_| async move {
                    bell.rung().await;
                    woken.fetch_add(1, SeqCst);
                });
            }
            cx.spawn(|_| bells.iter().for_each(Bell::ring));
        });
        assert_eq!(woken.load(SeqCst), 100);
    }
}

/// Chatterjee, acceptance fact 4, for async code: on one worker `async A; B` is B then A where
/// tasks are spawned (help-first), and A then B where they are forked (work-first), at any depth.
#[test]
fn spawns_are_help_first_and_async_forks_work_first() {
    async fn program<'s, 'e: 's>(task: TaskCx<'s, 'e>, order: &'s Mutex<String>) {
        let note = move |letter| order.lock().unwrap().push(letter);
        let spawned = task.finish(|task| async move {
            task.spawn_async(|_| async move { note('A') });
            note('B');
        });
        spawned.await.unwrap();
        note(' ');
        let forked = task.finish(|task| async move {
            task.fork(|_| async move { note('A') }).await;
            note('B');
            // An older task must not run in between.
            task.spawn(move |_| note('x'));
            let nested = task.fork(|task| async move {
                task.fork(|_| async move { note('C') }).await;
                note('D');
            });
            nested.await;
            note('E');
        });
        forked.await.unwrap();
        note(' ');
    }
    let order = &Mutex::new(String::new());
    on(1, |cx| cx.spawn_async(|task| program(task, order)));
    on(1, |cx| {
        let task = cx.task();
        cx.block_on(program(task, order));
    });
    // The continuation of a fork in a future that is blocked on is in no queue: it resumes as soon
    // as the child suspends.
    assert_eq!(*order.lock().unwrap(), "BA ABCDEx BA ABCEDx ");
}

/// The continuation of a fork may be stolen by another worker while the child runs.
#[test]
fn the_continuation_of_an_async_fork_is_stolen() {
    for workers in [2, 4] {
        let follows = &AtomicBool::new(false);
        on(workers, |cx| {
            cx.spawn_async(|task| async move {
                let child = task.fork(|_| async {
                    wait_until("the continuation runs", || follows.load(SeqCst));
                });
                child.await;
                follows.store(true, SeqCst);
            });
        });
    }
}

/// A fork that is not awaited runs before the scope ends, wherever it was created; also if a panic
/// follows it.
#[test]
fn a_fork_that_is_not_awaited_runs() {
    for workers in [1, 2] {
        let (runs, run) = (&AtomicUsize::new(0), ());
        let count = || async move {
            let () = run;
            runs.fetch_add(1, SeqCst);
        };
        on(workers, |cx| {
            drop(cx.task().fork(|_| count()));
            drop(cx.task().fork(|_| count()));
            cx.scope(|cx| drop(cx.task().fork(|_| count())));
            cx.spawn(|cx| drop(cx.task().fork(|_| count())));
            cx.spawn_async(|task| async move { drop(task.fork(|_| count())) });
        });
        assert_eq!(runs.load(SeqCst), 5, "{workers} workers");
        let word = panic_of(|| {
            on(workers, |cx| {
                let task = cx.task();
                cx.block_on(async {
                    drop(task.fork(|_| count()));
                    panic_any("after the fork");
                })
            })
        });
        assert_eq!(word, Some("after the fork"));
        assert!(runs.load(SeqCst) <= 6);
    }
}

/// rayon#679: thousands of spawned futures wait for each other's values, and the scope waits for
/// all.
#[test]
fn futures_wait_for_each_others_values() {
    const MANY: usize = 3000;
    for workers in WORKERS {
        let cells: Vec<Ddf<usize>> = (0..MANY).map(|_| Ddf::new()).collect();
        let cells = &cells;
        let total = on(workers, |cx| {
            // The one that all others wait for is spawned last, or first.
            for at in (1..MANY).rev() {
                cx.spawn_async(|_| async move {
                    let before = wait_all((&cells[at - 1], &cells[at / 2])).await;
                    cells[at].put((before.0 + before.1) % 1009 + 1).unwrap();
                });
            }
            cx.spawn_async(|_| async { cells[0].put(1).unwrap() });
            cx.block_on(async { *cells[MANY - 1].wait().await })
        });
        let mut expected = vec![1];
        (1..MANY).for_each(|at| expected.push((expected[at - 1] + expected[at / 2]) % 1009 + 1));
        assert_eq!(total, expected[MANY - 1]);
    }
}

/// rayon#1060: a scope is awaited by async code; the writes of its tasks are visible then, and it
/// returns the result of its body.
#[test]
fn a_finish_is_awaited() {
    for workers in WORKERS {
        let cells: Vec<AtomicUsize> = (0..50).map(|_| AtomicUsize::new(0)).collect();
        let cells = &cells;
        let outcome = on(workers, |cx| {
            let task = cx.task();
            cx.block_on(async move {
                let filled = task.finish(|task| async move {
                    for (at, cell) in cells.iter().enumerate() {
                        task.spawn_async(move |task| async move {
                            give_way().await;
                            // Outlives its spawner.
                            task.spawn(move |cx| {
                                cx.join(|_| (), |_| cell.store(at, SeqCst));
                            });
                        });
                    }
                    "given"
                });
                let given = filled.await.unwrap();
                let all = cells.iter().map(|cell| cell.load(SeqCst)).sum::<usize>();
                (given, all)
            })
        });
        assert_eq!(outcome, ("given", 49 * 50 / 2));
    }
}

/// A clone of the context keeps the finish open, wherever it is.
#[test]
fn a_clone_keeps_the_finish_open() {
    for workers in WORKERS {
        let (done, opened) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        on(workers, |cx| {
            let task = cx.task();
            cx.block_on(async move {
                let around = task.clone();
                let finish = task.finish(|task| async move {
                    around.spawn(move |cx| {
                        if workers > 1 {
                            wait_until("the body is done", || opened.load(SeqCst));
                        }
                        task.spawn(|_| _ = done.fetch_add(1, SeqCst));
                        cx.spawn(move |_| drop(task));
                    });
                });
                let mut finish = pin!(finish);
                poll_fn(|cx| {
                    let ended = finish.as_mut().poll(cx);
                    opened.store(true, SeqCst);
                    ended
                })
                .await
                .unwrap();
                assert_eq!(done.load(SeqCst), 1);
            });
        });
    }
}

/// A task blocks on a future, also inside one that is blocked on; the future may borrow, and need
/// not be Send.
#[test]
fn a_task_blocks_on_a_future() {
    for workers in WORKERS {
        let mut local = std::rc::Rc::new(1);
        let sum = on(workers, |cx| {
            let (bell, inner) = (&Bell::default(), Bell::default());
            thread::scope(|threads| {
                threads.spawn(|| bell.ring());
                let outer = cx.block_on(async {
                    bell.rung().await;
                    *std::rc::Rc::get_mut(&mut local).unwrap() += 1;
                    *local
                });
                cx.scope(|cx| {
                    cx.spawn(|_| inner.ring());
                    let one = cx.block_on(async {
                        inner.rung().await;
                        1
                    });
                    outer + one
                })
            })
        });
        assert_eq!((sum, *local), (3, 2));
    }
}

/// The panic of a future that is blocked on propagates to the caller; its wakers may still be
/// called.
#[test]
fn a_future_that_is_blocked_on_may_panic() {
    for workers in WORKERS {
        let (bell, kept) = (Bell::default(), Mutex::new(None));
        let word = panic_of(|| {
            on(workers, |cx| {
                cx.spawn(|_| bell.ring());
                cx.block_on(async {
                    poll_fn(|cx| {
                        *kept.lock().unwrap() = Some(cx.waker().clone());
                        Poll::Ready(())
                    })
                    .await;
                    bell.rung().await;
                    panic_any("async");
                })
            })
        });
        assert_eq!(word, Some("async"));
        kept.into_inner().unwrap().unwrap().wake();
    }
}
