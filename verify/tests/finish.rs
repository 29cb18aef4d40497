//! Models of `tautline_core::finish::Counter` (Finnerty 2022, V7, one memory).
#![cfg(tautline_loom)]

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::finish::Counter;
use tautline_verify::model::Model;

/// What the activities did, and how often somebody was told to be the last.
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
        if self.finish.end() {
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

/// An owner that only looks sees everything once it is told that all has ended.
#[test]
fn finish_owner_looks() {
    Model::new("finish_owner_looks").floor(3).check(|| {
        let scene = Scene::new();
        scene.finish.spawn();
        let theirs = Arc::clone(&scene);
        let activity = thread::spawn(move || {
            theirs.work[0].store(1, Relaxed);
            theirs.finish.end();
        });
        scene.finish.end();
        if scene.finish.is_done() {
            assert_eq!(
                scene.work[0].load(Relaxed),
                1,
                "done, but the work is not to be seen"
            );
        }
        activity.join().unwrap();
    });
}
