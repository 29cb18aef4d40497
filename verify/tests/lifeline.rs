//! Models of the words of `tautline_core::lifeline` and of the workers that use them
//! (Finnerty 2022, V1 to V4).
#![cfg(tautline_loom)]

use loom::sync::Notify;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use std::task::{Wake, Waker};
use tautline_core::WorkerId;
use tautline_core::deque::Inbox;
use tautline_core::lifeline::{Crew, Gate, Mailbox, Reserve, Traffic};
use tautline_core::sync::Permit;
use tautline_verify::model::{Model, Turns};

const WAIT: Turns = Turns(2);

fn add(there: &mut usize, more: usize) {
    *there += more;
}

/// V1: two feeders and a taker. No unit is lost or duplicated; both feeders may observe the flag.
#[test]
fn reserve_feed_take() {
    Model::new("reserve_feed_take")
        .bound(3)
        .floor(500)
        .check(|| {
            let reserve = Arc::new(Reserve::new());
            let feeders: Vec<_> = [1, 2]
                .map(|units| {
                    let reserve = Arc::clone(&reserve);
                    thread::spawn(move || {
                        let fed = reserve.is_empty();
                        if fed {
                            reserve.feed(units, add, &WAIT);
                        }
                        if fed { units } else { 0 }
                    })
                })
                .into();
            let mut taken = reserve.take(|_| None, &WAIT).unwrap_or(0);
            let fed: usize = feeders.into_iter().map(|f| f.join().unwrap()).sum();
            let left = reserve.take(|_| None, &WAIT).unwrap_or(0);
            assert!(reserve.is_empty());
            taken += left;
            assert_eq!(taken, fed, "units lost or duplicated");
        });
}

/// A thief's portion and a worker's take share the pile between them.
#[test]
fn reserve_take_part() {
    Model::new("reserve_take_part").floor(9).check(|| {
        let reserve = Arc::new(Reserve::new());
        reserve.feed(3, add, &WAIT);
        let theirs = Arc::clone(&reserve);
        let thief = thread::spawn(move || {
            let part = |pile: &mut usize| (*pile > 1).then(|| (*pile -= 1, 1).1);
            theirs.take(part, &WAIT).unwrap_or(0)
        });
        let taken = if reserve.is_empty() {
            0
        } else {
            reserve.take(|_| None, &WAIT).unwrap_or(0)
        };
        let stolen = thief.join().unwrap();
        // The lock of a reserve whose flag is `empty` is not acquired.
        let left = if reserve.is_empty() {
            None
        } else {
            reserve.take(|_| None, &WAIT)
        };
        assert_eq!(taken + stolen + left.unwrap_or(0), 3);
    });
}

/// A feeder, a thread that takes a part and one that takes all: the counts record what happened.
#[test]
fn reserve_traffic() {
    Model::new("reserve_traffic").floor(10_000).check(|| {
        let reserve = Arc::new(Reserve::new());
        reserve.feed(1, add, &WAIT);
        let theirs = Arc::clone(&reserve);
        let feeder = thread::spawn(move || theirs.feed(1, add, &WAIT));
        let theirs = Arc::clone(&reserve);
        let thief = thread::spawn(move || {
            let mut leaves_some = false;
            let part = |pile: &mut usize| {
                leaves_some = *pile > 1;
                leaves_some.then(|| (*pile -= 1, 1).1)
            };
            let taken = theirs.take(part, &WAIT);
            (taken, leaves_some)
        });
        let first = reserve.take(|_| None, &WAIT);
        feeder.join().unwrap();
        let (second, leaves_some) = thief.join().unwrap();
        let third = reserve.take(|_| None, &WAIT);
        assert_eq!(reserve.take(|_| None, &WAIT), None);
        let takes: Vec<_> = [first, second, third].into_iter().flatten().collect();
        assert_eq!(takes.iter().sum::<usize>(), 2);
        let reserve = Arc::into_inner(reserve).expect("all have ended");
        let split = takes.len() as u64;
        let happened = Traffic {
            fed: 2,
            split,
            emptied: split - u64::from(leaves_some),
        };
        assert_eq!(reserve.into_inner().1, happened);
    });
}

/// V3: two threads have work for an idle worker; one of them starts it.
#[test]
fn crew_claim_once() {
    Model::new("crew_claim_once").floor(3).check(|| {
        let crew = Arc::new(Crew::new(1));
        let theirs = Arc::clone(&crew);
        let other = thread::spawn(move || theirs.claim(WorkerId(0)).is_some());
        let mine = crew.claim(WorkerId(0)).is_some();
        assert!(
            mine ^ other.join().unwrap(),
            "a worker was started twice, or not at all"
        );
        assert_eq!(crew.running(), 1);
    });
}

/// The thread that claims an idle worker observes the writes of that worker before it became idle.
#[test]
fn crew_claim_sees_leaver() {
    Model::new("crew_claim_sees_leaver").floor(3).check(|| {
        let scene = Arc::new((Crew::new(2), AtomicUsize::new(0)));
        let me = scene.0.claim(WorkerId(0)).expect("all idle");
        scene.0.claim(WorkerId(1)).expect("one idle");
        let theirs = Arc::clone(&scene);
        let leaver = thread::spawn(move || {
            theirs.1.store(1, Relaxed);
            theirs.0.leave(WorkerId(1));
        });
        if scene.0.claim(me).is_some() {
            assert_eq!(
                scene.1.load(Relaxed),
                1,
                "claimed, but its bag is not visible"
            );
        }
        leaver.join().unwrap();
    });
}

/// Two workers set work aside and leave; the last one to leave sees it.
#[test]
fn crew_last_sees_all() {
    Model::new("crew_last_sees_all").floor(4).check(|| {
        let scene = Arc::new((Crew::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)]));
        for _ in 0..2 {
            scene.0.claim(WorkerId(0)).expect("idle");
        }
        let leave = |scene: &(Crew, [AtomicUsize; 2]), me: usize| {
            scene.1[me].store(1, Relaxed);
            let last = scene.0.leave(WorkerId(me as u32));
            if last {
                let seen: usize = scene.1.iter().map(|w| w.load(Relaxed)).sum();
                assert_eq!(seen, 2, "the last to leave misses what the other set aside");
            }
            usize::from(last)
        };
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || leave(&theirs, 1));
        let lasts = leave(&scene, 0) + other.join().unwrap();
        assert_eq!(lasts, 1, "not exactly one was the last");
    });
}

/// A message and a worker that becomes idle: the worker observes the message or the sender observes
/// the worker.
#[test]
fn crew_doorbell() {
    Model::new("crew_doorbell").floor(10).check(|| {
        let scene = Arc::new((Crew::new(1), Inbox::new()));
        scene.0.claim(WorkerId(0)).expect("idle");
        let theirs = Arc::clone(&scene);
        let worker = thread::spawn(move || {
            let (crew, inbox) = &*theirs;
            crew.leave(WorkerId(0));
            while inbox.pop(&WAIT).is_none() {
                thread::park();
            }
        });
        let (crew, inbox) = &*scene;
        inbox.push((), &WAIT);
        if crew.any_idle().is_some() {
            worker.thread().unpark();
        }
        // A worker that sleeps on is a deadlock, which loom reports.
        worker.join().unwrap();
    });
}

/// V4: a worker yields and wakes the server thread, which serves; another activity may end
/// concurrently and release the worker early. No thread sleeps for ever.
#[test]
fn gate_server() {
    Model::new("gate_server").bound(3).floor(100).check(|| {
        let scene = Arc::new((Gate::new(), Permit::new(), AtomicUsize::new(0)));
        let server = {
            let scene = Arc::clone(&scene);
            let worker = thread::current();
            thread::spawn(move || {
                let (gate, called, served) = &*scene;
                while !called.try_take() {
                    thread::park();
                }
                served.fetch_add(1, Relaxed);
                if gate.release() == Some(WorkerId(0)) {
                    worker.unpark();
                }
            })
        };
        let other = {
            let scene = Arc::clone(&scene);
            let worker = thread::current();
            thread::spawn(move || {
                scene.2.fetch_add(1, Relaxed);
                if scene.0.release() == Some(WorkerId(0)) {
                    worker.unpark();
                }
            })
        };
        let (gate, called, served) = &*scene;
        assert!(gate.try_hold(WorkerId(0)), "no other worker yields");
        called.give();
        server.thread().unpark();
        while gate.is_held_by(WorkerId(0)) {
            thread::park();
        }
        assert!(
            served.load(Relaxed) >= 1,
            "released, but what was served is not visible"
        );
        server.join().unwrap();
        other.join().unwrap();
    });
}

/// A worker that is released observes what was served, without any parking.
#[test]
fn gate_seen() {
    Model::new("gate_seen").floor(2).check(|| {
        let scene = Arc::new((Gate::new(), AtomicUsize::new(0)));
        assert!(scene.0.try_hold(WorkerId(0)));
        let theirs = Arc::clone(&scene);
        let worker = thread::spawn(move || {
            if !theirs.0.is_held_by(WorkerId(0)) {
                assert_eq!(
                    theirs.1.load(Relaxed),
                    1,
                    "released, but what was served is not visible"
                );
            }
        });
        scene.1.store(1, Relaxed);
        assert_eq!(scene.0.release(), Some(WorkerId(0)));
        worker.join().unwrap();
    });
}

/// The gate holds at most one worker, and the end of an activity releases it.
#[test]
fn gate_one_at_a_time() {
    Model::new("gate_one_at_a_time").floor(4).check(|| {
        let gate = Arc::new(Gate::new());
        let theirs = Arc::clone(&gate);
        let other = thread::spawn(move || theirs.try_hold(WorkerId(1)));
        let mine = gate.try_hold(WorkerId(0));
        let other = other.join().unwrap();
        assert!(mine ^ other, "not exactly one yielded");
        assert_eq!(gate.release(), Some(WorkerId(u32::from(other))));
        assert_eq!(gate.release(), None);
    });
}

/// A task that sleeps.
struct Sleeper(Notify);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// A message arrives while the last worker that attends retires: that worker takes it, or the task
/// is woken, which takes it. One that is left is a deadlock, which loom reports.
#[test]
fn mailbox_retired() {
    Model::new("mailbox_retired")
        .bound(2)
        .floor(3_900)
        .check(|| {
            let scene = Arc::new((Mailbox::default(), AtomicUsize::new(0)));
            let take = |(mailbox, taken): &(Mailbox<u8>, AtomicUsize)| {
                if let Some(message) = mailbox.pop(&WAIT) {
                    assert_eq!(
                        (message, taken.fetch_add(1, Relaxed)),
                        (7, 0),
                        "taken twice"
                    );
                    mailbox.wake(&WAIT);
                }
            };
            scene.0.attend(&WAIT);
            let sends = Arc::clone(&scene);
            let sends = thread::spawn(move || sends.0.push(7, &WAIT));
            let attends = Arc::clone(&scene);
            let attends = thread::spawn(move || {
                take(&attends);
                attends.0.retire(&WAIT);
            });
            let sleeper = Arc::new(Sleeper(Notify::new()));
            let waker = Waker::from(Arc::clone(&sleeper));
            loop {
                scene.0.register(&waker, &WAIT);
                take(&scene);
                if scene.1.load(Relaxed) == 1 {
                    break;
                }
                sleeper.0.wait();
            }
            sends.join().unwrap();
            attends.join().unwrap();
        });
}
