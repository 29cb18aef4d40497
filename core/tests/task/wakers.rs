//! Wakers: called by any thread, late, repeatedly, never, while their task runs, and with panics.

use super::WORKERS;
use super::crew::{on, panic_of};
use super::futures::{Bell, give_way};
use std::future::{Future, poll_fn};
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use tautline_core::task::Wait;

/// Wakers are called by threads that are no workers, repeatedly, and for many tasks at once.
#[test]
fn foreign_threads_wake() {
    for workers in WORKERS {
        for _ in 0..20 {
            let bells: Vec<[Bell; 2]> = (0..50).map(|_| Default::default()).collect();
            let woken = &AtomicUsize::new(0);
            thread::scope(|threads| {
                for which in 0..2 {
                    let bells = &bells;
                    threads.spawn(move || bells.iter().for_each(|pair| pair[which].ring()));
                }
                on(workers, |cx| {
                    for [first, second] in &bells {
                        cx.spawn_async(|_| async {
                            first.rung().await;
                            second.rung().await;
                            woken.fetch_add(1, SeqCst);
                        });
                    }
                });
            });
            assert_eq!(woken.load(SeqCst), 100 / 2);
        }
    }
}

/// A waker may be called after its future is done, after its pool is dropped, and never; the future
/// is not polled again.
#[test]
fn wakers_may_be_late() {
    for workers in WORKERS {
        let (bells, polls) = ([const { Mutex::new(Vec::new()) }; 2], &AtomicUsize::new(0));
        let [tasks, blocked] = &bells;
        let keep = |kept: &Mutex<Vec<Waker>>, cx: &mut Context| {
            polls.fetch_add(1, SeqCst);
            kept.lock().unwrap().push(cx.waker().clone());
            Poll::Ready(())
        };
        let keep = &keep;
        on(workers, |cx| {
            cx.scope(|cx| {
                for _ in 0..10 {
                    cx.spawn_async(|_| poll_fn(move |cx| keep(tasks, cx)));
                }
            });
            cx.block_on(poll_fn(|cx| keep(blocked, cx)));
            for kept in &bells {
                kept.lock().unwrap().iter().for_each(Waker::wake_by_ref);
            }
            cx.join(|_| (), |_| ());
        });
        for kept in bells {
            let kept = kept.into_inner().unwrap();
            kept.iter().for_each(Waker::wake_by_ref);
            thread::spawn(|| kept.into_iter().for_each(Waker::wake))
                .join()
                .unwrap();
        }
        assert_eq!(polls.load(SeqCst), 11);
    }
}

/// A future that is woken while it runs, by itself and by another thread, runs again, but never
/// concurrently with itself.
#[test]
fn woken_while_it_runs() {
    for workers in WORKERS {
        let (running, polls) = (&AtomicBool::new(false), &AtomicUsize::new(0));
        on(workers, |cx| {
            for _ in 0..20 {
                let mut left = 20;
                let running = AtomicBool::new(false);
                cx.spawn_async(|_| {
                    poll_fn(move |cx| {
                        assert!(
                            !running.swap(true, SeqCst),
                            "polled concurrently with itself"
                        );
                        polls.fetch_add(1, SeqCst);
                        left -= 1;
                        let waker = cx.waker().clone();
                        let wake = move || waker.wake();
                        match left {
                            0 => return Poll::Ready(()),
                            1 | 7 => thread::spawn(wake).join().unwrap(),
                            _ => wake(),
                        }
                        thread::yield_now();
                        running.store(false, SeqCst);
                        Poll::Pending
                    })
                });
            }
        });
        assert_eq!((polls.load(SeqCst), running.load(SeqCst)), (400, false));
    }
}

/// Futures that wake themselves until another task has run do not starve it, also with one worker.
#[test]
fn a_task_that_wakes_itself_starves_no_other() {
    for workers in WORKERS {
        let ran = &AtomicUsize::new(0);
        let wait = async |many: usize| {
            while ran.load(SeqCst) < many {
                give_way().await;
            }
            ran.fetch_add(1, SeqCst);
        };
        let wait = &wait;
        on(workers, |cx| {
            cx.spawn(|_| _ = ran.fetch_add(1, SeqCst));
            for many in 1..5 {
                cx.spawn_async(move |_| async move {
                    while ran.load(SeqCst) < many {
                        give_way().await;
                    }
                    ran.fetch_add(1, SeqCst);
                });
            }
            cx.block_on(wait(5));
        });
        assert_eq!(ran.load(SeqCst), 6, "{workers} workers");
    }
}

/// A future of an isolated scope that a foreign thread wakes runs in that scope's wait, and so do
/// the tasks that it then spawns.
#[test]
fn an_isolated_wait_runs_tasks_woken_from_outside() {
    for workers in WORKERS {
        let ran = AtomicUsize::new(0);
        on(workers, |cx| {
            let bell = &Bell::default();
            thread::scope(|threads| {
                threads.spawn(|| {
                    bell.waker();
                    bell.ring();
                });
                for wait in [Wait::Own, Wait::Park] {
                    cx.scope_with(wait, |cx| {
                        let ran = &ran;
                        cx.spawn_async(|t| async move {
                            bell.rung().await;
                            t.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                            t.fork(|_| async { _ = ran.fetch_add(1, SeqCst) }).await;
                        });
                    });
                }
            });
        });
        assert_eq!(ran.load(SeqCst), 4);
    }
}

/// A panic of the closure that creates the future propagates to the spawner, and the scope ends.
#[test]
fn a_future_that_cannot_be_made_is_not_waited_for() {
    for workers in WORKERS {
        on(workers, |cx| {
            let made = panic_of(|| {
                cx.scope(|cx| {
                    cx.spawn_async(|_| {
                        if workers > 0 {
                            panic_any("unmade");
                        }
                        async {}
                    });
                });
            });
            assert_eq!(made, Some("unmade"));
        });
    }
}

/// A foreign waker that panics when the last task of an async finish ends does not affect the
/// enclosing scopes.
#[test]
fn a_waker_that_panics_affects_no_scope() {
    struct Bomb;
    impl std::task::Wake for Bomb {
        fn wake(self: Arc<Self>) {
            panic_any("a waker");
        }
    }
    for workers in WORKERS {
        let ran = AtomicUsize::new(0);
        on(workers, |cx| {
            let ran = &ran;
            cx.scope(|cx| {
                cx.spawn_async(|t| async move {
                    let mut finish = Box::pin(t.finish(|f| async move {
                        f.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                    }));
                    let waker = Waker::from(Arc::new(Bomb));
                    _ = finish.as_mut().poll(&mut Context::from_waker(&waker));
                    // Now or later the waker panics, where the last task ends.
                    t.spawn(|_| _ = ran.fetch_add(1, SeqCst));
                });
            });
        });
        assert_eq!(ran.load(SeqCst), 2);
    }
}
