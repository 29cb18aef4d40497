//! Holds of scopes, released by threads that are no workers: the owner is woken and observes what
//! they did, and nothing of the scope or of its pool is accessed afterwards.

use super::machine::{Cell, Cxt, Machine, Payload, number_of, overwrite_stack};
use loom::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tautline_core::WorkerId;
use tautline_core::flow::Ddf;
use tautline_core::task::{Hold, Pool, Wait};
use tautline_verify::model::Model;

/// Runs `body` on the only worker of a pool, which is dropped afterwards.
fn alone<'e, R>(body: impl for<'s> FnOnce(&mut Cxt<'s, 'e>) -> R) -> Result<R, Payload> {
    let pool = Pool::new(Machine::new(1), 1);
    let outcome = pool.with_seat(WorkerId(0), |seat| {
        catch_unwind(AssertUnwindSafe(|| seat.run(body)))
    });
    overwrite_stack();
    drop(pool);
    outcome.expect("no other thread requests the seat")
}

/// Starts a thread that sets `cell` and then releases `hold`.
fn release_later(hold: Hold<Machine>, cell: &Arc<Cell>, value: usize) {
    let cell = Arc::clone(cell);
    thread::spawn(move || {
        cell.set(value);
        drop(hold);
    });
}

/// J1, H3: a foreign thread releases the only hold while the owner ends its body, settles, or
/// parks; the scope is that of the run, after which the pool is dropped.
#[test]
fn hold_released() {
    Model::new("hold_released").floor(2_000).check(|| {
        let cell = Arc::new(Cell::default());
        alone(|cx| release_later(cx.hold(), &cell, 1)).unwrap();
        assert_eq!(cell.get(), 1, "released, but the cause is not visible");
    });
}

/// The same with a scope inside, whose owner parks at once, and two holds: the last one wakes it.
#[test]
fn hold_two_released() {
    Model::new("hold_two_released")
        .bound(2)
        .floor(2_300)
        .check(|| {
            let cells: [Arc<Cell>; 2] = Default::default();
            let seen = alone(|cx| {
                cx.scope_with(Wait::Park, |cx| {
                    for (n, cell) in cells.iter().enumerate() {
                        release_later(cx.hold(), cell, n + 1);
                    }
                });
                cells.each_ref().map(|cell| cell.get())
            });
            assert_eq!(seen.unwrap(), [1, 2]);
        });
}

/// A hold fails while the owner spawns a task that waits for a cell: that task is dropped, by the
/// thread or by the owner, which gets the payload and observes what preceded. The thread does not
/// access the scope afterwards.
#[test]
fn hold_fails() {
    Model::new("hold_fails").bound(3).floor(5_100).check(|| {
        let (cell, token, never) = (Arc::new(Cell::default()), Arc::new(()), Ddf::<()>::new());
        let outcome = alone(|cx| {
            let (hold, cell) = (cx.hold(), Arc::clone(&cell));
            thread::spawn(move || {
                cell.set(1);
                hold.fail(Box::new(7_usize));
            });
            let theirs = Arc::clone(&token);
            cx.spawn_when(&never, move |(), _| drop(theirs));
        });
        assert_eq!(outcome.map_err(number_of).err(), Some(7));
        assert_eq!(cell.get(), 1, "failed, but the cause is not visible");
        assert_eq!(Arc::strong_count(&token), 1, "the task is left");
    });
}

/// A hold is the last share of the finish of async code, which is in an `Arc`, as it keeps the run
/// around it: the awaiter is woken, or has gone, and the pool waits for the thread.
#[test]
fn hold_async() {
    Model::new("hold_async").bound(3).floor(4_700).check(|| {
        let cell = Arc::new(Cell::default());
        let seen = alone(|cx| {
            let task = cx.task();
            cx.block_on(async {
                let finish = task.finish(async |task| release_later(task.hold(), &cell, 1));
                finish.await.unwrap();
            });
            cell.get()
        });
        assert_eq!(seen.unwrap(), 1);
    });
}
