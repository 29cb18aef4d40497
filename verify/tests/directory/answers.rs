//! Accesses that miss: the delivery of the value against the thread that polls, then parks.

use super::{Pair, RELAX, read};
use loom::sync::Notify;
use loom::thread::{self, JoinHandle};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tautline_core::directory::{Answer, Promise, State, promise};
use tautline_core::port::Relax;
use tautline_core::sync::{Lock, Permit};
use tautline_verify::model::{Model, Turns};

/// The parker of a thread, with a sticky permit.
#[derive(Default)]
struct Bell(Permit, Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.give();
        self.1.notify();
    }
}

fn poll<X: Relax>(answer: &mut Answer<usize, X>, bell: &Arc<Bell>) -> Poll<usize> {
    let waker = Waker::from(Arc::clone(bell));
    Pin::new(answer).poll(&mut Context::from_waker(&waker))
}

/// The result of a miss, polled once, then awaited; without a wake-up loom finds a deadlock.
fn wait<X: Relax>(mut answer: Answer<usize, X>) -> usize {
    if let Some(value) = answer.take() {
        return value;
    }
    let bell = Arc::<Bell>::default();
    loop {
        if let Poll::Ready(value) = poll(&mut answer, &bell) {
            return value;
        }
        while !bell.0.try_take() {
            bell.1.wait();
        }
    }
}

/// An object at a rank, as a miss uses it: its copy, and under the lock of its machine the
/// accesses that wait.
struct Object {
    copy: Pair,
    waiting: Lock<Vec<Promise<usize, Turns>>>,
}

impl Object {
    fn new() -> Arc<Self> {
        let copy = Pair::default();
        let waiting = Lock::new(Vec::new());
        Arc::new(Self { copy, waiting })
    }

    /// A hit, or an access that the machine performs at once, or one that waits.
    fn access(&self) -> usize {
        let hit = read(&self.copy);
        if hit != 0 {
            return hit;
        }
        let (answer, promise) = promise(RELAX);
        let mut waiting = self.waiting.lock(&RELAX);
        match read(&self.copy) {
            0 => waiting.push(promise),
            value => promise.put(value),
        }
        drop(waiting);
        wait(answer)
    }

    /// The value comes: all accesses of the rank are performed, by this thread.
    fn deliver(&self, value: usize) {
        let mut waiting = self.waiting.lock(&RELAX);
        self.copy.install(&RELAX, [value; 2], State::Shared);
        let due = std::mem::take(&mut *waiting);
        drop(waiting);
        for promise in due {
            promise.put(value);
        }
    }
}

fn accessing(object: &Arc<Object>) -> JoinHandle<usize> {
    let object = Arc::clone(object);
    thread::spawn(move || object.access())
}

/// A miss against the delivery of its value: the access ends with the value, whether the thread
/// finds it in the copy, polls it or is parked.
#[test]
fn directory_miss_delivered() {
    Model::new("directory_miss_delivered")
        .bound(3)
        .floor(72)
        .check(|| {
            let object = Object::new();
            let access = accessing(&object);
            object.deliver(7);
            assert_eq!(access.join().unwrap(), 7);
        });
}

/// As above, of two accesses: the delivery performs both.
#[test]
fn directory_misses_delivered() {
    Model::new("directory_misses_delivered")
        .bound(2)
        .floor(1_780)
        .check(|| {
            let object = Object::new();
            let accesses = [accessing(&object), accessing(&object)];
            object.deliver(7);
            for access in accesses {
                assert_eq!(access.join().unwrap(), 7);
            }
        });
}

/// A result is put while a thread polls it, first by the hint, then as a future whose earlier waker
/// is of a wait that has ended.
#[test]
fn directory_answer_repolled() {
    Model::new("directory_answer_repolled")
        .bound(3)
        .floor(140)
        .check(|| {
            let (mut answer, due) = promise(RELAX);
            let delivery = thread::spawn(move || due.put(7));
            let value = match poll(&mut answer, &Arc::default()) {
                Poll::Ready(value) => value,
                Poll::Pending => wait(answer),
            };
            assert_eq!(value, 7);
            delivery.join().unwrap();
        });
}

/// An access whose future is dropped: the delivery puts a result that is not read.
#[test]
fn directory_answer_dropped() {
    Model::new("directory_answer_dropped").floor(8).check(|| {
        let (mut answer, due) = promise(RELAX);
        let delivery = thread::spawn(move || due.put(7));
        if let Poll::Ready(value) = poll(&mut answer, &Arc::default()) {
            assert_eq!(value, 7);
        }
        drop(answer);
        delivery.join().unwrap();
    });
}
