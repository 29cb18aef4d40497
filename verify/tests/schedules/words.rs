//! Lock, permit and counter.

use shuttle::thread;
use std::cell::RefCell;
use std::rc::Rc;
use tautline_core::finish::{Counter, End};
use tautline_core::port::{Relax, Spin};
use tautline_core::sync::{
    Access, AtomicBool, AtomicUsize, Lock, Ordering, Permit, full_fence, watch,
};
use tautline_verify::schedules::{Schedules, schedules};

#[test]
fn lock_loses_no_update() {
    schedules("lock_loses_no_update", 5_000, || {
        let lock = Lock::new(0);
        let add = || {
            for _ in 0..3 {
                let mut value = lock.lock(&Spin);
                let seen = *value;
                *value = seen + 1;
            }
        };
        thread::scope(|scope| {
            for _ in 1..6 {
                scope.spawn(add);
            }
            add();
        });
        assert_eq!(lock.into_inner(), 18);
    });
}

/// A thread that takes a permit too early is given another one; a lost permit is a wait without
/// end.
#[test]
fn no_permit_is_lost() {
    schedules("no_permit_is_lost", 5_000, || {
        let (permit, given) = (Permit::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| {
                    given.fetch_add(1, Ordering::Relaxed);
                    permit.give();
                });
            }
            while given.load(Ordering::Relaxed) < 5 {
                let mut turn = 0;
                while !permit.try_take() {
                    Spin.relax(turn);
                    turn += 1;
                }
            }
        });
    });
}

#[test]
fn one_end_is_the_last() {
    schedules("one_end_is_the_last", 5_000, || {
        let (counter, last) = (Counter::new(), AtomicUsize::new(0));
        let end = || {
            if counter.end() != End::More {
                last.fetch_add(1, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                counter.spawn();
                scope.spawn(end);
            }
            end();
        });
        assert!(counter.is_done());
        assert_eq!(last.load(Ordering::Relaxed), 1, "more than one last end");
    });
}

/// Every access is reported to the observer, with its kind, at the address of the word, in the
/// order of the program.
#[test]
fn accesses_are_watched() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (word, flag) = (AtomicUsize::new(1), AtomicBool::new(false));
    let at = [
        std::ptr::from_ref(&word).addr(),
        std::ptr::from_ref(&flag).addr(),
    ];
    let log = Rc::clone(&seen);
    let watch = watch(move |address, access| log.borrow_mut().push((address, access)));
    word.store(2, Ordering::Relaxed);
    full_fence();
    assert!(!flag.swap(true, Ordering::AcqRel));
    assert_eq!(word.load(Ordering::Relaxed), 2);
    drop(watch);
    word.store(3, Ordering::Relaxed);
    assert_eq!(
        *seen.borrow(),
        [
            (at[0], Access::Store),
            (0, Access::Fence),
            (at[1], Access::Update),
            (at[0], Access::Load),
        ]
    );
    // A schedule between the two stores: each fence is a scheduling point.
    let found = Schedules::new("accesses_are_watched")
        .count(1_000)
        .find(|| {
            let flag = std::sync::atomic::AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| flag.store(true, Ordering::Relaxed));
                let before = flag.load(Ordering::Relaxed);
                full_fence();
                assert_eq!(before, flag.load(Ordering::Relaxed));
            });
        });
    assert!(found.is_some(), "no other task runs at a fence");
}
