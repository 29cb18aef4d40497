//! Forks: each half runs once, on any worker, and the owner sees the results.

use super::machine::{
    Cell, Cxt, Machine, Rendezvous, fail, number_of, with_others, with_others_of,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use tautline_core::WorkerId;
use tautline_core::flow::Ddf;
use tautline_core::task::{Pool, Wait};
use tautline_verify::model::Model;

const OWNER: WorkerId = WorkerId(0);

/// Checks that a thief runs the second half in some executions, and not in others.
fn both_ways(model: Model, program: impl Fn() -> bool + Sync + Send + 'static) {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let seen = Arc::clone(&counts);
    model.check(move || {
        counts[usize::from(program())].fetch_add(1, Relaxed);
    });
    let [kept, stolen] = [seen[0].load(Relaxed), seen[1].load(Relaxed)];
    assert!(
        kept > 0 && stolen > 0,
        "kept {kept} times, stolen {stolen} times"
    );
}

/// The second half is called once, by the owner or a thief, and both halves' writes are visible to
/// the owner.
#[test]
fn join_once() {
    both_ways(Model::new("join_once").bound(2).floor(23_500), || {
        let (first, second) = (Cell::default(), Cell::default());
        let calls = AtomicUsize::new(0);
        let joined = with_others(1, |cx| {
            cx.join(
                |_| first.set(1),
                |cx| {
                    second.set(2);
                    calls.fetch_add(1, Relaxed);
                    cx.worker() != OWNER
                },
            )
        });
        let ((), stolen) = joined.unwrap();
        assert_eq!(calls.load(Relaxed), 1);
        assert_eq!((first.get(), second.get()), (1, 2));
        stolen
    });
}

/// Forks a second half that a thief runs, since the first half returns only after it has begun.
#[inline(never)]
fn joins_stolen<R: Send>(
    cx: &mut Cxt<'_, '_>,
    second: impl FnOnce(&mut Cxt<'_, '_>) -> R + Send,
) -> R {
    let begun = Rendezvous::new();
    let second = |cx: &mut Cxt<'_, '_>| {
        begun.begin();
        second(cx)
    };
    cx.join(|_| begun.wait(1), second).1
}

/// Checks that the owner sees the result and the writes of a second half that a thief runs. If
/// `must_park`, the owner must not help and already waits when the second half continues.
fn sees_stolen(model: Model, must_park: bool) {
    model.check(move || {
        let written = Cell::default();
        let fork = |cx: &mut Cxt<'_, '_>| {
            let thief = joins_stolen(cx, |cx| {
                if must_park {
                    loom::thread::yield_now();
                }
                written.set(2);
                cx.worker()
            });
            (thief, written.get())
        };
        let joined = with_others(1, |cx| match must_park {
            true => cx.scope_with(Wait::Park, fork),
            false => fork(cx),
        });
        assert_eq!(joined.unwrap(), (WorkerId(1), 2));
    });
}

/// A thief runs the second half while the owner waits or parks: the owner is woken, and sees its
/// result and its writes.
#[test]
fn join_stolen() {
    sees_stolen(Model::new("join_stolen").bound(1).floor(5_200), false);
}

/// The same where the owner must not help: the end may also come between its last check and its
/// announcement that it parks.
#[test]
fn join_stolen_parks() {
    sees_stolen(Model::new("join_stolen_parks").bound(1).floor(1_500), true);
}

/// A thief does not access the fork once its end is visible: the owner may have left the frame
/// (published bug: rayon#1297).
#[test]
fn join_gone() {
    Model::new("join_gone").bound(1).floor(5_200).check(|| {
        with_others(1, |cx| joins_stolen(cx, |_| ())).unwrap();
    });
}

/// The first half panics while the second may be stolen: the owner waits, drops the second's
/// result, and the panic of the first propagates.
#[test]
fn join_panic() {
    both_ways(Model::new("join_panic").bound(2).floor(19_000), || {
        let token = Arc::new(());
        let stolen = Arc::new(AtomicUsize::new(0));
        let outcome = with_others(1, |cx| {
            let (token, stolen) = (Arc::clone(&token), Arc::clone(&stolen));
            let second = move |_: &mut _| {
                stolen.store(1, Relaxed);
                token
            };
            cx.join(|_| fail(7), second).1
        });
        assert_eq!(outcome.map_err(number_of).err(), Some(7));
        assert_eq!(Arc::strong_count(&token), 1, "a body or a result is left");
        stolen.load(Relaxed) == 1
    });
}

/// The second half panics, on any worker: the panic propagates to the owner.
#[test]
fn join_second_panics() {
    both_ways(
        Model::new("join_second_panics").bound(2).floor(23_500),
        || {
            let stolen = AtomicUsize::new(0);
            let outcome = with_others(1, |cx| {
                cx.join(
                    |_| (),
                    |cx| {
                        stolen.store(usize::from(cx.worker() != OWNER), Relaxed);
                        fail(8)
                    },
                )
                .1
            });
            assert_eq!(outcome.map_err(number_of).err(), Some(8));
            stolen.load(Relaxed) == 1
        },
    );
}

/// Forks in both halves, so that the owner waits while an earlier fork of its own is still queued.
#[test]
fn join_nested() {
    both_ways(Model::new("join_nested").bound(2).floor(150_000), || {
        let calls = AtomicUsize::new(0);
        let one = |cx: &mut Cxt<'_, '_>| {
            calls.fetch_add(1, Relaxed);
            cx.worker() != OWNER
        };
        let joined = with_others(1, |cx| {
            cx.join(|cx| cx.join(one, one), |cx| cx.join(one, one))
        });
        let ((a, b), (c, d)) = joined.unwrap();
        assert_eq!(calls.load(Relaxed), 4);
        a || b || c || d
    });
}

/// The same as `join_once` where the owner must not help.
#[test]
fn join_parks() {
    both_ways(Model::new("join_parks").bound(2).floor(24_000), || {
        let second = Cell::default();
        let joined = with_others(1, |cx| {
            cx.scope_with(Wait::Park, |cx| {
                let second = &second;
                let body = move |cx: &mut Cxt<'_, '_>| {
                    second.set(2);
                    cx.worker() != OWNER
                };
                let stolen = cx.join(|_| (), body).1;
                assert_eq!(second.get(), 2);
                stolen
            })
        });
        joined.unwrap()
    });
}

/// The first half waits for a task that needs what the second half puts: the waiting owner may run
/// the second half itself, and must not run it again.
#[test]
fn join_helped() {
    both_ways(Model::new("join_helped").bound(1).floor(16_500), || {
        let (cell, calls) = (Ddf::new(), AtomicUsize::new(0));
        let joined = with_others(1, |cx| {
            let first = |cx: &mut Cxt<'_, '_>| {
                // A thief may take the second half now.
                loom::thread::yield_now();
                cx.scope(|cx| cx.spawn_when(&cell, |seen: &usize, _| assert_eq!(*seen, 3)));
            };
            let second = |cx: &mut Cxt<'_, '_>| {
                calls.fetch_add(1, Relaxed);
                assert!(cell.put(3).is_ok());
                cx.worker() != OWNER
            };
            cx.join(first, second).1
        });
        let stolen = joined.unwrap();
        assert_eq!(calls.load(Relaxed), 1);
        stolen
    });
}

/// A first half that waits for the second without helping.
fn blocks_for_second(cx: &mut Cxt<'_, '_>) {
    let second = Rendezvous::new();
    cx.join(|_| second.wait(1), |_| second.begin());
}

/// The first half waits for the second without helping: another worker steals it, although the
/// owner does nothing more. Inside another fork, so that there is something else to steal first.
#[test]
fn join_first_waits_for_second() {
    Model::new("join_first_waits_for_second")
        .bound(1)
        .floor(9_100)
        .check(|| {
            let joined = with_others(1, |cx| {
                cx.join(blocks_for_second, |_| ());
            });
            joined.unwrap();
        });
}

/// A fork is published and reclaimed while a thief that found nothing is about to park: the thief's
/// request is refused, since there are public tasks, but it finds none afterwards. It must still
/// obtain the owner's next fork.
#[test]
fn join_first_waits_again() {
    Model::new("join_first_waits_again")
        .bound(1)
        .floor(680)
        .check(|| {
            let pool = Pool::new(Machine::yielding(2), 2);
            let joined = with_others_of(pool, |cx| {
                // Past the thief's last search before it parks.
                loom::thread::yield_now();
                loom::thread::yield_now();
                cx.join(|_| loom::thread::yield_now(), |_| ());
                blocks_for_second(cx);
            });
            joined.unwrap();
        });
}
