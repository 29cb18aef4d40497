//! Models of `tautline_core::comm` (V9 and V10).
#![cfg(tautline_loom)]

#[path = "comm/direct.rs"]
mod direct;
#[path = "comm/turns.rs"]
mod turns;

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::sync::{Arc, Mutex};
use tautline_core::Rank;
use tautline_core::comm::*;
use tautline_core::machine::{Machine, Step};
use tautline_verify::model::Model;

const WORLD: CommId = CommId(0);

/// Ends sends at once, and receives never. Used by one thread at a time.
#[derive(Default)]
struct Instant {
    /// The tags of the sends, in order.
    sent: Vec<u32>,
}

/// A machine that the test inspects after the worker has moved.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Instant>>);

impl Shared {
    fn sent(&self) -> Vec<u32> {
        self.0.lock().unwrap().sent.clone()
    }

    fn send(&self, tag: Tag, body: &Body) -> Outcome {
        assert_eq!(*body, [tag.0 as u8], "the body that was submitted");
        self.0.lock().unwrap().sent.push(tag.0);
        Ok(Done::default())
    }

    fn worker(&self, bell: impl Fn() + Send + Sync + 'static) -> Worker<Self> {
        let carrier = Box::new(|_, ()| unreachable!("nothing is sent"));
        Worker::new(self.clone(), Box::new(()), carrier, Arc::new(bell))
    }
}

impl Machine for Shared {
    type Peer = Rank;
    type Message = ();
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Start(ticket, Operation::Send { tag, body, .. }) => {
                step.effect(Effect::Ended(ticket, self.send(tag, &body)));
            }
            Event::SendAtOnce { tag, body, .. } => {
                step.effect(Effect::AtOnce(self.send(tag, &body)));
            }
            _ => {}
        }
    }

    fn receive(&mut self, _: Rank, (): (), _: &mut Step<'_, Self>) -> Result<(), &'static str> {
        Err("nothing is sent")
    }
}

/// A value that loom checks: its accesses must not be concurrent.
#[derive(Default)]
struct Passed(UnsafeCell<usize>);

impl Passed {
    fn add(&self) {
        // SAFETY: loom checks that no access is concurrent.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    fn get(&self) -> usize {
        // SAFETY: loom checks that no access is concurrent.
        self.0.with(|value| unsafe { *value })
    }
}

// SAFETY: loom checks that no access is concurrent.
unsafe impl Sync for Passed {}
// SAFETY: a number.
unsafe impl Send for Passed {}

struct Scene {
    worker: Worker<Shared>,
    machine: Shared,
    ended: Arc<AtomicUsize>,
}

impl Scene {
    fn new() -> Self {
        let machine = Shared::default();
        Self {
            worker: machine.worker(|| ()),
            machine,
            ended: Arc::new(AtomicUsize::new(0)),
        }
    }

    fn submitter(&self) -> Submitter {
        Submitter {
            tasks: self.worker.tasks().clone(),
            ended: Arc::clone(&self.ended),
        }
    }

    /// Runs steps until `count` sends have ended.
    fn wait_for(&mut self, count: usize) {
        while self.ended.load(Relaxed) < count {
            if !self.worker.step() {
                thread::yield_now();
            }
        }
    }
}

/// Submits tasks that count their ends.
struct Submitter {
    tasks: Tasks,
    ended: Arc<AtomicUsize>,
}

impl Submitter {
    fn submit(&self, operation: Operation) -> Ticket {
        let ended = Arc::clone(&self.ended);
        let done = move |_: Outcome| _ = ended.fetch_add(1, Relaxed);
        self.tasks.submit(operation, Arc::new(done))
    }

    fn send(&self, tag: u32) -> Ticket {
        self.submit(send(tag))
    }

    fn receive(&self) -> Ticket {
        let pattern = Pattern::any(WORLD);
        self.submit(Operation::Receive {
            pattern,
            limit: 0,
            into: Body::default(),
        })
    }
}

fn send(tag: u32) -> Operation {
    Operation::Send {
        comm: WORLD,
        to: Rank(0),
        tag: Tag(tag),
        body: vec![tag as u8].into(),
    }
}

/// V10: two producers of two messages: each started once, those of a producer in its order.
#[test]
fn comm_producers() {
    Model::new("comm_producers")
        .bound(2)
        .floor(30_000)
        .check(|| {
            let mut scene = Scene::new();
            let producers = [10, 20].map(|first| {
                let own = scene.submitter();
                thread::spawn(move || {
                    own.send(first);
                    own.send(first + 1);
                })
            });
            scene.wait_for(4);
            producers.into_iter().for_each(|p| p.join().unwrap());
            let mut sent = scene.machine.sent();
            for first in [10, 20] {
                let at = |tag| sent.iter().position(|t| *t == tag).expect("it is sent");
                assert!(at(first) < at(first + 1), "{sent:?}");
            }
            sent.sort_unstable();
            assert_eq!(sent, [10, 11, 20, 21]);
            assert!(scene.worker.is_idle());
        });
}

/// V9: what the producer did before it submitted a task is visible to its completion.
#[test]
fn comm_prescribed() {
    Model::new("comm_prescribed").floor(6).check(|| {
        let mut scene = Scene::new();
        let passed = Arc::new(Passed::default());
        let (tasks, theirs) = (scene.worker.tasks().clone(), Arc::clone(&passed));
        let ended = Arc::clone(&scene.ended);
        let producer = thread::spawn(move || {
            theirs.add();
            let done = move |_: Outcome| {
                assert_eq!(theirs.get(), 1);
                ended.fetch_add(1, Relaxed);
            };
            tasks.submit(send(1), Arc::new(done));
        });
        scene.wait_for(1);
        producer.join().unwrap();
    });
}

/// V9: a slot is used again only after the completion of its task.
#[test]
fn comm_reuse() {
    Model::new("comm_reuse").floor(10).check(|| {
        let mut scene = Scene::new();
        let completed = Arc::new(Passed::default());
        let theirs = Arc::clone(&completed);
        let tasks = scene.worker.tasks().clone();
        let first = tasks.submit(send(1), Arc::new(move |_: Outcome| theirs.add()));
        let own = scene.submitter();
        let worker = thread::spawn(move || {
            scene.worker.step();
            scene
        });
        // Loom does not try the worker first by itself: it loads the word of the free list before
        // it changes it.
        thread::yield_now();
        let second = own.send(2);
        if second.index() == first.index() {
            assert_eq!(completed.get(), 1);
        }
        let mut scene = worker.join().unwrap();
        scene.wait_for(1);
        assert_eq!(scene.machine.sent(), [1, 2]);
        assert!(scene.worker.tasks().slots() <= 2);
    });
}

/// Two threads allocate while one of them recycles: no slot is given to two tasks, also if the list
/// has changed and changed back under a delayed pop.
#[test]
fn comm_recycle() {
    Model::new("comm_recycle").bound(3).floor(5_000).check(|| {
        let mut scene = Scene::new();
        let own = scene.submitter();
        own.send(1);
        own.send(2);
        scene.worker.step();
        let theirs = scene.submitter();
        let other = thread::spawn(move || {
            // One of the two slots is available again, and the other is not.
            theirs.send(3);
            theirs.receive();
            scene.worker.step();
            scene
        });
        own.send(4);
        own.send(5);
        let mut scene = other.join().unwrap();
        scene.wait_for(5);
        let mut sent = scene.machine.sent();
        sent.sort_unstable();
        assert_eq!(sent, [1, 2, 3, 4, 5]);
        assert!(scene.worker.tasks().slots() <= 4);
    });
}

/// A task that is submitted while the worker ends is completed once.
#[test]
fn comm_closed() {
    Model::new("comm_closed").floor(60).check(|| {
        let scene = Scene::new();
        let (own, ended) = (scene.submitter(), Arc::clone(&scene.ended));
        let producer = thread::spawn(move || {
            own.send(1);
            own.send(2);
        });
        drop(scene);
        producer.join().unwrap();
        assert_eq!(ended.load(Relaxed), 2);
    });
}

/// A worker that waits for its bell whenever nothing moves takes every task.
#[test]
fn comm_bell() {
    Model::new("comm_bell").bound(3).floor(120).check(|| {
        let notify = Arc::new(Notify::new());
        let bell = Arc::clone(&notify);
        let machine = Shared::default();
        let mut worker = machine.worker(move || bell.notify());
        let ended = Arc::new(AtomicUsize::new(0));
        let own = Submitter {
            tasks: worker.tasks().clone(),
            ended: Arc::clone(&ended),
        };
        let producer = thread::spawn(move || {
            own.send(1);
            own.send(2);
        });
        while ended.load(Relaxed) < 2 {
            if !worker.step() {
                notify.wait();
            }
        }
        producer.join().unwrap();
        assert_eq!(machine.sent(), [1, 2]);
    });
}
