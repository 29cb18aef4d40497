//! A driver for tests: places are threads of the test.
//!
//! A [`Scene`] observes what happens between the places, and may alter it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;
use tautline_core::glb::{Account, Bag, Config, Control, Message, Team, Worker};
use tautline_core::port::{Clock, Park, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// The time limit of a wait. Only a failing test waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    pub(crate) static SEAT: Cell<(PlaceId, WorkerId)> = const { Cell::new((PlaceId(0), WorkerId(0))) };
}

/// The hooks by which a test observes and alters a run. The methods may block. Provided: nothing is
/// altered.
pub(crate) trait Scene: Sized + Sync {
    type Bag: Bag;

    /// Carries a message to its place.
    fn carry(world: &World<Self>, from: PlaceId, to: PlaceId, message: Message<Self::Bag>) {
        world.hand(from, to, message);
    }

    /// A worker is about to park.
    fn parks(_: &World<Self>, _: PlaceId, _: WorkerId) {}

    /// A worker has been woken.
    fn wakes(_: &World<Self>, _: PlaceId, _: WorkerId) {}

    /// A worker is about to be unparked by one of its place.
    fn unparks(&self, _: WorkerId) {}
}

#[derive(Default)]
pub(crate) struct Permit {
    pub given: Mutex<bool>,
    came: Condvar,
}

/// The places of one computation.
pub(crate) struct World<S: Scene> {
    pub teams: Vec<Team<S::Bag>>,
    pub scene: S,
    /// By place and worker.
    pub permits: Vec<Vec<Permit>>,
    pub control: Control,
    closed: AtomicBool,
    clock: AtomicU64,
    /// The number of announcements of the end.
    pub closes: AtomicUsize,
}

impl<S: Scene> World<S> {
    /// Creates the first `living` places of `config`; `shared` creates the value of a place.
    pub(crate) fn of(
        scene: S,
        config: &Config,
        living: u32,
        shared: impl Fn() -> <S::Bag as Bag>::Shared,
    ) -> Self {
        let teams = (0..living).map(|p| Team::new(PlaceId(p), config, shared()));
        let permits = |place| {
            (0..config.threads_of(PlaceId(place)))
                .map(|_| Permit::default())
                .collect()
        };
        Self {
            teams: teams.collect(),
            scene,
            permits: (0..living).map(permits).collect(),
            control: Control::new(),
            closed: AtomicBool::new(false),
            clock: AtomicU64::new(0),
            closes: AtomicUsize::new(0),
        }
    }

    /// Runs `bag` from the home to the end, a thread for each worker; returns the accounts of all
    /// workers, place by place.
    pub(crate) fn work(&self, bag: S::Bag) -> Vec<Account<()>> {
        self.teams[0].begin(bag, &self.at(PlaceId(0)));
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
        })
    }

    /// Runs one worker on this thread.
    pub(crate) fn attend(&self, place: PlaceId, worker: WorkerId) -> Account<()> {
        struct Bell<'a, S: Scene>(&'a World<S>);
        impl<S: Scene> Drop for Bell<'_, S> {
            fn drop(&mut self) {
                if thread::panicking() {
                    self.0.close();
                }
            }
        }
        let _bell = Bell(self);
        SEAT.set((place, worker));
        let team = &self.teams[place.index()];
        Worker::new(team, worker, self.at(place), &self.control, ()).run()
    }

    /// Returns the view that `place` has of the world.
    pub(crate) fn at(&self, place: PlaceId) -> Here<'_, S> {
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

    /// Delivers a message to a place that has threads.
    pub(crate) fn hand(&self, from: PlaceId, to: PlaceId, message: Message<S::Bag>) {
        self.teams[to.index()].deliver(from, message, &self.at(to));
    }
}

/// One place's view of the world.
pub(crate) struct Here<'w, S: Scene> {
    world: &'w World<S>,
    place: PlaceId,
}

impl<S: Scene> Clock for Here<'_, S> {
    fn now(&self) -> u64 {
        self.world.clock.fetch_add(1, SeqCst)
    }
}

impl<S: Scene> Relax for Here<'_, S> {
    fn relax(&self, _: u32) {
        thread::yield_now();
    }
}

impl<S: Scene> Unpark for Here<'_, S> {
    fn unpark(&self, worker: WorkerId) {
        self.world.scene.unparks(worker);
        self.world.unpark(self.place, worker);
    }
}

impl<S: Scene> Park for Here<'_, S> {
    fn park(&self, worker: WorkerId) {
        let Self { world, place } = *self;
        S::parks(world, place, worker);
        let permit = &world.permits[place.index()][worker.index()];
        let given = permit.given.lock().unwrap();
        let (given, late) = permit
            .came
            .wait_timeout_while(given, PATIENCE, |given| !*given)
            .unwrap();
        assert!(
            !late.timed_out(),
            "{place}, {worker:?} was not woken in time"
        );
        drop(given);
        // Before the permit is taken: a test that sees none given also sees that the worker runs.
        S::wakes(world, place, worker);
        *permit.given.lock().unwrap() = false;
    }
}

impl<S: Scene> Transport<Message<S::Bag>> for Here<'_, S> {
    fn send(&self, to: PlaceId, message: Message<S::Bag>) {
        S::carry(self.world, self.place, to, message);
    }

    fn close(&self) {
        self.world.close();
    }

    fn is_closed(&self) -> bool {
        self.world.closed.load(SeqCst)
    }
}
