//! Locks and fences under real threads.
#![cfg(not(tautline_loom))]

use std::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::port::Spin;
use tautline_core::sync::{Lock, full_fence};

#[test]
fn lock_refuses_while_held_and_gives_the_value_back() {
    let lock = Lock::new(1);
    let guard = lock.try_lock().expect("the lock is free");
    assert!(lock.try_lock().is_none());
    drop(guard);
    *lock.lock(&Spin) += 1;
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn lock_loses_no_update() {
    const ROUNDS: usize = 10_000;
    let lock = Lock::new(0_usize);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *lock.lock(&Spin) += 1;
                }
            });
        }
    });
    assert_eq!(lock.into_inner(), 3 * ROUNDS);
}

/// Two threads raise a flag each, then look at the other's: with a full fence one of them sees it.
#[test]
fn full_fence_forbids_store_buffering() {
    const ROUNDS: usize = 1_000;
    let flags = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let misses: Vec<_> = (0..=ROUNDS).map(|_| AtomicUsize::new(0)).collect();
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for me in 0..2 {
            let (flags, misses, start) = (&flags, &misses, &start);
            scope.spawn(move || {
                for (round, misses) in misses.iter().enumerate() {
                    start.wait();
                    flags[me].store(round + 1, Ordering::Relaxed);
                    full_fence();
                    let missed = flags[1 - me].load(Ordering::Relaxed) <= round;
                    misses.fetch_add(usize::from(missed), Ordering::Relaxed);
                }
            });
        }
    });
    let both = |misses: &AtomicUsize| misses.load(Ordering::Relaxed) == 2;
    assert!(!misses.iter().any(both), "both threads missed the other");
}
