//! A driver for tests: places are threads of the test, and every turn, message and park is
//! observed.
//!
//! Places of the configuration without threads are simulated.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::finish::Report;
use tautline_core::glb::{Bag, Config, Control, Message, Share, Team, Worker};
use tautline_core::port::{Clock, Park, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// The time limit of a wait. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

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

thread_local! {
    static SEAT: Cell<(PlaceId, WorkerId)> = const { Cell::new((PlaceId(0), WorkerId(0))) };
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
        let n = (world.hooks.turn)(world, self).unwrap_or(n);
        let done = n.min(self.0.len());
        self.0.truncate(self.0.len() - done);
        world.done.fetch_add(done, SeqCst);
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

type Turn = dyn Fn(&'static World, &Units) -> Option<usize> + Send + Sync;
type Sent = dyn Fn(&'static World, PlaceId, PlaceId, &Message<Units>) + Send + Sync;
/// See [`Hooks::parks`].
pub(crate) type Seat = dyn Fn(&'static World, PlaceId, WorkerId) + Send + Sync;

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

#[derive(Default)]
struct Permit {
    given: Mutex<bool>,
    came: Condvar,
}

/// The places of one computation.
pub(crate) struct World {
    pub teams: Vec<Team<Units>>,
    permits: Vec<Vec<Permit>>,
    hooks: Hooks,
    control: Control,
    closed: AtomicBool,
    clock: AtomicU64,
    dead_reports: AtomicU64,
    /// The answers of places without threads, the last first; then nothing.
    pub answers: Mutex<Vec<Units>>,
    /// The number of announcements of the end.
    pub closes: AtomicUsize,
    /// Units processed.
    pub done: AtomicUsize,
}

impl World {
    /// Creates the places of `config`, of which the first `living` have threads.
    pub(crate) fn new(config: &Config, living: u32, hooks: Hooks) -> &'static Self {
        let stage = Stage(Box::leak(Box::default()));
        let teams: Vec<_> = (0..living)
            .map(|p| Team::new(PlaceId(p), config, stage))
            .collect();
        let permits = |_: &Team<_>| (0..config.threads()).map(|_| Permit::default()).collect();
        let world: &'static Self = Box::leak(Box::new(Self {
            permits: teams.iter().map(permits).collect(),
            teams,
            hooks,
            control: Control::new(),
            closed: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            dead_reports: AtomicU64::new(0),
            answers: Mutex::default(),
            closes: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        }));
        assert!(stage.0.set(world).is_ok());
        world
    }

    /// Runs `units` units from the home to the end; returns the sum of the tasks in all accounts.
    pub(crate) fn run(&'static self, units: u32) -> u64 {
        self.teams[0].begin(Units((0..units).collect()), &self.at(PlaceId(0)));
        let seats = self
            .permits
            .iter()
            .enumerate()
            .flat_map(|(place, permits)| {
                (0..permits.len()).map(move |w| (PlaceId(place as u32), WorkerId(w as u32)))
            });
        thread::scope(|scope| {
            let threads: Vec<_> = seats
                .map(|(place, worker)| scope.spawn(move || self.attend(place, worker)))
                .collect();
            let done = threads.into_iter().map(|t| t.join());
            done.collect::<Result<Vec<_>, _>>()
                .expect("no worker panics")
                .into_iter()
                .sum()
        })
    }

    /// Runs one worker on this thread.
    pub(crate) fn attend(&'static self, place: PlaceId, worker: WorkerId) -> u64 {
        struct Bell<'a>(&'a World);
        impl Drop for Bell<'_> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.close();
                }
            }
        }
        let _bell = Bell(self);
        SEAT.set((place, worker));
        let team = &self.teams[place.index()];
        Worker::new(team, worker, self.at(place), &self.control, ())
            .run()
            .tasks
    }

    /// Returns the view that `place` has of the world.
    pub(crate) fn at(&'static self, place: PlaceId) -> Here {
        Here { world: self, place }
    }

    fn unpark(&self, place: PlaceId, worker: WorkerId) {
        let permit = &self.permits[place.index()][worker.index()];
        // Also while a failed test unwinds.
        *permit.given.lock().unwrap_or_else(|e| e.into_inner()) = true;
        permit.came.notify_all();
    }

    /// Ends the computation.
    pub(crate) fn close(&self) {
        if !thread::panicking() {
            self.closes.fetch_add(1, SeqCst);
        }
        self.closed.store(true, SeqCst);
        for (place, permits) in self.permits.iter().enumerate() {
            (0..permits.len()).for_each(|w| self.unpark(PlaceId(place as u32), WorkerId(w as u32)));
        }
    }

    /// Delivers a message from a place that has no threads.
    pub(crate) fn deliver(&'static self, from: PlaceId, message: Message<Units>) {
        self.teams[0].deliver(from, message, &self.at(PlaceId(0)));
    }

    /// Simulates a place without threads: loot is discarded.
    fn play_dead(&'static self, here: PlaceId, message: &Message<Units>) {
        match message {
            Message::Request { .. } => {
                let answer = self.answers.lock().unwrap().pop();
                self.deliver(here, Message::Answer(answer));
            }
            Message::Loot(_) => {
                let number = 1 + self.dead_reports.fetch_add(1, SeqCst);
                let counts = vec![(here, -1)];
                self.deliver(here, Message::Report(Report { number, counts }));
            }
            _ => {}
        }
    }
}

/// One place's view of the world.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    world: &'static World,
    place: PlaceId,
}

impl Clock for Here {
    fn now(&self) -> u64 {
        self.world.clock.fetch_add(1, SeqCst)
    }
}

impl Relax for Here {
    fn relax(&self, _: u32) {
        thread::yield_now();
    }
}

impl Unpark for Here {
    fn unpark(&self, worker: WorkerId) {
        note(|| format!("wake {}", worker.0));
        self.world.unpark(self.place, worker);
    }
}

impl Park for Here {
    fn park(&self, worker: WorkerId) {
        let Self { world, place } = *self;
        (world.hooks.parks)(world, place, worker);
        let permit = &world.permits[place.index()][worker.index()];
        let given = permit.given.lock().unwrap();
        let (mut given, late) = permit
            .came
            .wait_timeout_while(given, PATIENCE, |given| !*given)
            .unwrap();
        assert!(
            !late.timed_out(),
            "{place}, {worker:?} was not woken in time"
        );
        *given = false;
        drop(given);
        (world.hooks.wakes)(world, place, worker);
    }
}

impl Transport<Message<Units>> for Here {
    fn send(&self, to: PlaceId, message: Message<Units>) {
        let Self { world, place } = *self;
        (world.hooks.sent)(world, place, to, &message);
        match world.teams.get(to.index()) {
            Some(team) => team.deliver(place, message, &world.at(to)),
            None => world.play_dead(to, &message),
        }
    }

    fn close(&self) {
        self.world.close();
    }

    fn is_closed(&self) -> bool {
        self.world.closed.load(SeqCst)
    }
}
