//! Units of work on the driver, with callbacks of the test: every turn, message and park is
//! observed.
//!
//! Places of the configuration without threads are simulated.

use crate::driver::{self, PATIENCE, SEAT, Scene};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Instant;
use tautline_core::finish::Report;
use tautline_core::glb::{Bag, Config, Message, Share};
use tautline_core::{PlaceId, WorkerId};

/// Waits until `holds` returns true.
///
/// # Panics
/// If it does not within the time limit.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        thread::yield_now();
    }
}

/// Returns the place and the worker of this thread.
pub(crate) fn seat() -> (PlaceId, WorkerId) {
    SEAT.get()
}

/// Numbered units of work.
#[derive(Debug)]
pub(crate) struct Units(pub Vec<u32>);

impl Bag for Units {
    type Shared = Stage;
    type Output = ();

    fn process(&mut self, n: usize, stage: &Stage) -> usize {
        let world = stage.0.get().expect("set before the start");
        let n = (world.scene.hooks.turn)(world, self).unwrap_or(n);
        let done = n.min(self.0.len());
        self.0.truncate(self.0.len() - done);
        world.scene.done.fetch_add(done, SeqCst);
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let n = share.of(self.0.len());
        note(|| format!("split {share:?}: {n}"));
        (n > 0).then(|| Self(self.0.drain(..n).collect()))
    }

    fn merge(&mut self, other: Self) {
        note(|| format!("merge {:?}", other.0));
        self.0.extend(other.0);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn submit(self, (): &mut ()) {}
}

thread_local! {
    static NOTES: Cell<Option<Vec<String>>> = const { Cell::new(None) };
}

/// Records `line` if this thread records events.
pub(crate) fn note(line: impl FnOnce() -> String) {
    if let Some(mut notes) = NOTES.take() {
        notes.push(line());
        NOTES.set(Some(notes));
    }
}

/// Returns the lines that `act` records.
pub(crate) fn notes_of(act: impl FnOnce()) -> Vec<String> {
    NOTES.set(Some(Vec::new()));
    act();
    NOTES.take().expect("set above")
}

/// The world of a bag, set before the start.
#[derive(Clone, Copy)]
pub(crate) struct Stage(&'static OnceLock<&'static World>);

type Turn = dyn Fn(&World, &Units) -> Option<usize> + Send + Sync;
type Sent = dyn Fn(&World, PlaceId, PlaceId, &Message<Units>) + Send + Sync;
/// See [`Hooks::parks`].
pub(crate) type Seat = dyn Fn(&World, PlaceId, WorkerId) + Send + Sync;

/// Callbacks of a test, which may block.
pub(crate) struct Hooks {
    /// A worker is about to process a grain; returns the number of units to process instead, if
    /// any.
    pub turn: Box<Turn>,
    /// A message is sent.
    pub sent: Box<Sent>,
    /// A worker is about to park.
    pub parks: Box<Seat>,
    /// A worker has been woken.
    pub wakes: Box<Seat>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            turn: Box::new(|_, _| None),
            sent: Box::new(|_, _, _, _| ()),
            parks: Box::new(|_, _, _| ()),
            wakes: Box::new(|_, _, _| ()),
        }
    }
}

/// The places of one computation on units of work.
pub(crate) type World = driver::World<Script>;

/// The callbacks, and the places without threads.
pub(crate) struct Script {
    hooks: Hooks,
    dead_reports: AtomicU64,
    /// The answers of places without threads, the last first; then nothing.
    pub answers: Mutex<Vec<Units>>,
    /// Units processed.
    pub done: AtomicUsize,
}

impl Scene for Script {
    type Bag = Units;

    fn carry(world: &World, from: PlaceId, to: PlaceId, message: Message<Units>) {
        (world.scene.hooks.sent)(world, from, to, &message);
        if to.index() < world.teams.len() {
            world.hand(from, to, message);
        } else {
            world.play_dead(to, &message);
        }
    }

    fn parks(world: &World, place: PlaceId, worker: WorkerId) {
        (world.scene.hooks.parks)(world, place, worker);
    }

    fn wakes(world: &World, place: PlaceId, worker: WorkerId) {
        (world.scene.hooks.wakes)(world, place, worker);
    }

    fn unparks(&self, worker: WorkerId) {
        note(|| format!("wake {}", worker.0));
    }
}

impl World {
    /// Creates the places of `config`, of which the first `living` have threads.
    pub(crate) fn new(config: &Config, living: u32, hooks: Hooks) -> &'static Self {
        let stage = Stage(Box::leak(Box::default()));
        let script = Script {
            hooks,
            dead_reports: AtomicU64::new(0),
            answers: Mutex::default(),
            done: AtomicUsize::new(0),
        };
        let world: &'static Self = Box::leak(Box::new(Self::of(script, config, living, || stage)));
        assert!(stage.0.set(world).is_ok());
        world
    }

    /// Runs `units` units from the home to the end; returns the sum of the tasks in all accounts.
    pub(crate) fn run(&self, units: u32) -> u64 {
        let accounts = self.work(Units((0..units).collect()));
        accounts.iter().map(|account| account.tasks).sum()
    }

    /// Delivers a message from a place that has no threads.
    pub(crate) fn deliver(&self, from: PlaceId, message: Message<Units>) {
        self.hand(from, PlaceId(0), message);
    }

    /// Simulates a place without threads: loot is discarded.
    fn play_dead(&self, here: PlaceId, message: &Message<Units>) {
        match message {
            Message::Request { .. } => {
                let answer = self.scene.answers.lock().unwrap().pop();
                self.deliver(here, Message::Answer(answer));
            }
            Message::Loot(_) => {
                let number = 1 + self.scene.dead_reports.fetch_add(1, SeqCst);
                let counts = vec![(here, -1)];
                self.deliver(here, Message::Report(Report { number, counts }));
            }
            _ => {}
        }
    }
}
