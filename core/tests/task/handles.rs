//! Handles: the values of tasks, and the errors of tasks without a value.

use super::WORKERS;
use super::crew::{on, panic_of};
use super::futures::{Bell, Dropped, TaskCx, give_way};
use std::future::Future;
use std::panic::panic_any;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::task::{Handle, JoinError, Wait};

/// A joined task gives its value, in any order of joins, also one that borrows, and one of a task
/// that was stolen. With one worker the waiter runs the task itself.
#[test]
fn a_joined_task_gives_its_value() {
    for workers in WORKERS {
        let words = ["taut", "line", "handles"];
        let lengths = on(workers, |cx| {
            cx.scope(|cx| {
                let handles: Vec<_> = words
                    .iter()
                    .map(|word| cx.spawn_value(move |_| (word, word.len())))
                    .collect();
                let joined = handles.into_iter().map(|handle| handle.join(cx).unwrap());
                joined.collect::<Vec<_>>()
            })
        });
        let expected: Vec<_> = words.iter().map(|word| (word, word.len())).collect();
        assert_eq!(lengths, expected, "{workers} workers");
    }
}

/// Handles are values: async tasks of one scope await those that were spawned before, and a handle
/// outlives its scope.
#[test]
fn async_tasks_await_older_ones() {
    for workers in WORKERS {
        let sum = on(workers, |cx| {
            let last = cx.scope(|cx| {
                let mut last: Handle<u64> = cx.spawn_value(|_| 0);
                for n in 1..=200 {
                    let before = last;
                    last = cx.spawn_async_value(move |_| async move { before.await.unwrap() + n });
                }
                last
            });
            last.join(cx)
        });
        assert_eq!(sum, Ok(20_100), "{workers} workers");
    }
}

/// In a scope that waits by `Own` or `Park`, tasks of that scope can be joined, with one worker
/// too, and with several that all wait.
#[test]
fn tasks_of_an_isolated_scope_are_joined() {
    for workers in WORKERS {
        for wait in [Wait::Own, Wait::Park] {
            let sum = on(workers, |cx| {
                let outside = AtomicUsize::new(0);
                let sum = cx.scope(|cx| {
                    (0..20).for_each(|_| cx.spawn(|_| _ = outside.fetch_add(1, SeqCst)));
                    cx.scope_with(wait, |cx| {
                        let mut last = cx.spawn_value(|_| 0);
                        for n in 1..=50 {
                            let before = last;
                            last =
                                cx.spawn_async_value(
                                    move |_| async move { before.await.unwrap() + n },
                                );
                        }
                        last.join(cx).unwrap()
                    })
                });
                sum + outside.into_inner()
            });
            assert_eq!(sum, 50 * 51 / 2 + 20, "{workers} {wait:?}");
        }
    }
}

/// A dropped handle detaches: the task runs, the scope waits for it, and its value is dropped
/// before the scope ends.
#[test]
fn a_dropped_handle_detaches() {
    for workers in WORKERS {
        let (runs, drops) = (AtomicUsize::new(0), AtomicUsize::new(0));
        on(workers, |cx| {
            cx.scope(|cx| {
                for _ in 0..100 {
                    drop(cx.spawn_value(|_| {
                        runs.fetch_add(1, SeqCst);
                        Dropped(&drops)
                    }));
                    drop(cx.spawn_async_value(async |_: TaskCx| {
                        give_way().await;
                        runs.fetch_add(1, SeqCst);
                        Dropped(&drops)
                    }));
                }
            });
            assert_eq!((runs.load(SeqCst), drops.load(SeqCst)), (200, 200));
        });
    }
}

/// A value that panics when it is dropped, because its handle was, is a panic of its task.
#[test]
fn a_detached_value_may_panic_in_its_drop() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("a value");
        }
    }
    for workers in WORKERS {
        on(workers, |cx| {
            let word = panic_of(|| cx.scope(|cx| drop(cx.spawn_value(|_| Bomb))));
            assert_eq!(word, Some("a value"));
            let asynchronous = |_: TaskCx| async {
                give_way().await;
                Bomb
            };
            let word = panic_of(|| cx.scope(|cx| drop(cx.spawn_async_value(asynchronous))));
            assert_eq!(word, Some("a value"));
        });
    }
}

/// A panic reaches the owner of the scope with its payload, and ends every wait for the task: also
/// if the waiter panics because of that, which is not the first panic.
#[test]
fn the_owner_gets_the_payload_and_the_waiter_an_error() {
    for workers in WORKERS {
        let seen = Mutex::new(Vec::new());
        on(workers, |cx| {
            let word = panic_of(|| {
                cx.scope(|cx| {
                    let broken = cx.spawn_value(|_| -> u32 { panic_any("closure") });
                    cx.spawn(|cx| {
                        let joined = broken.join(cx);
                        seen.lock().unwrap().push(joined);
                        panic_any("second");
                    });
                })
            });
            assert_eq!(word, Some("closure"), "{workers} workers");
            let word = panic_of(|| {
                cx.scope(|cx| {
                    let broken = cx.spawn_async_value(|_| async {
                        give_way().await;
                        if true {
                            panic_any("future");
                        }
                    });
                    let joined = broken.join(cx);
                    assert_eq!(joined, Err(JoinError::Panicked));
                })
            });
            assert_eq!(word, Some("future"), "{workers} workers");
        });
        // The waiter itself may have been dropped before it began.
        let seen = seen.into_inner().unwrap();
        assert!(
            seen.iter()
                .all(|joined| *joined == Err(JoinError::Panicked))
        );
    }
}

/// A cancellation ends the wait for a task that has not begun, and for one that is suspended; one
/// that is running gives its value.
#[test]
fn a_wait_ends_when_its_task_is_cancelled() {
    for workers in WORKERS {
        on(workers, |cx| {
            let outcome = cx.finish(|cx| {
                let (bell, on_its_way) = (Arc::new(Bell::default()), AtomicBool::new(false));
                let suspended = cx.spawn_async_value(|_| async move {
                    bell.rung().await;
                    1
                });
                let not_begun = cx.spawn_value(|_| 2);
                cx.cancel(Reason::Found);
                assert_eq!(suspended.join(cx), Err(JoinError::Cancelled));
                let not_begun = not_begun.join(cx);
                // A thief may have been faster than the cancellation.
                assert!(
                    not_begun == Err(JoinError::Cancelled) || workers > 1 && not_begun == Ok(2)
                );
                on_its_way.store(true, SeqCst);
            });
            assert_eq!(outcome.unwrap_err().reason, Reason::Found);
            let joined = Mutex::new(None);
            let outcome = cx.finish(|cx| {
                let running = cx.spawn_value(|cx| {
                    cx.cancel(Reason::GivenUp);
                    3
                });
                *joined.lock().unwrap() = Some(running.join(cx));
            });
            assert_eq!(outcome.unwrap_err().reason, Reason::GivenUp);
            assert_eq!(joined.into_inner().unwrap(), Some(Ok(3)));
        });
    }
}

/// A task that waits for another of its scope is dropped with it, and the scope ends.
#[test]
fn waiters_and_tasks_are_cancelled_together() {
    for workers in WORKERS {
        on(workers, |cx| {
            let bell = &Bell::default();
            let outcome = cx.finish(|cx| {
                for _ in 0..20 {
                    let never = cx.spawn_async_value(|_| bell.rung());
                    cx.spawn_async(|_| async move { _ = never.await });
                }
                cx.spawn(|cx| _ = cx.cancel(Reason::Found));
            });
            assert_eq!(outcome.unwrap_err().reason, Reason::Found);
        });
    }
}

/// Async code awaits closures and futures, whose errors propagate by `?`.
#[test]
fn async_code_awaits_values() {
    for workers in WORKERS {
        let parse = async |text: &'static str| text.parse::<u32>();
        let read = |text: &'static str| {
            on(workers, |cx| {
                let task = cx.task();
                cx.block_on(async {
                    let halves = task.spawn_value(|cx| cx.join(|_| 1, |_| 2));
                    let number = task.spawn_async_value(move |task: TaskCx| async move {
                        let number = parse(text).await?;
                        task.yield_now().await;
                        Ok::<_, std::num::ParseIntError>(number + 1)
                    });
                    (halves.await, number.await)
                })
            })
        };
        assert_eq!(read("41"), (Ok((1, 2)), Ok(Ok(42))));
        let (_, refused) = read("many");
        assert!(refused.unwrap().is_err());
    }
}

/// A handle can be awaited in another executor, with another waker at each poll: the last one is
/// woken, once the value is there.
#[test]
fn the_last_waker_is_woken() {
    struct Counting(AtomicUsize);
    impl std::task::Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    for workers in WORKERS {
        let counts: Vec<_> = (0..3)
            .map(|_| Arc::new(Counting(AtomicUsize::new(0))))
            .collect();
        on(workers, |cx| {
            let bell = Bell::default();
            cx.scope(|cx| {
                let mut handle = pin!(cx.spawn_async_value(|_| async {
                    bell.rung().await;
                    5
                }));
                for count in &counts {
                    let waker = Waker::from(Arc::clone(count));
                    let poll = handle.as_mut().poll(&mut Context::from_waker(&waker));
                    assert_eq!(poll, Poll::Pending);
                }
                bell.ring();
                let foreign = Waker::from(Arc::clone(&counts[2]));
                let poll = cx.block_on(async {
                    // Another worker, or this one when it yields, runs the task.
                    while counts[2].0.load(SeqCst) == 0 {
                        give_way().await;
                    }
                    handle.as_mut().poll(&mut Context::from_waker(&foreign))
                });
                assert_eq!(poll, Poll::Ready(Ok(5)));
            });
        });
        let woken: Vec<_> = counts.iter().map(|count| count.0.load(SeqCst)).collect();
        assert_eq!(woken, [0, 0, 1], "{workers} workers");
    }
}

/// A waker that panics when it is woken or dropped harms neither the task nor its scope, and the
/// value is there.
#[test]
fn a_hostile_waker_is_contained() {
    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(std::ptr::null(), &HOSTILE)
    }
    static HOSTILE: RawWakerVTable = RawWakerVTable::new(
        clone,
        |_| panic_any("woken"),
        |_| panic_any("woken"),
        |_| (),
    );
    for workers in WORKERS {
        let value = on(workers, |cx| {
            let bell = Bell::default();
            cx.scope(|cx| {
                let mut handle = pin!(cx.spawn_async_value(|_| async {
                    bell.rung().await;
                    6
                }));
                // SAFETY: the functions access nothing.
                let waker = unsafe { Waker::from_raw(clone(std::ptr::null())) };
                let poll = handle.as_mut().poll(&mut Context::from_waker(&waker));
                assert_eq!(poll, Poll::Pending);
                bell.ring();
                cx.block_on(handle)
            })
        });
        assert_eq!(value, Ok(6), "{workers} workers");
    }
}

/// A thread that is no worker may hold the last reference to a value, and drop it.
#[test]
fn another_thread_may_drop_the_handle() {
    for workers in WORKERS {
        let drops = AtomicUsize::new(0);
        on(workers, |cx| {
            cx.scope(|cx| {
                thread::scope(|threads| {
                    for _ in 0..50 {
                        let handle = cx.spawn_value(|_| Dropped(&drops));
                        threads.spawn(move || drop(handle));
                    }
                });
            });
        });
        assert_eq!(drops.load(SeqCst), 50);
    }
}

/// A handle that was polled to the end panics when it is polled again, instead of waiting for ever.
#[test]
fn a_handle_returns_its_result_once() {
    on(1, |cx| {
        let mut handle = pin!(cx.spawn_value(|_| 1));
        assert_eq!(cx.block_on(handle.as_mut()), Ok(1));
        let again = panic_of(|| cx.block_on(handle.as_mut()));
        assert!(again.is_some());
    });
}

/// Forks in a `join_with` that waits by `Own` or `Park` may be made while a lock is held that
/// unrelated tasks, in the same deque, acquire; `second` is stolen.
#[test]
fn a_lock_may_be_held_over_join_with() {
    for workers in WORKERS {
        for wait in [Wait::Own, Wait::Park] {
            let lock = Mutex::new(0);
            on(workers, |cx| {
                cx.scope(|cx| {
                    for _ in 0..50 {
                        cx.spawn(|cx| {
                            let mut sum = lock.lock().unwrap();
                            let stolen = AtomicBool::new(false);
                            let (a, b) = cx.join_with(
                                wait,
                                |cx| {
                                    // With a free worker the second half is on another one.
                                    let _ = panic_of(|| {
                                        for _ in 0..100 {
                                            if stolen.load(SeqCst) {
                                                break;
                                            }
                                            thread::yield_now();
                                        }
                                    });
                                    cx.spawn(|_| ());
                                    1
                                },
                                |cx| {
                                    stolen.store(true, SeqCst);
                                    (0..100).for_each(|_| thread::yield_now());
                                    cx.join(|_| 1, |_| 1).0
                                },
                            );
                            *sum += a + b;
                        });
                    }
                });
            });
            assert_eq!(lock.into_inner().unwrap(), 100, "{workers} {wait:?}");
        }
    }
}

/// `join_with` waits for the tasks that its halves spawn, returns both values, and propagates
/// panics.
#[test]
fn join_with_is_a_scope() {
    for workers in WORKERS {
        for wait in [Wait::Help, Wait::Own, Wait::Park] {
            on(workers, |cx| {
                let runs = AtomicUsize::new(0);
                let both = cx.join_with(
                    wait,
                    |cx| {
                        cx.spawn(|_| _ = runs.fetch_add(1, SeqCst));
                        1
                    },
                    |cx| {
                        cx.spawn(|_| _ = runs.fetch_add(1, SeqCst));
                        "two"
                    },
                );
                assert_eq!((both, runs.into_inner()), ((1, "two"), 2));
                let first = panic_of(|| cx.join_with(wait, |_| panic_any("first"), |_| ()));
                assert_eq!(first, Some("first"));
                let second = panic_of(|| cx.join_with(wait, |_| (), |_| panic_any("second")));
                assert_eq!(second, Some("second"));
            });
        }
    }
}
