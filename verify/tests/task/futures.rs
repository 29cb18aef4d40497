//! Async code: no wake-up is lost, and wakers may be used late.
//!
//! The state machine of a future that is a task is the crate `async-task`, whose atomics loom does
//! not see.

use super::machine::{Cell, Cxt, Machine, fail, number_of, with_others};
use loom::sync::atomic::{AtomicUsize as Flag, Ordering::Relaxed as Loose};
use loom::thread::{self, JoinHandle};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use tautline_core::WorkerId;
use tautline_core::task::{Pool, TaskCx};
use tautline_verify::model::Model;

type Tcx<'s, 'e> = TaskCx<'s, 'e, Machine>;

/// A future that starts a thread which wakes it, and is ready when it is polled again: it is polled
/// again only if it was woken.
struct Woken {
    cause: Arc<Cell>,
    waker: RefCell<Option<JoinHandle<()>>>,
}

impl Woken {
    fn new() -> Self {
        Self {
            cause: Arc::default(),
            waker: RefCell::default(),
        }
    }

    async fn come(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if self.waker.borrow().is_some() {
            return Poll::Ready(());
        }
        let (waker, cause) = (cx.waker().clone(), Arc::clone(&self.cause));
        let wake = move || {
            cause.set(1);
            waker.wake();
        };
        *self.waker.borrow_mut() = Some(thread::spawn(wake));
        Poll::Pending
    }
}

/// V1: a worker blocks on a future that another thread wakes: it resumes, and observes what that
/// thread did before.
#[test]
fn block_on_wakes() {
    Model::new("block_on_wakes").floor(500).check(|| {
        with_others(0, |cx| {
            let woken = Woken::new();
            cx.block_on(woken.come());
            assert_eq!(woken.cause.get(), 1, "woken, but the cause is not visible");
        })
        .unwrap();
    });
}

/// A second wake-up while the first is being handled, or after the wait has ended and the pool is
/// dropped: it is counted, or has no effect.
#[test]
fn block_on_woken_late() {
    Model::new("block_on_woken_late")
        .bound(3)
        .floor(500)
        .check(|| {
            let pool = Pool::new(Machine::new(1), 1);
            let run = |cx: &mut Cxt<'_, '_>| {
                let (mut began, ready) = (false, Arc::new(Flag::new(0)));
                cx.block_on(poll_fn(|cx| {
                    if ready.load(Loose) == 1 {
                        return Poll::Ready(());
                    }
                    if !began {
                        began = true;
                        let (waker, ready) = (cx.waker().clone(), Arc::clone(&ready));
                        thread::spawn(move || {
                            waker.wake_by_ref();
                            ready.store(1, Loose);
                            waker.wake();
                        });
                    }
                    Poll::Pending
                }));
            };
            pool.with_seat(WorkerId(0), |seat| seat.run(run)).unwrap();
        });
}

/// The last task of an async finish leaves while the awaiter polls: the awaiter is woken, and
/// observes what the task did.
#[test]
fn await_finish() {
    Model::new("await_finish").bound(1).floor(2_100).check(|| {
        let cell = &Cell::default();
        let ended = with_others(1, |cx| {
            let task = cx.task();
            cx.block_on(async {
                let finish = task.finish(|task| async move { task.spawn(|_| cell.set(1)) });
                finish.await.unwrap();
            });
            cell.get()
        });
        assert_eq!(ended.unwrap(), 1);
    });
}

/// The awaiter of a finish is dropped while its only task panics: the panic propagates to the
/// enclosing scope, once, and the task is dropped.
#[test]
fn await_dropped() {
    let passed = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let seen = Arc::clone(&passed);
    Model::new("await_dropped")
        .bound(1)
        .floor(3_300)
        .check(move || {
            let token = Arc::new(());
            let mut early = false;
            let outcome = with_others(1, |cx| {
                let task = cx.task();
                let theirs = Arc::clone(&token);
                let mut finish = pin!(task.finish(|task: Tcx<'_, '_>| async move {
                    task.spawn(move |_| {
                        let _held = theirs;
                        fail(7)
                    });
                }));
                early = finish
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_ready();
            });
            assert_eq!(
                outcome.map_err(number_of).err(),
                Some(7),
                "the panic is lost"
            );
            assert_eq!(Arc::strong_count(&token), 1, "a task is left");
            passed[usize::from(early)].fetch_add(1, Relaxed);
        });
    assert!(seen[0].load(Relaxed) > 0, "no execution dropped it early");
}

/// A foreign thread queues a task, which ends before the thread has made its last access to the
/// pool: the pool waits for it.
#[test]
fn visitor_leaves() {
    Model::new("visitor_leaves").bound(3).floor(500).check(|| {
        let pool = Pool::new(Machine::new(1), 1);
        let polls = Arc::new(AtomicUsize::new(0));
        let mine = Arc::clone(&polls);
        let run = |cx: &mut Cxt<'_, '_>| {
            cx.spawn_async(|_| {
                poll_fn(move |cx| {
                    if polls.fetch_add(1, Relaxed) > 0 {
                        return Poll::Ready(());
                    }
                    let waker = cx.waker().clone();
                    thread::spawn(move || waker.wake());
                    Poll::Pending
                })
            });
        };
        pool.with_seat(WorkerId(0), |seat| seat.run(run)).unwrap();
        drop(pool);
        assert_eq!(mine.load(Relaxed), 2);
    });
}
