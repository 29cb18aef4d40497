//! Models of `tautline_core::sync`.
#![cfg(tautline_loom)]

use loom::thread::{self, Thread};
use std::sync::Arc;
use tautline_core::sync::{Lock, Permit};
use tautline_verify::model::{Model, Turns};

/// `threads` threads add 1 under the lock `rounds` times each.
fn count(threads: usize, rounds: usize) {
    let lock = Arc::new(Lock::new(0));
    let add = move |lock: &Lock<usize>| {
        for _ in 0..rounds {
            let mut value = lock.lock(&Turns(2));
            let seen = *value;
            *value = seen + 1;
        }
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock))
        })
        .collect();
    add(&lock);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(
        *lock.lock(&Turns(2)),
        threads * rounds,
        "an update was lost"
    );
}

#[test]
fn lock_two_threads() {
    Model::new("lock_two_threads")
        .floor(10)
        .check(|| count(2, 2));
}

#[test]
fn lock_three_threads() {
    Model::new("lock_three_threads")
        .bound(3)
        .floor(100)
        .check(|| count(3, 1));
}

/// A refused try_lock changes nothing; a granted one excludes.
#[test]
fn try_lock() {
    Model::new("try_lock").floor(5).check(|| {
        let lock = Arc::new(Lock::new(0));
        let theirs = Arc::clone(&lock);
        let other = thread::spawn(move || theirs.try_lock().map(|mut value| *value += 1).is_some());
        let mine = lock.try_lock().map(|mut value| *value += 1).is_some();
        let granted = usize::from(mine) + usize::from(other.join().unwrap());
        assert_eq!(*lock.try_lock().expect("all guards are gone"), granted);
        assert!(granted >= 1);
    });
}

/// A wake-up that comes before the sleep is not lost, and what came before it is seen.
#[test]
fn parking_sticky() {
    use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    Model::new("parking_sticky").floor(3).check(|| {
        let scene = Arc::new((Permit::new(), AtomicUsize::new(0)));
        let theirs = Arc::clone(&scene);
        let sleeper = thread::spawn(move || {
            while !theirs.0.try_take() {
                thread::park();
            }
            assert_eq!(
                theirs.1.load(Relaxed),
                1,
                "woken, but the cause is not visible"
            );
        });
        scene.1.store(1, Relaxed);
        scene.0.give();
        sleeper.thread().unpark();
        // A sleeper that sleeps on is a deadlock, which loom reports.
        sleeper.join().unwrap();
    });
}

/// Two threads unpark: the sleeper wakes at least once, and the permit is not left twice.
#[test]
fn parking_two_wakers() {
    Model::new("parking_two_wakers")
        .bound(3)
        .floor(20)
        .check(|| {
            let permit = Arc::new(Permit::new());
            let theirs = Arc::clone(&permit);
            let sleeper = thread::spawn(move || {
                while !theirs.try_take() {
                    thread::park();
                }
            });
            let waker = {
                let permit = Arc::clone(&permit);
                let sleeper = sleeper.thread().clone();
                thread::spawn(move || {
                    permit.give();
                    sleeper.unpark();
                })
            };
            permit.give();
            sleeper.thread().unpark();
            sleeper.join().unwrap();
            waker.join().unwrap();
            permit.try_take();
            assert!(!permit.try_take(), "a permit was there twice");
        });
}

/// A sleeper that spins on its permit sees what came before the wake-up, without any parking.
#[test]
fn parking_seen() {
    use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    Model::new("parking_seen").floor(2).check(|| {
        let scene = Arc::new((Permit::new(), AtomicUsize::new(0)));
        let theirs = Arc::clone(&scene);
        let waker = thread::spawn(move || {
            theirs.1.store(1, Relaxed);
            theirs.0.give();
        });
        if scene.0.try_take() {
            assert_eq!(
                scene.1.load(Relaxed),
                1,
                "woken, but the cause is not visible"
            );
        }
        waker.join().unwrap();
    });
}

/// Two wake-ups, each with a cause of its own; the owner sleeps until it has seen both.
#[test]
fn parking_two_causes() {
    use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    Model::new("parking_two_causes")
        .bound(3)
        .floor(100)
        .check(|| {
            let scene = Arc::new((Permit::new(), [AtomicUsize::new(0), AtomicUsize::new(0)]));
            let theirs = Arc::clone(&scene);
            let owner = thread::spawn(move || {
                let (permit, causes) = &*theirs;
                while causes.iter().any(|cause| cause.load(Relaxed) == 0) {
                    while !permit.try_take() {
                        thread::park();
                    }
                }
            });
            let wake = |(permit, causes): &(Permit, [AtomicUsize; 2]), i: usize, owner: &Thread| {
                causes[i].store(1, Relaxed);
                permit.give();
                owner.unpark();
            };
            let (theirs, sleeper) = (Arc::clone(&scene), owner.thread().clone());
            let waker = thread::spawn(move || wake(&theirs, 0, &sleeper));
            wake(&scene, 1, owner.thread());
            owner.join().unwrap();
            waker.join().unwrap();
        });
}
