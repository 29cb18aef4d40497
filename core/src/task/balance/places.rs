//! The places of one balanced computation, in the memory that the workers of a pool share.

use crate::glb::{Bag, Config, Message, Team};
use crate::id::{PlaceId, WorkerId};
use crate::port::{Clock, Host, Relax, Transport, Unpark};
use crate::sync::{AtomicBool, Lock, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::task::Waker;

/// The teams of a computation and the wakers of their workers.
///
/// # Orderings
/// | id | release side | acquire side | what becomes visible | model |
/// |---|---|---|---|---|
/// | PL1 | `close` | `is_closed` | what led to the end | none: see `close` |
/// | PL2 | `wake` unlocks a slot | `register` locks it | what the worker is woken for | `balance_*` in `verify/tests/task.rs` |
pub(super) struct Places<'p, B: Bag, P> {
    port: &'p P,
    teams: Vec<Team<B>>,
    /// By place and worker: the waker, `None` until the worker is polled first.
    wakers: Vec<Box<[Slot]>>,
    closed: AtomicBool,
}

/// The waker of a worker, once it is known.
type Slot = Lock<Option<Waker>>;

impl<'p, B: Bag, P: Host> Places<'p, B, P> {
    pub(super) fn new(config: &Config, shared: impl Fn(PlaceId) -> B::Shared, port: &'p P) -> Self {
        let places = || (0..config.places).map(PlaceId);
        let wakers = |place| {
            (0..config.threads_of(place))
                .map(|_| Lock::new(None))
                .collect()
        };
        Self {
            port,
            teams: places()
                .map(|place| Team::new(place, config, shared(place)))
                .collect(),
            wakers: places().map(wakers).collect(),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn port(&self) -> &'p P {
        self.port
    }

    pub(super) fn team(&self, place: PlaceId) -> &Team<B> {
        &self.teams[place.index()]
    }

    /// Returns the view that `place` has of the computation.
    pub(super) fn at(&self, place: PlaceId) -> Here<'_, 'p, B, P> {
        Here {
            places: self,
            place,
        }
    }

    /// Registers how to wake a worker, before the steps of each poll. Both this and `unpark` take the
    /// lock of the slot: either these steps observe what the `unpark` was for, or it finds the waker
    /// (PL2).
    pub(super) fn register(&self, (place, worker): (PlaceId, WorkerId), waker: &Waker) {
        let mut slot = self.wakers[place.index()][worker.index()].lock(self.port);
        match &mut *slot {
            Some(known) => known.clone_from(waker),
            unknown => *unknown = Some(waker.clone()),
        }
    }

    /// Ends the computation and wakes all workers.
    pub(super) fn close(&self) {
        // ORDERING: Release, pairs with Acquire in is_closed (PL1); no mutant: the models of the team use a transport of
        // their own, this one runs under ThreadSanitizer.
        self.closed.store(true, Ordering::Release);
        for waker in self.wakers.iter().flatten() {
            self.wake(waker);
        }
    }

    pub(super) fn into_teams(self) -> Vec<Team<B>> {
        self.teams
    }

    fn wake(&self, waker: &Slot) {
        if let Some(waker) = &*waker.lock(self.port) {
            waker.wake_by_ref();
        }
    }
}

/// One place's view: the port of its team.
pub(super) struct Here<'a, 'p, B: Bag, P> {
    places: &'a Places<'p, B, P>,
    place: PlaceId,
}

impl<B: Bag, P: Host> Clock for Here<'_, '_, B, P> {
    #[inline]
    fn now(&self) -> u64 {
        self.places.port.now()
    }
}

impl<B: Bag, P: Host> Relax for Here<'_, '_, B, P> {
    fn relax(&self, turn: u32) {
        self.places.port.relax(turn);
    }
}

impl<B: Bag, P: Host> Unpark for Here<'_, '_, B, P> {
    fn unpark(&self, worker: WorkerId) {
        let places = self.places;
        places.wake(&places.wakers[self.place.index()][worker.index()]);
    }
}

impl<B: Bag, P: Host> Transport<Message<B>> for Here<'_, '_, B, P> {
    fn send(&self, to: PlaceId, message: Message<B>) {
        let places = self.places;
        places.team(to).deliver(self.place, message, &places.at(to));
    }

    fn close(&self) {
        self.places.close();
    }

    #[inline]
    fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close (PL1); no mutant: as there.
        self.places.closed.load(Ordering::Acquire)
    }
}
