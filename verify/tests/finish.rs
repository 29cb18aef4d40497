//! Models of `tautline_core::finish::Counter` (Finnerty 2022, V7, one memory).
#![cfg(tautline_loom)]

use loom::sync::Notify;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use tautline_core::finish::{Counter, End};
use tautline_verify::model::Model;

/// The effects of the activities, and the number of threads that learned that they were the last.
struct Scene {
    finish: Counter,
    work: [AtomicUsize; 3],
    lasts: AtomicUsize,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            finish: Counter::new(),
            work: std::array::from_fn(|_| AtomicUsize::new(0)),
            lasts: AtomicUsize::new(0),
        })
    }

    /// Ends one activity; the last must see the work of `expected` activities.
    fn end(&self, expected: usize) {
        if self.finish.end() != End::More {
            self.lasts.fetch_add(1, Relaxed);
            let seen: usize = self.work.iter().map(|w| w.load(Relaxed)).sum();
            assert_eq!(seen, expected, "the last to end misses what another did");
        }
    }
}

#[test]
fn finish_two_activities() {
    Model::new("finish_two_activities").floor(20).check(|| {
        let scene = Scene::new();
        let activities: Vec<_> = (0..2)
            .map(|i| {
                scene.finish.spawn();
                let scene = Arc::clone(&scene);
                thread::spawn(move || {
                    scene.work[i].store(1, Relaxed);
                    scene.end(2);
                })
            })
            .collect();
        scene.end(2);
        activities.into_iter().for_each(|a| a.join().unwrap());
        assert_eq!(scene.lasts.load(Relaxed), 1, "ended not exactly once");
        assert!(scene.finish.is_done());
    });
}

/// An activity that spawns another one keeps the finish open for it.
#[test]
fn finish_nested() {
    Model::new("finish_nested").floor(20).check(|| {
        let scene = Scene::new();
        scene.finish.spawn();
        let outer = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.finish.spawn();
                let inner = {
                    let scene = Arc::clone(&scene);
                    thread::spawn(move || {
                        scene.work[1].store(1, Relaxed);
                        scene.end(2);
                    })
                };
                scene.work[0].store(1, Relaxed);
                scene.end(2);
                inner.join().unwrap();
            })
        };
        scene.end(2);
        outer.join().unwrap();
        assert_eq!(scene.lasts.load(Relaxed), 1, "ended not exactly once");
    });
}

/// An owner that only polls observes everything once all activities have ended.
#[test]
fn finish_owner_looks() {
    Model::new("finish_owner_looks").floor(3).check(|| {
        let scene = Scene::new();
        scene.finish.spawn();
        let theirs = Arc::clone(&scene);
        let activity = thread::spawn(move || {
            theirs.work[0].store(1, Relaxed);
            let _ = theirs.finish.end();
        });
        let _ = scene.finish.end();
        if scene.finish.is_done() {
            assert_eq!(
                scene.work[0].load(Relaxed),
                1,
                "done, but the work is not visible"
            );
        }
        activity.join().unwrap();
    });
}

/// The owner parks while the last activities end: it is notified if and only if it sleeps, and
/// observes what they did.
fn sleeps(activities: usize) {
    let scene = Arc::new((Scene::new(), Notify::new(), AtomicUsize::new(0)));
    let tell = |all: &(Arc<Scene>, Notify, AtomicUsize)| match all.0.finish.end() {
        End::More => {}
        End::Last => {
            all.0.lasts.fetch_add(1, Relaxed);
        }
        End::Wake => {
            all.0.lasts.fetch_add(1, Relaxed);
            all.2.fetch_add(1, Relaxed);
            all.1.notify();
        }
    };
    let others: Vec<_> = (0..activities)
        .map(|i| {
            scene.0.finish.spawn();
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.0.work[i].store(1, Relaxed);
                tell(&scene);
            })
        })
        .collect();
    tell(&scene);
    let asleep = scene.0.finish.sleep();
    if asleep {
        // Loom reports a deadlock if no thread is notified.
        while !scene.0.finish.is_done() {
            scene.1.wait();
        }
    }
    let seen: usize = scene.0.work.iter().map(|w| w.load(Relaxed)).sum();
    assert_eq!(seen, activities, "done, but the work is not visible");
    others.into_iter().for_each(|o| o.join().unwrap());
    assert_eq!(scene.0.lasts.load(Relaxed), 1, "ended not exactly once");
    let notified = scene.2.load(Relaxed) == 1;
    assert_eq!(notified, asleep, "notified if and only if asleep");
}

#[test]
fn finish_sleep() {
    Model::new("finish_sleep").floor(40).check(|| sleeps(1));
}

#[test]
fn finish_sleep_two() {
    Model::new("finish_sleep_two")
        .floor(8_000)
        .check(|| sleeps(2));
}

/// A counter that its owner may destroy as soon as it is done.
struct Shelf(UnsafeCell<MaybeUninit<Counter>>);

// SAFETY: the owner writes only when the counter is done.
unsafe impl Sync for Shelf {}
// SAFETY: as above.
unsafe impl Send for Shelf {}

const _: () = assert!(size_of::<Counter>() == size_of::<loom::sync::atomic::AtomicUsize>());

/// The last to end does not touch the counter once the owner may have destroyed it (published bug:
/// rayon#1297).
#[test]
fn finish_gone() {
    Model::new("finish_gone").floor(8).check(|| {
        let shelf = Arc::new(Shelf(UnsafeCell::new(MaybeUninit::new(Counter::new()))));
        let counter = |shelf: &Shelf| -> *const Counter { shelf.0.get().cast() };
        // SAFETY: alive until it is done.
        unsafe { (*counter(&shelf)).spawn() };
        let theirs = Arc::clone(&shelf);
        let activity = thread::spawn(move || {
            // SAFETY: alive until this activity, too, has ended.
            let _ = unsafe { (*counter(&theirs)).end() };
        });
        // SAFETY: the owner itself destroys it.
        let counter = unsafe { &*counter(&shelf) };
        if counter.end() != End::More || counter.is_done() {
            let word = shelf.0.get().cast::<loom::sync::atomic::AtomicUsize>();
            // Loom takes it for a write, which no access may follow.
            // SAFETY: all that were counted have ended; a counter is one word.
            unsafe { (*word).with_mut(|_| ()) };
        }
        activity.join().unwrap();
    });
}

/// An owner that counts what it spawns by itself, until it settles; one activity spawns another
/// one. `looks`: whether it polls, before, if it may.
fn reserved(looks: bool) {
    let scene = Arc::new(Scene {
        finish: Counter::reserved(),
        work: std::array::from_fn(|_| AtomicUsize::new(0)),
        lasts: AtomicUsize::new(0),
    });
    let theirs = Arc::clone(&scene);
    let activity = thread::spawn(move || {
        theirs.work[1].store(1, Relaxed);
        theirs.finish.spawn();
        theirs.end(3);
        theirs.work[2].store(1, Relaxed);
        theirs.end(3);
    });
    scene.work[0].store(1, Relaxed);
    if (looks && scene.finish.would_settle(1)) || scene.finish.settle(1) {
        scene.lasts.fetch_add(1, Relaxed);
        let seen: usize = scene.work.iter().map(|w| w.load(Relaxed)).sum();
        assert_eq!(seen, 3, "all has ended, but the work is not visible");
    }
    activity.join().unwrap();
    assert_eq!(scene.lasts.load(Relaxed), 1, "ended not exactly once");
}

#[test]
fn finish_reserved() {
    for (name, looks) in [("finish_reserved", false), ("finish_reserved_looks", true)] {
        Model::new(name).floor(6).check(move || reserved(looks));
    }
}
