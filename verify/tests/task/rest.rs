//! Workers that wait or are on standby: the tasks that they leave reach a worker that may
//! run them.

use super::domains::pool;
use super::machine::{Cell, Cxt, Machine, with_others_of};
use loom::thread;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tautline_core::WorkerId;
use tautline_core::flow::Ddf;
use tautline_core::hierarchy::Domain;
use tautline_core::port::Park;
use tautline_core::task::{Outside, Pool, Wait};
use tautline_verify::model::Model;

/// A wait runs the task that was set to run next, which it may be waiting for.
#[test]
fn wait_offers_next() {
    Model::new("wait_offers_next")
        .bound(1)
        .floor(2_900)
        .check(|| {
            let pool = Arc::new(Pool::new(Machine::new(2), 2));
            let theirs = Arc::clone(&pool);
            let other = thread::spawn(move || {
                let sat = theirs.with_seat(WorkerId(1), |seat| seat.attend());
                sat.expect("no other thread requests the seat");
            });
            let (cell, seen) = (Ddf::new(), Cell::default());
            let sat = pool.with_seat(WorkerId(0), |seat| {
                seat.run(|cx| {
                    let task = cx.task();
                    cx.block_on(async {
                        let mut fork = pin!(task.fork(|_| async { cell.put(1).unwrap() }));
                        let start = poll_fn(|cx| Poll::Ready(fork.as_mut().poll(cx).is_pending()));
                        assert!(start.await);
                        let inner = pool.run_inside(|cx| {
                            cx.scope(|cx| cx.spawn_when(&cell, |&value, _| seen.set(value)));
                        });
                        assert!(inner.is_ok());
                    });
                });
            });
            sat.expect("no other thread requests the seat");
            assert_eq!(seen.get(), 1);
            pool.close();
            other.join().unwrap();
        });
}

/// A worker on standby runs a task that only it may, and passes on what that has spawned: the
/// scope's owner, which does not help, is woken for it.
#[test]
fn rest_hands_over() {
    Model::new("rest_hands_over")
        .bound(2)
        .floor(8_300)
        .check(|| {
            let pool = pool(2, 1, Outside::Deque);
            pool.want(1);
            // Consumes the permit from that, so that its first park blocks.
            pool.port().park(WorkerId(1));
            let cell = Cell::default();
            let ran = with_others_of(pool, |cx| {
                cx.scope_with(Wait::Park, |cx| {
                    cx.spawn_in(Domain(2), |cx: &mut Cxt<'_, '_>| cx.spawn(|_| cell.set(1)));
                });
                cell.get()
            });
            assert_eq!(ran.unwrap(), 1);
        });
}

/// A wait that does not help is woken for a task of its scope that only its worker may run.
#[test]
fn placed_isolated() {
    Model::new("placed_isolated")
        .bound(1)
        .floor(10_300)
        .check(|| {
            let cell = Cell::default();
            let ran = with_others_of(pool(2, 1, Outside::Deque), |cx| {
                cx.scope_with(Wait::Park, |cx| {
                    cx.spawn_in(Domain(2), |cx: &mut Cxt<'_, '_>| {
                        cx.spawn_in(Domain(1), |_| cell.set(1));
                    });
                });
                cell.get()
            });
            assert_eq!(ran.unwrap(), 1);
        });
}

/// The first half waits, isolated, for what the second puts: the wait must not run the second half,
/// which was pushed before it, and publishes it. Without a heavy fence no other worker can.
#[test]
fn rest_publishes() {
    Model::new("rest_publishes")
        .bound(2)
        .floor(53_000)
        .check(|| {
            let (cell, seen) = (Ddf::new(), Cell::default());
            let pool = Pool::new(Machine::without_heavy_fence(2), 2);
            let joined = with_others_of(pool, |cx| {
                let first = |cx: &mut Cxt<'_, '_>| {
                    cx.scope_with(Wait::Own, |cx| {
                        cx.spawn_when(&cell, |&value, _| seen.set(value));
                    });
                };
                cx.join(first, |_| cell.put(1).unwrap());
                seen.get()
            });
            assert_eq!(joined.unwrap(), 1);
        });
}
