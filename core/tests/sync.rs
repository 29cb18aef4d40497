//! Locks and fences under real threads.
#![cfg(not(tautline_loom))]

use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, Ordering::Relaxed};
use std::task::{Wake, Waker};
use tautline_core::port::Spin;
use tautline_core::sync::{Lock, Probe, full_fence, note};

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

/// Two threads each raise a flag and then read the other's: with a full fence at least one of them
/// observes the other.
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
    assert!(
        !misses.iter().any(both),
        "neither thread observed the other"
    );
}

/// A word without synchronization of its own.
struct Plain(UnsafeCell<u64>);

// SAFETY: each test states what orders the accesses; those that are ignored contain a deliberate
// race.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self) {
        // SAFETY: the word is alive; see `Sync` for the ordering.
        unsafe { self.0.get().write_volatile(self.get() + 1) };
    }

    fn get(&self) -> u64 {
        // SAFETY: the word is alive; see `Sync` for the ordering.
        unsafe { self.0.get().read_volatile() }
    }
}

/// A fence before the store and one after the load order the accesses around them. ThreadSanitizer
/// must agree.
#[test]
fn full_fences_publish() {
    let (word, there) = (Plain::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            word.add();
            full_fence();
            there.store(true, Ordering::Relaxed);
        });
        while !there.load(Ordering::Relaxed) {
            spin_loop();
        }
        full_fence();
        assert_eq!(word.get(), 1);
    });
}

/// A race that `cargo ci tsan` must detect, as a check of the sanitizer.
#[test]
#[ignore = "cargo ci tsan: a race on purpose"]
fn a_race_for_the_sanitizer() {
    let word = Plain::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1000).for_each(|_| word.add()));
        }
    });
}

/// The fences are on the wrong side of the store and of the load: they order nothing, and must not
/// hide the race. The sanitizer may miss it in one round, since it records only a few accesses per
/// word.
#[test]
#[ignore = "cargo ci tsan: a race on purpose"]
fn a_race_beside_fences_for_the_sanitizer() {
    for _ in 0..100 {
        let (word, there) = (Plain::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                full_fence();
                there.store(true, Ordering::Relaxed);
                word.add();
            });
            full_fence();
            while !there.load(Ordering::Relaxed) {
                spin_loop();
            }
            black_box(word.get());
        });
    }
}

/// An error that `cargo ci asan` must detect, as a check of the sanitizer.
#[test]
#[ignore = "cargo ci asan: a use after free on purpose"]
fn a_use_after_free_for_the_sanitizer() {
    let word = black_box(Box::new(7_u64));
    let freed = &raw const *word;
    drop(word);
    // SAFETY: violated on purpose: the box was freed.
    black_box(unsafe { freed.read_volatile() });
}

/// An error that `cargo ci asan` must detect, as a check of the sanitizer.
#[test]
#[ignore = "cargo ci asan: a read out of bounds on purpose"]
fn a_read_out_of_bounds_for_the_sanitizer() {
    let words = black_box(vec![7_u64; 4]);
    // SAFETY: violated on purpose: there are only four words.
    black_box(unsafe { words.as_ptr().add(4).read_volatile() });
}

/// Counts its wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A future may keep the waker of a probe: it wakes the task, and outlives the probe's other
/// owners.
#[test]
fn a_probe_wakes_its_task_and_takes_notes() {
    let woken = Arc::new(Woken::default());
    let task = Waker::from(Arc::clone(&woken));
    let site = Location::caller();
    note(&task, "a task's own waker takes no note", Some(site));
    let probe = Probe::new(&task);
    let waker = probe.waker();
    note(&waker, "a cell", Some(site));
    note(&waker.clone(), "a phase", None);
    assert_eq!(probe.take(), [("a cell", Some(site)), ("a phase", None)]);
    assert_eq!(probe.take(), []);
    drop(probe);
    note(&waker, "a note after the probe was dropped", None);
    waker.wake_by_ref();
    let other = waker.clone();
    waker.wake();
    drop(other);
    assert_eq!(woken.0.load(Relaxed), 2);
    drop(task);
    assert_eq!(Arc::strong_count(&woken), 1);
}
