//! Models of `tautline_core::sync`.
#![cfg(tautline_loom)]

use loom::thread;
use std::sync::Arc;
use tautline_core::sync::Lock;
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
