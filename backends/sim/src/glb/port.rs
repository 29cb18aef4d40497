//! The port of a simulated place, and the state of all places.

use super::phases::Profile;
use super::{Interim, WATCH_EVERY};
use crate::Machine;
use crate::engine::{Here, Weigh, World};
use std::cell::{Cell, RefCell};
use tautline_core::glb::{Bag, Message, Pile};
use tautline_core::port::{Clock, Relax, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// The kinds of messages that are counted separately.
pub(super) const LOOT: usize = 0;
pub(super) const ANSWER: usize = 1;
pub(super) const REPORT: usize = 2;
pub(super) const OTHER: usize = 3;

/// A message of the balancer, with its size.
#[derive(Debug)]
pub(super) struct Parcel<B> {
    pub(super) message: Message<B>,
    bytes: u64,
}

impl<B: Bag> Weigh for Parcel<B> {
    const KINDS: usize = 4;

    fn kind(&self) -> usize {
        match self.message {
            Message::Loot(_) => LOOT,
            Message::Answer(Some(_)) => ANSWER,
            Message::Report(_) => REPORT,
            Message::Answer(None) | Message::Request { .. } | Message::Bound(_) => OTHER,
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// State of all places: the world, its costs, and the locks of the reserves.
#[derive(Debug)]
pub(super) struct SimPlaces<B> {
    pub(super) world: World<Parcel<B>>,
    pub(super) machine: Machine,
    pub(super) raceless: bool,
    /// By place: until when its reserves are locked.
    locked: Vec<[Cell<u64>; 2]>,
    /// Steps begun, for the watch.
    steps: Cell<u64>,
    /// All tasks done, and their duration.
    tasks: Cell<u64>,
    work_ns: Cell<u64>,
    profile: RefCell<Profile>,
    lost: Cell<Option<PlaceId>>,
}

impl<B: Bag> SimPlaces<B> {
    pub(super) fn new(
        world: World<Parcel<B>>,
        machine: Machine,
        raceless: bool,
        places: u32,
    ) -> Self {
        Self {
            world,
            machine,
            raceless,
            steps: Cell::new(0),
            tasks: Cell::new(0),
            work_ns: Cell::new(0),
            profile: RefCell::new(Profile::new(places)),
            lost: Cell::new(None),
            locked: vec![[const { Cell::new(0) }; 2]; places as usize],
        }
    }

    /// Returns the port of `place`.
    pub(super) fn at(&self, place: PlaceId) -> SimPort<'_, B> {
        SimPort {
            places: self,
            here: self.world.at(place),
        }
    }

    /// Counts a step that begins. Returns the progress of the computation, before each
    /// [`WATCH_EVERY`]th from the first on.
    #[inline]
    pub(super) fn interim(&self) -> Option<Interim> {
        let steps = self.steps.get();
        self.steps.set(steps + 1);
        (steps % WATCH_EVERY == 0).then(|| Interim {
            virtual_ns: self.world.now(),
            tasks: self.tasks.get(),
        })
    }

    /// Adds tasks that begin now at `place`, and their duration.
    pub(super) fn worked(&self, place: PlaceId, tasks: usize, ns: u64) {
        self.profile.borrow_mut().add(place, self.world.now(), ns);
        self.tasks.set(self.tasks.get() + tasks as u64);
        self.work_ns.set(self.work_ns.get().saturating_add(ns));
    }

    /// Returns the duration of all tasks done.
    pub(super) fn work_ns(&self) -> u64 {
        self.work_ns.get()
    }

    /// Returns when places worked.
    pub(super) fn profile(&self) -> Profile {
        self.profile.borrow().clone()
    }

    /// Records that `place` cannot be reached; the first one counts.
    pub(super) fn lose(&self, place: PlaceId) {
        self.lost.set(self.lost.get().or(Some(place)));
    }

    /// Returns the place that could not be reached, if the computation was stopped by that.
    pub(super) fn lost(&self) -> Option<PlaceId> {
        self.lost.get()
    }

    /// Locks a reserve for a step that begins now; returns until when it is locked by another.
    pub(super) fn lock(&self, place: PlaceId, pile: Pile) -> Result<(), u64> {
        let locked = &self.locked[place.index()][usize::from(pile == Pile::Inter)];
        let now = self.world.now();
        if locked.get() > now && !self.raceless {
            return Err(locked.get());
        }
        locked.set(now + self.machine.merge_ns);
        Ok(())
    }
}

/// The port of one place.
#[derive(Debug)]
pub(super) struct SimPort<'w, B> {
    places: &'w SimPlaces<B>,
    here: Here<'w, Parcel<B>>,
}

impl<B: Bag> Clock for SimPort<'_, B> {
    fn now(&self) -> u64 {
        self.places.world.now()
    }
}

impl<B: Bag> Relax for SimPort<'_, B> {
    fn relax(&self, _: u32) {
        unreachable!("steps are taken one at a time: no lock is held by another thread");
    }
}

impl<B: Bag> Unpark for SimPort<'_, B> {
    fn unpark(&self, worker: WorkerId) {
        self.here.wake(worker.0, self.places.machine.merge_ns);
    }
}

impl<B: Bag> Transport<Message<B>> for SimPort<'_, B> {
    fn send(&self, to: PlaceId, message: Message<B>) {
        let machine = &self.places.machine;
        let loot = message.loot();
        if loot.is_some() {
            self.here.pass(machine.split_ns);
        }
        self.here.pass(machine.send_ns);
        let tasks = loot.map_or(0, |loot| loot.len() as u64);
        let delay_ns = machine.loot_task_ns.saturating_mul(tasks);
        let loot_bytes = machine.task_bytes.saturating_mul(tasks);
        let bytes = machine.message_bytes.saturating_add(loot_bytes);
        self.here.send(to, Parcel { message, bytes }, delay_ns);
    }

    fn close(&self) {
        self.places.world.close();
    }

    fn is_closed(&self) -> bool {
        self.places.world.closed().is_some()
    }
}
