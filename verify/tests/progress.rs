//! Models of `tautline_core::progress`: the loops of the threads that communicate, over the
//! exchange of the only rank.
#![cfg(tautline_loom)]

use loom::sync::Notify;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::thread;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tautline_core::deque::Inbox;
use tautline_core::port::{Alone, Bell, Clock, Link, Lost, Relax};
use tautline_core::progress::{Driver, Pace, Pending, Progress};
use tautline_core::wire::{Channel, Exchange, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_verify::model::{Model, Turns};

struct Ringer(Notify);

impl Bell for Ringer {
    fn ring(&self) {
        self.0.notify();
    }

    fn wait(&self, _: u64) {
        self.0.wait();
    }
}

/// The link of a program of one rank, whose threads can wait.
struct Sleepy(Arc<Ringer>);

impl Link for Sleepy {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.0.clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        Alone.send(to, parcel);
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

/// Cells that communication workers fill.
struct Cells([(AtomicBool, Notify); 2]);

impl Cells {
    fn new() -> Self {
        Self(std::array::from_fn(|_| {
            (AtomicBool::new(false), Notify::new())
        }))
    }

    fn is_full(&self, cell: usize) -> bool {
        self.0[cell].0.load(Acquire)
    }

    /// Fills a cell. Returns whether it was empty.
    fn fill(&self, cell: usize) -> bool {
        let is_first = !self.0[cell].0.swap(true, AcqRel);
        if is_first {
            self.0[cell].1.notify();
        }
        is_first
    }

    /// Sleeps until a cell is full. If no thread fills it, that is a deadlock, which loom reports.
    fn sleep(&self, cell: usize) {
        while !self.is_full(cell) {
            self.0[cell].1.wait();
        }
    }
}

/// The progress thread's permit. Time elapses only while no other thread runs.
struct Parked {
    permit: Notify,
    /// Threads that neither have returned nor sleep.
    awake: AtomicUsize,
}

/// The value of `awake` with which no time elapses.
const NEVER: usize = usize::MAX;

impl Parked {
    fn new(awake: usize) -> Self {
        Self {
            permit: Notify::new(),
            awake: AtomicUsize::new(awake),
        }
    }

    fn park(&self) {
        if self.awake.load(Acquire) > 0 {
            self.permit.wait();
        }
    }

    /// States that the caller sleeps or returns.
    fn rest(&self) {
        if self.awake.fetch_sub(1, AcqRel) == 1 {
            self.permit.notify();
        }
    }
}

const PACE: Pace = Pace {
    polling: 1,
    polls: 1,
    dedicated: 1,
    take_over: 1,
    look: 1,
};

/// A rank to itself. Each message fills the cell of its number, by a step of the communication
/// worker.
struct Scene {
    progress: Arc<Progress>,
    exchange: Exchange<Sleepy>,
    channel: Channel<u32>,
    arrived: Arc<Inbox<u32>>,
    cells: Cells,
    parked: Parked,
    clock: AtomicU64,
}

impl Scene {
    fn new(awake: usize) -> Arc<Self> {
        let bell = Arc::new(Ringer(Notify::new()));
        let progress = Arc::new(Progress::new(bell.clone(), PACE));
        let exchange = Exchange::new(Sleepy(bell), Turns(2));
        let arrived = Arc::new(Inbox::new());
        let (inbox, notified) = (Arc::clone(&arrived), Arc::clone(&progress));
        let receiver = move |_, _, body: &[u8]| {
            inbox.push(unpack(body)?, &Turns(2));
            notified.notify();
            Ok(())
        };
        let channel = exchange.open("model", 1, receiver);
        exchange.turn().expect("one rank");
        Arc::new(Self {
            progress,
            exchange,
            channel,
            arrived,
            cells: Cells::new(),
            parked: Parked::new(awake),
            clock: AtomicU64::new(0),
        })
    }

    /// Sends the message that fills a cell.
    fn send(&self, cell: u32) {
        self.channel.send(PlaceId::HOME, PlaceId::HOME, cell);
    }

    /// Runs turns until a cell is full, or for a while.
    fn poll(&self, cell: usize) {
        self.progress.poll_until(self, || self.cells.is_full(cell));
    }
}

impl Clock for Scene {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }
}

impl Relax for Scene {
    fn relax(&self, turn: u32) {
        Turns(2).relax(turn);
    }
}

impl Driver for Scene {
    fn exchange(&self) -> bool {
        self.exchange.turn().expect("one rank")
    }

    fn step(&self) -> bool {
        let mut moved = false;
        while let Some(cell) = self.arrived.pop(&Turns(2)) {
            moved |= self.cells.fill(cell as usize);
        }
        moved
    }

    fn flush(&self) {}

    fn wait(&self, ticks: u64) -> Option<bool> {
        let moved = self.exchange.wait(ticks).expect("one rank");
        if !moved {
            // The link may be taken for a turn.
            thread::yield_now();
        }
        Some(moved)
    }

    fn park(&self, _: u64) {
        self.parked.park();
    }

    fn unpark(&self) {
        self.parked.permit.notify();
    }
}

/// Starts the progress thread.
fn carry<D: Driver + Send + Sync + 'static>(
    progress: &Arc<Progress>,
    driver: &Arc<D>,
    attend: impl FnMut() + Send + 'static,
) -> thread::JoinHandle<()> {
    let (progress, driver) = (Arc::clone(progress), Arc::clone(driver));
    thread::spawn(move || progress.run(&*driver, attend))
}

/// A thread waits for a message, which is sent when an idle worker has handed over: it arrives,
/// also if no time elapses.
#[test]
fn progress_waits() {
    let model = Model::new("progress_waits").bound(2);
    model.floor(170_000).check(|| {
        let scene = Scene::new(NEVER);
        let carrier = carry(&scene.progress, &scene, || ());
        let waits = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.poll(0);
                scene.cells.sleep(0);
            })
        };
        scene.progress.look(&*scene);
        scene.progress.hand_over(&*scene);
        scene.send(0);
        waits.join().unwrap();
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// Two threads wait, and one of them polls, which leaves when it has its message: that of the other
/// one arrives when time has elapsed.
#[test]
fn progress_polled() {
    let model = Model::new("progress_polled").bound(1);
    model.floor(14_000).check(|| {
        let scene = Scene::new(2);
        let carrier = carry(&scene.progress, &scene, || ());
        let waits = {
            let scene = scene.clone();
            thread::spawn(move || {
                scene.poll(1);
                scene.parked.rest();
                scene.cells.sleep(1);
            })
        };
        scene.send(0);
        scene.poll(0);
        scene.send(1);
        scene.parked.rest();
        scene.cells.sleep(0);
        waits.join().unwrap();
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// A rank without an exchange: what threads have prepared, each its own, without any order, fills
/// their cells.
struct Plain {
    progress: Arc<Progress>,
    bell: Arc<Ringer>,
    prepared: [AtomicBool; 2],
    cells: Cells,
    parked: Parked,
    clock: AtomicU64,
}

impl Plain {
    fn new(awake: usize) -> Arc<Self> {
        let bell = Arc::new(Ringer(Notify::new()));
        Arc::new(Self {
            progress: Arc::new(Progress::new(bell.clone(), PACE)),
            bell,
            prepared: std::array::from_fn(|_| AtomicBool::new(false)),
            cells: Cells::new(),
            parked: Parked::new(awake),
            clock: AtomicU64::new(0),
        })
    }

    fn prepare(&self, at: usize) {
        self.prepared[at].store(true, Relaxed);
    }
}

impl Clock for Plain {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }
}

impl Relax for Plain {
    fn relax(&self, _: u32) {
        thread::yield_now();
    }
}

impl Driver for Plain {
    fn exchange(&self) -> bool {
        false
    }

    fn step(&self) -> bool {
        let ready = (0..2).filter(|at| self.prepared[*at].load(Relaxed));
        ready.filter(|at| self.cells.fill(*at)).count() > 0
    }

    fn flush(&self) {}

    fn wait(&self, ticks: u64) -> Option<bool> {
        self.bell.wait(ticks);
        Some(false)
    }

    fn park(&self, _: u64) {
        self.parked.park();
    }

    fn unpark(&self) {
        self.parked.permit.notify();
    }
}

/// Two threads prepare something and signal it: the turn that takes the signal processes both, or
/// the next one finds it again.
#[test]
fn progress_due() {
    Model::new("progress_due").floor(1_000).check(|| {
        let scene = Plain::new(NEVER);
        let setters = [0, 1].map(|at| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.prepare(at);
                scene.progress.set_due();
            })
        });
        scene.progress.turn(&*scene);
        for setter in setters {
            setter.join().unwrap();
        }
        scene.progress.turn(&*scene);
        let is_done = [0, 1].map(|at| scene.cells.is_full(at));
        assert_eq!(
            is_done, [true; 2],
            "the signal is gone, and it was not done"
        );
    });
}

/// The progress thread was away, and takes over, while another thread notifies: it finds what that
/// has prepared, or its bell is rung.
#[test]
fn progress_take_over() {
    let model = Model::new("progress_take_over").bound(3);
    model.floor(1_600).check(|| {
        // The time of the first leave has elapsed.
        let scene = Plain::new(0);
        scene.progress.turn(&*scene);
        let carrier = carry(&scene.progress, &scene, || ());
        scene.prepare(0);
        scene.progress.notify();
        scene.cells.sleep(0);
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// Two threads run turns and hand over, and one of them notifies then: the progress thread leaves
/// for neither, also if no time elapses.
#[test]
fn progress_hand_over() {
    let model = Model::new("progress_hand_over").bound(2);
    model.floor(70_000).check(|| {
        let scene = Plain::new(NEVER);
        let carrier = carry(&scene.progress, &scene, || ());
        let act = |scene: &Plain| {
            scene.progress.turn(scene);
            scene.progress.hand_over(scene);
        };
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || act(&theirs));
        act(&scene);
        scene.prepare(0);
        scene.progress.notify();
        scene.cells.sleep(0);
        other.join().unwrap();
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// A thread polls for a while and sleeps, and another one notifies: the progress thread has taken
/// over, also if no time elapses.
#[test]
fn progress_sleeps() {
    let model = Model::new("progress_sleeps").bound(2);
    model.floor(14_500).check(|| {
        let scene = Plain::new(NEVER);
        let carrier = carry(&scene.progress, &scene, || ());
        let theirs = Arc::clone(&scene);
        let waits = thread::spawn(move || {
            let is_over = || theirs.cells.is_full(0);
            theirs.progress.poll_until(&*theirs, is_over);
            theirs.cells.sleep(0);
        });
        scene.prepare(0);
        scene.progress.notify();
        waits.join().unwrap();
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// A thread submits while the progress thread ceases to be dedicated: one of the two does it.
#[test]
fn progress_mode() {
    let model = Model::new("progress_mode").bound(2);
    model.floor(6_500).check(|| {
        let scene = Plain::new(NEVER);
        scene.progress.dedicate(true, &*scene);
        let carrier = carry(&scene.progress, &scene, || ());
        let submits = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.prepare(0);
                if !scene.progress.delegate() {
                    scene.step();
                }
                scene.cells.sleep(0);
            })
        };
        scene.progress.dedicate(false, &*scene);
        submits.join().unwrap();
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}

/// The progress thread that observes the end observes the operations that have begun before; what
/// one has sent is visible when it has ended.
#[test]
fn progress_end() {
    let model = Model::new("progress_end").bound(3);
    model.floor(300).check(|| {
        let scene = Plain::new(NEVER);
        let carrier = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.progress.run(&*scene, || ());
                assert!(scene.progress.has_panicked());
                while scene.progress.is_pending() {
                    thread::yield_now();
                }
                assert!(scene.prepared[0].load(Relaxed), "what was sent");
            })
        };
        let pending = Pending::new(&scene.progress);
        let other = {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                scene.prepare(0);
                drop(pending);
            })
        };
        scene.progress.end(true, &*scene);
        other.join().unwrap();
        carrier.join().unwrap();
    });
}

/// A thread gives up within a turn: the progress thread learns of it, also if no time elapses.
#[test]
fn progress_gives_up() {
    Model::new("progress_gives_up").floor(1_800).check(|| {
        let scene = Plain::new(NEVER);
        let attends = Arc::clone(&scene);
        let carrier = carry(&scene.progress, &scene, move || {
            if attends.progress.take_given_up() {
                attends.cells.fill(0);
            }
        });
        scene.progress.give_up();
        scene.cells.sleep(0);
        scene.progress.end(false, &*scene);
        carrier.join().unwrap();
    });
}
