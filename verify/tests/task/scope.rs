//! Scopes: left once, after all tasks spawned in them; an abort drops the tasks that have not
//! begun.

use super::machine::{
    Cell, Cxt, Machine, Rendezvous, fail, number_of, overwrite_stack, with_others, with_others_of,
};
use loom::sync::atomic::AtomicUsize as Flag;
use loom::sync::atomic::Ordering::{Acquire as Observe, Relaxed as Loose, Release as Publish};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::WorkerId;
use tautline_core::finish::Reason;
use tautline_core::task::{Pool, Wait};
use tautline_verify::model::Model;

/// V8: two tasks and one spawned by the first: all their writes are visible when the scope has been
/// left.
fn leaves_once(others: usize, wait: Wait) {
    let cells: [Cell; 3] = Default::default();
    let [a, b, c] = &cells;
    let left = with_others(others, |cx| {
        cx.scope_with(wait, |cx| {
            cx.spawn(|cx: &mut Cxt<'_, '_>| {
                cx.spawn(|_| b.set(2));
                a.set(1);
            });
            cx.spawn(|_| c.set(3));
        });
        [a, b, c].map(Cell::get)
    });
    assert_eq!(left.unwrap(), [1, 2, 3]);
}

#[test]
fn scope_helps() {
    Model::new("scope_helps")
        .bound(1)
        .floor(8_300)
        .check(|| leaves_once(1, Wait::Help));
}

#[test]
fn scope_parks() {
    Model::new("scope_parks")
        .bound(1)
        .floor(8_300)
        .check(|| leaves_once(1, Wait::Park));
}

/// A task that spawns, and ends before or after the task that it spawned.
#[test]
fn scope_nested() {
    Model::new("scope_nested").bound(1).floor(2_400).check(|| {
        let cells: [Cell; 2] = Default::default();
        let [a, b] = &cells;
        let left = with_others(1, |cx| {
            cx.scope(|cx| {
                cx.spawn(|cx: &mut Cxt<'_, '_>| {
                    cx.spawn(|_| b.set(2));
                    a.set(1);
                });
            });
            [a, b].map(Cell::get)
        });
        assert_eq!(left.unwrap(), [1, 2]);
    });
}

/// A task on another worker spawns while the owner waits, which may run the new task to its end
/// before the spawn returns: the scope ends after both.
#[test]
fn scope_thief_spawns() {
    Model::new("scope_thief_spawns")
        .bound(1)
        .floor(3_700)
        .check(|| {
            let cells: [Cell; 2] = Default::default();
            let [a, b] = &cells;
            let pool = Pool::new(Machine::yielding(2), 2);
            let left = with_others_of(pool, |cx| {
                let begun = Rendezvous::new();
                cx.scope(|cx| {
                    cx.spawn(|cx: &mut Cxt<'_, '_>| {
                        begun.begin();
                        // The owner parks, although it yields, and is woken by the spawn.
                        (0..8).for_each(|_| thread::yield_now());
                        cx.spawn(|_| b.set(2));
                        a.set(1);
                    });
                    begun.wait(1);
                });
                [a, b].map(Cell::get)
            });
            assert_eq!(left.unwrap(), [1, 2]);
        });
}

/// The owner parks while its only task ends.
#[test]
fn scope_sleeps() {
    Model::new("scope_sleeps").bound(2).floor(49_000).check(|| {
        let cell = Cell::default();
        let left = with_others(1, |cx| {
            cx.scope_with(Wait::Park, |cx| cx.spawn(|_| cell.set(1)));
            cell.get()
        });
        assert_eq!(left.unwrap(), 1);
    });
}

#[test]
fn scope_two_thieves() {
    Model::new("scope_two_thieves")
        .bound(0)
        .floor(2_500)
        .check(|| leaves_once(2, Wait::Help));
}

/// The owner leaves as soon as the last task has ended, which does not access the scope any more
/// (published bug: rayon#1297).
#[test]
fn scope_gone() {
    #[inline(never)]
    fn spawns(cx: &mut Cxt<'_, '_>) {
        cx.scope(|cx| cx.spawn(|_| ()));
    }
    Model::new("scope_gone").bound(2).floor(60_000).check(|| {
        with_others(1, |cx| {
            spawns(cx);
            overwrite_stack();
        })
        .unwrap();
    });
}

/// A task panics while another may have begun: the panic propagates to the owner, and both tasks
/// are dropped.
#[test]
fn scope_panic() {
    Model::new("scope_panic").bound(1).floor(5_100).check(|| {
        let token = Arc::new(());
        let outcome = with_others(1, |cx| {
            cx.scope(|cx| {
                let theirs = Arc::clone(&token);
                cx.spawn(move |_| drop(theirs));
                let theirs = Arc::clone(&token);
                cx.spawn(move |_| {
                    let _held = theirs;
                    fail(7)
                });
            });
        });
        assert_eq!(outcome.map_err(number_of).err(), Some(7));
        assert_eq!(Arc::strong_count(&token), 1, "a task is left");
    });
}

/// The body panics while its task may have begun: the panic of the body propagates.
#[test]
fn scope_body_panics() {
    Model::new("scope_body_panics")
        .bound(2)
        .floor(82_000)
        .check(|| {
            let token = Arc::new(());
            let outcome = with_others(1, |cx| {
                cx.scope(|cx| {
                    let theirs = Arc::clone(&token);
                    cx.spawn(move |_| drop(theirs));
                    fail(9)
                })
            });
            assert_eq!(outcome.map_err(number_of).err(), Some(9));
            assert_eq!(Arc::strong_count(&token), 1, "a task is left");
        });
}

/// Observes, on the thread that drops it, what the cancelling task did before.
struct Dropped<'a> {
    cause: &'a Flag,
    runs: &'a AtomicUsize,
    drops: &'a AtomicUsize,
    blind: &'a AtomicUsize,
    ran: bool,
}

impl Dropped<'_> {
    fn run(mut self) {
        self.ran = true;
        self.runs.fetch_add(1, Relaxed);
    }
}

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        if !self.ran {
            self.drops.fetch_add(1, Relaxed);
            // No assertion here: a panic after the cancellation is not the first cause.
            self.blind.fetch_add(1 - self.cause.load(Loose), Relaxed);
        }
    }
}

/// A task cancels the finish while another may begin: the owner is notified, and the other was run
/// or dropped.
#[test]
fn scope_cancelled() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&dropped);
    Model::new("scope_cancelled")
        .bound(1)
        .floor(42_000)
        .check(move || {
            let cause = Flag::new(0);
            let [runs, drops, blind] = [const { AtomicUsize::new(0) }; 3];
            let outcome = with_others(1, |cx| {
                cx.finish(|cx| {
                    let task = Dropped {
                        cause: &cause,
                        runs: &runs,
                        drops: &drops,
                        blind: &blind,
                        ran: false,
                    };
                    cx.spawn(move |_| task.run());
                    // The other worker steals it here.
                    thread::yield_now();
                    cx.spawn(|cx| {
                        cause.store(1, Loose);
                        assert!(cx.cancel(Reason::Found));
                    });
                })
            });
            assert_eq!(outcome.unwrap().map_err(|c| c.reason), Err(Reason::Found));
            assert_eq!(
                runs.load(Relaxed) + drops.load(Relaxed),
                1,
                "lost or duplicated"
            );
            let blind = blind.load(Relaxed);
            assert_eq!(blind, 0, "dropped, but the cause is not visible");
            dropped.fetch_add(drops.load(Relaxed), Relaxed);
        });
    assert!(seen.load(Relaxed) > 0, "no execution dropped a task");
}

/// The body waits for its task, so the other worker must not park.
#[test]
fn spawn_wakes() {
    Model::new("spawn_wakes").bound(1).floor(15_000).check(|| {
        let all = Rendezvous::new();
        with_others(1, |cx| {
            cx.scope(|cx| {
                cx.spawn(|_| all.begin());
                all.wait(1);
            });
        })
        .unwrap();
    });
}

/// More tasks than the deque can contain: the thief, which must not park, also finds the one in the
/// overflow.
#[test]
fn spawn_overflows() {
    Model::new("spawn_overflows")
        .bound(0)
        .floor(4_500)
        .check(|| {
            let all = Rendezvous::new();
            with_others(1, |cx| {
                cx.scope(|cx| {
                    for _ in 0..5 {
                        cx.spawn(|_| all.begin());
                    }
                    all.wait(5);
                });
            })
            .unwrap();
        });
}

/// H1: a thread that acquires a seat observes what its previous holder did.
#[test]
fn seat_handover() {
    Model::new("seat_handover").floor(5).check(|| {
        let scene = Arc::new((Pool::new(Machine::new(1), 1), Cell::default()));
        let sit = |scene: &(Pool<Machine>, Cell)| {
            let sat = scene
                .0
                .with_seat(WorkerId(0), |_| scene.1.set(scene.1.get() + 1));
            sat.is_some()
        };
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || sit(&theirs));
        let sat = usize::from(sit(&scene)) + usize::from(other.join().unwrap());
        assert_eq!(scene.1.get(), sat);
    });
}

/// H2: a worker that returns because the pool was closed observes what precedes that.
#[test]
fn pool_closed() {
    Model::new("pool_closed").floor(4_000).check(|| {
        let scene = Arc::new((Pool::new(Machine::new(1), 1), Cell::default()));
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || {
            let sat = theirs.0.with_seat(WorkerId(0), |seat| {
                seat.attend();
                // Before the seat is released, which executes a fence: that would acquire what a
                // relaxed load has read.
                theirs.1.get()
            });
            sat.expect("no other thread requests the seat")
        });
        scene.1.set(1);
        scene.0.close();
        assert_eq!(other.join().unwrap(), 1);
    });
}

/// A worker that is not wanted enters standby, is wanted again, and leaves when the pool is closed.
#[test]
fn pool_wants() {
    Model::new("pool_wants").bound(2).floor(10_000).check(|| {
        let pool = Arc::new(Pool::new(Machine::new(1), 1));
        let theirs = Arc::clone(&pool);
        let other = thread::spawn(move || {
            let sat = theirs.with_seat(WorkerId(0), |seat| seat.attend());
            sat.expect("no other thread requests the seat");
        });
        pool.want(0);
        pool.want(1);
        pool.close();
        other.join().unwrap();
    });
}

/// A task that records, when it is dropped unrun, whether the cause is visible. Its drop asserts
/// nothing: a panic after the first cause is discarded.
struct Seen {
    cause: Arc<Flag>,
    blind: Arc<AtomicUsize>,
    used: bool,
}

impl Seen {
    fn used(mut self) {
        self.used = true;
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if !self.used {
            self.blind.fetch_add(1 - self.cause.load(Loose), Relaxed);
        }
    }
}

/// Runs `program` with a task that may be dropped unrun, and a flag to be set before the cause of
/// that.
fn never_blind(model: Model, program: impl Fn(Seen, &Flag) + Sync + Send + 'static) {
    model.check(move || {
        let (cause, blind) = (Arc::new(Flag::new(0)), Arc::new(AtomicUsize::new(0)));
        let task = Seen {
            cause: Arc::clone(&cause),
            blind: Arc::clone(&blind),
            used: false,
        };
        program(task, &cause);
        let blind = blind.load(Relaxed);
        assert_eq!(blind, 0, "dropped, but the cause is not visible");
    });
}

/// J2: a task that is dropped because the body of its scope panics sees what the body did before.
#[test]
fn scope_gives_up() {
    let model = Model::new("scope_gives_up").bound(1).floor(3_500);
    never_blind(model, |task, cause| {
        let outcome = with_others(1, |cx| {
            cx.scope(|cx| {
                cx.spawn(move |_| task.used());
                // The other worker steals it here.
                thread::yield_now();
                cause.store(1, Loose);
                fail(7)
            });
        });
        assert_eq!(outcome.map_err(number_of).err(), Some(7));
    });
}

/// J2: a task that is dropped because a scope around its own is cancelled, by a task on another
/// worker, sees what that task did before.
#[test]
fn scope_outer_cancelled() {
    let model = Model::new("scope_outer_cancelled").bound(1).floor(74_000);
    outer_cancelled(model, |_| ());
}

/// J2: the same, where another abort has been counted: the walk outwards then finds the scope
/// aborted before its own abort is counted.
#[test]
fn scope_outer_cancelled_uncounted() {
    let model = Model::new("scope_outer_cancelled_uncounted");
    outer_cancelled(model.bound(1).floor(85_000), |cx| {
        _ = cx.finish(|cx| cx.cancel(Reason::GivenUp));
    });
}

/// Cancels a scope on another worker, after `before` on this one, and drops a task inside it.
fn outer_cancelled(model: Model, before: fn(&mut Cxt<'_, '_>)) {
    never_blind(model, move |task, cause| {
        let begun = Rendezvous::new();
        let ended = with_others(1, |cx| {
            cx.finish(|cx| {
                cx.spawn(|cx: &mut Cxt<'_, '_>| {
                    begun.begin();
                    cause.store(1, Loose);
                    cx.cancel(Reason::Found);
                });
                begun.wait(1);
                before(cx);
                _ = cx.finish(|cx| cx.spawn(move |_| task.used()));
            })
        });
        assert_eq!(ended.unwrap().map_err(|c| c.reason), Err(Reason::Found));
    });
}

/// J3: a poll that follows a cancellation returns its reason, also if one before it, or at the same
/// time, has found none.
#[test]
fn scope_polled() {
    let model = Model::new("scope_polled").bound(1).floor(35_000);
    model.check(|| {
        let (begun, is_cancelled) = (Rendezvous::new(), Flag::new(0));
        let ended = with_others(1, |cx| {
            cx.finish(|cx| {
                cx.spawn(|cx: &mut Cxt<'_, '_>| {
                    begun.begin();
                    cx.cancel(Reason::Found);
                    is_cancelled.store(1, Publish);
                });
                begun.wait(1);
                _ = cx.finish(|cx| {
                    _ = cx.cancelled();
                    if is_cancelled.load(Observe) == 1 {
                        assert_eq!(cx.cancelled(), Some(Reason::Found), "missed");
                    }
                });
            })
        });
        assert_eq!(ended.unwrap().map_err(|c| c.reason), Err(Reason::Found));
    });
}
