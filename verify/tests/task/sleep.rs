//! Workers that search, park and are woken: no work is left while a worker is parked.
//!
//! Each worker takes one item and returns, as if the item took for ever. So every item needs a
//! separate worker, and a lost wake-up is a deadlock.

use super::machine::Parker;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use tautline_core::WorkerId;
use tautline_core::deque::split::{Pushed, Refused};
use tautline_core::deque::{SplitDeque, Steal};
use tautline_core::sync::full_fence;
use tautline_core::task::Idle;
use tautline_verify::model::Model;

/// The steps of `Worker::search` and `Worker::offer`, without tasks.
struct Hall {
    idle: Idle,
    /// One per poster.
    deques: Vec<SplitDeque<NonZeroUsize, 4>>,
    parkers: Vec<Parker>,
}

impl Hall {
    fn new(posters: usize, workers: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle::new(workers),
            deques: (0..posters).map(|_| SplitDeque::new()).collect(),
            parkers: (0..workers).map(|_| Parker::default()).collect(),
        })
    }

    fn post(&self, poster: usize, items: usize) {
        let owner = self.deques[poster].owner().expect("one poster a deque");
        for item in 1..=items {
            let item = NonZeroUsize::new(item).unwrap();
            owner.push_public(item).expect("there is room");
            if self.idle.wanted() {
                self.wake();
            }
        }
    }

    /// Posts privately: a thief that precedes the post sees only the first item.
    fn post_private(&self, items: Range<usize>) {
        let owner = self.deques[0].owner().expect("one poster a deque");
        for item in items {
            let pushed = owner.push(NonZeroUsize::new(item).unwrap());
            if pushed == Ok(Pushed::Published) && self.idle.wanted() {
                self.wake();
            }
        }
    }

    /// As `Worker::raid`, with one poster.
    fn raid(&self) -> bool {
        match self.deques[0].request() {
            Ok(request) => {
                full_fence();
                // SAFETY: fenced since the request.
                unsafe { request.settle() }
            }
            Err(refused) => refused == Refused::Public,
        }
    }

    fn wake(&self) {
        let workers = (0..self.parkers.len()).map(|w| WorkerId(w as u32));
        for worker in workers {
            if self.idle.claim(worker) {
                return self.parkers[worker.index()].wake();
            }
        }
    }

    fn rob(&self) -> bool {
        self.deques.iter().any(|deque| {
            loop {
                match deque.steal() {
                    Steal::Taken(_) => return true,
                    Steal::Busy => {}
                    Steal::Empty => return false,
                }
            }
        })
    }

    /// Parks a worker that has announced its sleep, unless there is an item.
    fn sleep(&self, me: WorkerId, is_item: bool) {
        let stay = !is_item && !self.deques.iter().any(SplitDeque::look);
        while self.idle.is_asleep(me) {
            if !stay && self.idle.claim(me) {
                break;
            }
            self.parkers[me.index()].sleep();
        }
    }

    /// Searches and parks until there is an item.
    fn seek(&self, me: WorkerId) {
        self.idle.search();
        self.search(me, || false);
    }

    /// Searches until an item is found. Before the final check, `raid` may report one.
    fn search(&self, me: WorkerId, raid: impl Fn() -> bool) {
        while !self.rob() {
            self.idle.announce_sleep(me);
            self.sleep(me, raid());
        }
        if self.idle.found() {
            self.wake();
        }
    }
}

/// Runs posters on separate threads, but for the first; as many workers as items.
fn all_find_one(posters: usize, items: usize) {
    let hall = Hall::new(posters, posters * items);
    let mut threads = Vec::new();
    for w in 0..posters * items {
        let hall = Arc::clone(&hall);
        threads.push(thread::spawn(move || hall.seek(WorkerId(w as u32))));
    }
    for poster in 1..posters {
        let hall = Arc::clone(&hall);
        threads.push(thread::spawn(move || hall.post(poster, items)));
    }
    hall.post(0, items);
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert!(!hall.rob(), "an item too many");
}

/// One poster, one sleeper: the announcement of the sleep against the offer (published bug:
/// weave#43, rayon#746).
#[test]
fn sleep_no_lost_wakeup() {
    Model::new("sleep_no_lost_wakeup")
        .floor(1_000)
        .check(|| all_find_one(1, 1));
}

/// Two items at once, two workers: a searcher keeps the poster from waking the other worker, and
/// must do so itself when it finds an item.
#[test]
fn sleep_chain() {
    Model::new("sleep_chain")
        .bound(2)
        .floor(50_000)
        .check(|| all_find_one(1, 2));
}

/// Two posters, two workers.
#[test]
fn sleep_two_posters() {
    Model::new("sleep_two_posters")
        .bound(1)
        .floor(5_000)
        .check(|| all_find_one(2, 1));
}

/// An owner answers a request with half of its items and posts no more, and another thread, which
/// was never counted as a searcher, takes that half. Of two workers that announce their sleep
/// concurrently, one request refused and one answered, one stays awake for the other half, and
/// wakes the other.
#[test]
fn sleep_raids() {
    Model::new("sleep_raids").bound(2).floor(350_000).check(|| {
        let hall = Hall::new(1, 2);
        hall.post_private(1..2);
        let (first, second) = (WorkerId(0), WorkerId(1));
        (0..2).for_each(|_| hall.idle.search());
        hall.idle.announce_sleep(first);
        let workers = [first, second].map(|me| {
            let hall = Arc::clone(&hall);
            thread::spawn(move || {
                if me != first {
                    hall.idle.announce_sleep(me);
                }
                hall.sleep(me, hall.raid());
                hall.search(me, || hall.raid());
            })
        });
        hall.post_private(2..4);
        _ = hall.rob();
        workers.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// A worker that is woken before it has parked takes one of two items while the other worker is
/// parked: the woken one is counted as a searcher by then, so that either it or a poster wakes the
/// other.
#[test]
fn sleep_counted() {
    Model::new("sleep_counted")
        .bound(3)
        .floor(65_000)
        .check(|| {
            let hall = Hall::new(2, 2);
            let (woken, other) = (WorkerId(0), WorkerId(1));
            for worker in [woken, other] {
                hall.idle.search();
                hall.idle.announce_sleep(worker);
            }
            let theirs = Arc::clone(&hall);
            let worker = thread::spawn(move || {
                while theirs.idle.is_asleep(woken) {
                    theirs.parkers[woken.index()].sleep();
                }
                while !theirs.rob() {
                    thread::yield_now();
                }
                if theirs.idle.found() {
                    theirs.wake();
                }
            });
            let theirs = Arc::clone(&hall);
            let poster = thread::spawn(move || theirs.post(1, 1));
            hall.post(0, 1);
            worker.join().unwrap();
            poster.join().unwrap();
            assert!(
                !hall.idle.is_asleep(other),
                "an item is left, and a worker sleeps"
            );
        });
}

/// Q1, Q3: the claimer of a sleeper observes what that did before, and the sleeper what the claimer
/// did; it may claim itself.
#[test]
fn sleep_claim() {
    Model::new("sleep_claim").floor(100).check(|| {
        let me = WorkerId(0);
        let scene = Arc::new((Idle::new(1), AtomicUsize::new(0), AtomicUsize::new(0)));
        let theirs = Arc::clone(&scene);
        let claimer = thread::spawn(move || {
            theirs.2.store(1, Relaxed);
            let claimed = theirs.0.claim(me);
            if claimed {
                assert_eq!(
                    theirs.1.load(Relaxed),
                    1,
                    "asleep, but its earlier writes are not visible"
                );
            }
            claimed
        });
        let (idle, before, cause) = &*scene;
        idle.search();
        before.store(1, Relaxed);
        idle.announce_sleep(me);
        let woken = !idle.is_asleep(me);
        if woken {
            assert_eq!(
                cause.load(Relaxed),
                1,
                "woken, but the cause is not visible"
            );
            assert!(!idle.wanted(), "woken, but still counted as asleep");
        }
        let mine = idle.claim(me);
        let theirs = claimer.join().unwrap();
        assert!(!(mine && theirs), "claimed twice");
        assert!(!idle.wanted(), "no worker is parked");
        assert!(!idle.found(), "no worker is parked");
        idle.search();
        assert!(!idle.found(), "the counts are inconsistent");
    });
}
