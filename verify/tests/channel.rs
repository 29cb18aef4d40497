//! Models of `tautline_core::channel`.
#![cfg(tautline_loom)]

#[path = "channel/ranks.rs"]
mod ranks;

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;
use tautline_core::channel::{Local, Receiver, Refused, Sender};
use tautline_core::port::Fence;
use tautline_verify::model::Model;

/// Full fences on both sides, which every machine has.
#[derive(Debug)]
struct FullFences;

// SAFETY: the provided methods are full fences.
unsafe impl Fence for FullFences {}

const FENCE: &FullFences = &FullFences;

/// A ring, how each side is woken, and a value that a record passes to the receiver, and its
/// release back to the sender.
struct Scene {
    memory: Local,
    receiver: Notify,
    sender: Notify,
    passed: UnsafeCell<u8>,
}

impl Scene {
    fn new(units: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: Local::new(units),
            receiver: Notify::new(),
            sender: Notify::new(),
            passed: UnsafeCell::new(0),
        })
    }

    /// Sends a record of one byte, which the receiver must take before the next is sent.
    fn pass(&self, sender: &mut Sender<&Local>, value: u8) {
        // SAFETY: loom checks that no access is concurrent.
        self.passed.with_mut(|passed| unsafe { *passed = value });
        sender.send(&[value]).expect("there is room");
        self.flush(sender);
    }

    /// Sends 1 to `last` from a thread that sleeps whenever there is no room.
    fn sending(scene: &Arc<Self>, last: u8) -> thread::JoinHandle<()> {
        let scene = Arc::clone(scene);
        thread::spawn(move || {
            let mut sender = Sender::new(&scene.memory);
            for value in 1..=last {
                while sender.sleep(1, FENCE) {
                    scene.sender.wait();
                }
                scene.pass(&mut sender, value);
            }
        })
    }

    fn flush(&self, sender: &mut Sender<&Local>) {
        if sender.flush(FENCE) {
            self.receiver.notify();
        }
    }

    fn release(&self, receiver: &mut Receiver<&Local>) {
        if receiver.release(FENCE) {
            self.sender.notify();
        }
    }

    /// Waits for a record of one byte.
    fn next(
        &self,
        receiver: &mut Receiver<&Local>,
        mut wait: impl FnMut(&mut Receiver<&Local>),
    ) -> u8 {
        while receiver.peek().expect("a header of the sender").is_none() {
            wait(receiver);
        }
        let mut record = [0];
        receiver.take(&mut record);
        record[0]
    }

    fn sleep(&self, receiver: &mut Receiver<&Local>) {
        if receiver.sleep(FENCE) {
            self.receiver.wait();
        }
    }
}

fn spin(_: &mut Receiver<&Local>) {
    thread::yield_now();
}

/// Two records of one batch, and two batches of one.
#[test]
fn channel_batch() {
    Model::new("channel_batch").floor(100).check(|| {
        let scene = Scene::new(16);
        let other = Arc::clone(&scene);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(&other.memory);
            sender.send(&[1]).unwrap();
            sender.send(&[2]).unwrap();
            other.flush(&mut sender);
            for value in [3, 4] {
                sender.send(&[value]).unwrap();
                other.flush(&mut sender);
            }
        });
        let mut receiver = Receiver::new(&scene.memory);
        let taken = [(); 4].map(|()| scene.next(&mut receiver, spin));
        assert_eq!(taken, [1, 2, 3, 4]);
        sending.join().unwrap();
    });
}

/// The receiver sleeps whenever it finds no record.
#[test]
fn channel_sleep() {
    Model::new("channel_sleep").bound(4).floor(7_500).check(|| {
        let scene = Scene::new(8);
        let other = Arc::clone(&scene);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(&other.memory);
            for value in 1..=2 {
                sender.send(&[value]).unwrap();
                other.flush(&mut sender);
            }
        });
        let mut receiver = Receiver::new(&scene.memory);
        for value in 1..=2 {
            let found = scene.next(&mut receiver, |receiver| {
                scene.release(receiver);
                scene.sleep(receiver);
            });
            assert_eq!(found, value);
        }
        sending.join().unwrap();
    });
}

/// The first record is published before its sender checks whether the receiver sleeps.
#[test]
fn channel_published() {
    Model::new("channel_published")
        .bound(4)
        .floor(17_500)
        .check(|| {
            let scene = Scene::new(8);
            let other = Arc::clone(&scene);
            let sending = thread::spawn(move || {
                let mut sender = Sender::new(&other.memory);
                for values in [&[1][..], &[2, 3]] {
                    sender.send(&values[..1]).unwrap();
                    sender.publish();
                    for value in &values[1..] {
                        sender.send(&[*value]).unwrap();
                    }
                    other.flush(&mut sender);
                }
            });
            let mut receiver = Receiver::new(&scene.memory);
            for value in 1..=3 {
                let found = scene.next(&mut receiver, |receiver| {
                    scene.release(receiver);
                    scene.sleep(receiver);
                });
                assert_eq!(found, value);
            }
            sending.join().unwrap();
        });
}

/// A ring with room for one record: the sender sleeps until the receiver has released it, and may
/// then change what that record referred to.
#[test]
fn channel_full() {
    Model::new("channel_full").bound(3).floor(12_500).check(|| {
        let scene = Scene::new(4);
        let sending = Scene::sending(&scene, 3);
        let mut receiver = Receiver::new(&scene.memory);
        for value in 1..=3 {
            assert_eq!(scene.next(&mut receiver, spin), value);
            // SAFETY: loom checks that no access is concurrent.
            let passed = scene.passed.with(|passed| unsafe { *passed });
            assert_eq!(passed, value);
            scene.release(&mut receiver);
        }
        sending.join().unwrap();
    });
}

/// As `channel_full`, but the sender polls.
#[test]
fn channel_full_polled() {
    Model::new("channel_full_polled").floor(3_000).check(|| {
        let scene = Scene::new(4);
        let other = Arc::clone(&scene);
        let sending = thread::spawn(move || {
            let mut sender = Sender::new(&other.memory);
            for value in 1..=2 {
                while sender.send(&[value]) == Err(Refused::Full) {
                    thread::yield_now();
                }
                // SAFETY: loom checks that no access is concurrent.
                other.passed.with_mut(|passed| unsafe { *passed = value });
                other.flush(&mut sender);
            }
        });
        let mut receiver = Receiver::new(&scene.memory);
        for value in 1..=2 {
            assert_eq!(scene.next(&mut receiver, spin), value);
            // SAFETY: loom checks that no access is concurrent.
            let passed = scene.passed.with(|passed| unsafe { *passed });
            assert_eq!(passed, value);
            scene.release(&mut receiver);
        }
        sending.join().unwrap();
    });
}

/// Records of a unit, up to where the sender has emptied the ring ahead: the receiver finds none
/// after the last one.
#[test]
fn channel_cleared() {
    Model::new("channel_cleared")
        .bound(3)
        .floor(4_000)
        .check(|| {
            let scene = Scene::new(4);
            let other = Arc::clone(&scene);
            let sending = thread::spawn(move || {
                let mut sender = Sender::new(&other.memory);
                (0..3).for_each(|_| sender.send(&[]).expect("there is room"));
                other.flush(&mut sender);
                for _ in 0..2 {
                    while sender.send(&[]) == Err(Refused::Full) {
                        thread::yield_now();
                    }
                    other.flush(&mut sender);
                }
            });
            let mut receiver = Receiver::new(&scene.memory);
            for _ in 0..5 {
                while receiver.peek() == Ok(None) {
                    thread::yield_now();
                }
                receiver.take(&mut []);
                scene.release(&mut receiver);
            }
            sending.join().unwrap();
            assert_eq!(receiver.peek(), Ok(None));
        });
}

/// Both sides sleep: neither waits for ever.
#[test]
fn channel_both_sleep() {
    Model::new("channel_both_sleep")
        .bound(3)
        .floor(4_000)
        .check(|| {
            let scene = Scene::new(4);
            let sending = Scene::sending(&scene, 2);
            let mut receiver = Receiver::new(&scene.memory);
            for value in 1..=2 {
                let found = scene.next(&mut receiver, |receiver| scene.sleep(receiver));
                assert_eq!(found, value);
                scene.release(&mut receiver);
            }
            sending.join().unwrap();
        });
}

/// As `channel_both_sleep`, but the receiver releases only when it finds nothing.
#[test]
fn channel_released_late() {
    Model::new("channel_released_late")
        .bound(3)
        .floor(10_000)
        .check(|| {
            let scene = Scene::new(4);
            let sending = Scene::sending(&scene, 2);
            let mut receiver = Receiver::new(&scene.memory);
            for value in 1..=2 {
                let found = scene.next(&mut receiver, |receiver| {
                    scene.release(receiver);
                    scene.sleep(receiver);
                });
                assert_eq!(found, value);
            }
            sending.join().unwrap();
        });
}
