//! Models of the hand-over between threads that send and the one that holds the link.
#![cfg(tautline_loom)]

use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::wire::{Channel, Exchange};
use tautline_core::{PlaceId, Rank};
use tautline_verify::model::{Model, Turns};

/// The link of a program of one rank, whose threads can wait.
struct Alone(Arc<Ringer>);

/// The link to a rank that takes everything, and sends nothing.
struct Counting {
    bell: Arc<Ringer>,
    /// The parcels that are messages.
    messages: Arc<AtomicUsize>,
}

impl Link for Counting {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        2
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.bell.clone()
    }

    fn send(&mut self, _: Rank, parcel: &[u8]) {
        // The kind, in the header.
        self.messages
            .fetch_add(usize::from(parcel[12] == 2), Relaxed);
    }

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

struct Ringer(Notify);

impl Bell for Ringer {
    fn ring(&self) {
        self.0.notify();
    }

    fn wait(&self, _: u64) {
        self.0.wait();
    }
}

impl Link for Alone {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.0.clone()
    }

    fn send(&mut self, to: Rank, _: &[u8]) {
        unreachable!("{to} is the only one");
    }

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn arm(&mut self) -> bool {
        true
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

struct Scene {
    exchange: Exchange<Alone>,
    channel: Channel<()>,
}

impl Scene {
    /// A channel to oneself, which has been seen by a turn.
    fn new() -> Arc<Self> {
        let bell = Arc::new(Ringer(Notify::new()));
        let exchange = Exchange::new(Alone(bell.clone()), Turns(2));
        // Also ends the wait of a thread that would have delivered the message.
        let receiver = move |_, _, _: &[u8]| {
            bell.ring();
            Ok(())
        };
        let channel = exchange.open("model", 1, receiver);
        exchange.turn().expect("one rank");
        Arc::new(Self { exchange, channel })
    }

    fn send(&self) {
        self.channel.send(PlaceId::HOME, PlaceId::HOME, ());
    }

    fn turn(&self) {
        self.exchange.turn().expect("one rank");
    }

    fn received(&self) -> u64 {
        self.channel.traffic().received
    }
}

/// A message whose sender finds the link taken is delivered by the thread that holds it.
#[test]
fn wire_turns() {
    Model::new("wire_turns").bound(3).floor(100).check(|| {
        let scene = Scene::new();
        let other = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.send();
                scene.turn();
            })
        };
        scene.send();
        scene.turn();
        other.join().unwrap();
        assert_eq!(scene.received(), 2);
    });
}

/// A message ends the wait of another thread, which delivers it.
#[test]
fn wire_waits() {
    Model::new("wire_waits").bound(3).floor(100).check(|| {
        let scene = Scene::new();
        let other = {
            let scene = scene.clone();
            thread::spawn(move || {
                while scene.received() == 0 {
                    scene.exchange.wait(0).expect("one rank");
                }
            })
        };
        scene.send();
        other.join().unwrap();
        assert_eq!(scene.received(), 1);
    });
}

/// While one thread attends and another waits, a message of a third one is delivered, whichever
/// observes it first.
#[test]
fn wire_attended() {
    Model::new("wire_attended").bound(2).floor(3500).check(|| {
        let scene = Scene::new();
        let waits = {
            let scene = scene.clone();
            thread::spawn(move || {
                while scene.received() == 0 {
                    scene.exchange.wait(0).expect("one rank");
                    // The link may be taken for a turn.
                    thread::yield_now();
                }
            })
        };
        let attends = {
            let scene = scene.clone();
            thread::spawn(move || {
                let _attendance = scene.exchange.attend();
                scene.turn();
            })
        };
        scene.send();
        attends.join().unwrap();
        waits.join().unwrap();
        assert_eq!(scene.received(), 1);
    });
}

/// A thread is woken that waits while another one attends: what it was woken for is visible to it.
#[test]
fn wire_woken() {
    Model::new("wire_woken").bound(3).floor(15).check(|| {
        let scene = Scene::new();
        let attendance = scene.exchange.attend();
        let ends = Arc::new(AtomicBool::new(false));
        let waits = {
            let (scene, ends) = (scene.clone(), ends.clone());
            thread::spawn(move || {
                while !ends.load(Relaxed) {
                    scene.exchange.wait(0).expect("one rank");
                }
            })
        };
        ends.store(true, Relaxed);
        scene.exchange.wake();
        // The attendant neither runs a turn nor retires before.
        waits.join().unwrap();
        drop(attendance);
    });
}

/// Messages leave also if their channel is dropped before a turn.
#[test]
fn wire_closed() {
    Model::new("wire_closed").bound(3).floor(30).check(|| {
        let messages = Arc::new(AtomicUsize::new(0));
        let link = Counting {
            bell: Arc::new(Ringer(Notify::new())),
            messages: messages.clone(),
        };
        let exchange = Exchange::new(link, Turns(2));
        let channel: Channel<()> = exchange.open("model", 1, |_, _, _: &[u8]| Ok(()));
        exchange.turn().expect("nothing arrives");
        let sends = thread::spawn(move || {
            channel.send(PlaceId::HOME, PlaceId(1), ());
            drop(channel);
        });
        exchange.turn().expect("nothing arrives");
        sends.join().unwrap();
        exchange.turn().expect("nothing arrives");
        assert_eq!(messages.load(Relaxed), 1);
    });
}
