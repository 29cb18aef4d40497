//! The places of one balanced computation, in the memory that the workers of a pool share.

#[cfg(feature = "wire")]
use crate::glb::Lender;
use crate::glb::{Bag, Config, Message, Team};
use crate::id::{PlaceId, WorkerId};
use crate::port::{Clock, Host, Relax, Transport, Unpark, Unwind};
use crate::sync::{AtomicBool, Lock, Ordering};
use alloc::boxed::Box;
#[cfg(feature = "wire")]
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use core::task::Waker;

/// The teams of a computation and the wakers of their workers.
///
/// # Orderings
/// | id | release side | acquire side | what becomes visible | model |
/// |---|---|---|---|---|
/// | PL1 | `close` | `is_closed` | what led to the end | `verify/litmus/places.toml` |
/// | PL2 | `wake` unlocks a slot | `register` locks it | what the worker is woken for | `balance_*` in `verify/tests/balance.rs` |
pub(super) struct Places<'p, B: Bag, P, X = NoRemote> {
    port: &'p P,
    /// The number of the first place here.
    first: u32,
    teams: Vec<Team<B>>,
    remote: X,
    /// By place and worker.
    wakers: Vec<Box<[Slot]>>,
    closed: AtomicBool,
}

/// The waker of a worker.
struct Slot {
    /// `None` until it is polled first.
    waker: Lock<Option<Waker>>,
    /// Whether it was woken since it last began to wait.
    is_woken: AtomicBool,
}

/// The places of a computation that are in other processes.
pub(super) trait Remote<B: Bag>: Sync {
    /// Whether there are remote places.
    const HAS_PLACES: bool;

    /// A registration of a worker that polls for messages.
    type Attendance<'a>
    where
        Self: 'a;

    /// Registers the caller, which polls for messages until it drops the result.
    fn attend(&self) -> Self::Attendance<'_>;

    /// Sends `message` from a place here to one there.
    fn send(&self, from: PlaceId, to: PlaceId, message: Message<B>);

    /// Whether messages from there have arrived; a hint, read after each turn of a worker.
    fn has_news(&self, unwind: &impl Unwind) -> bool;

    /// Delivers arrived messages by `deliver`, which takes the sender, the receiver and the
    /// message.
    fn receive(&self, deliver: impl FnMut(PlaceId, PlaceId, Message<B>));

    /// Called when the places here are closed.
    fn closed(&self);

    /// Called when the places here will be closed before the computation has ended.
    fn abandoned(&self);

    /// Called when the places here will be closed for a message of `from` that no correct place
    /// sends.
    fn refused(&self, from: PlaceId, why: &dyn fmt::Display);
}

/// No place is in another process.
pub(super) struct NoRemote;

impl<B: Bag> Remote<B> for NoRemote {
    const HAS_PLACES: bool = false;
    type Attendance<'a> = ();

    #[inline(always)]
    fn attend(&self) {}

    fn send(&self, _: PlaceId, to: PlaceId, _: Message<B>) {
        unreachable!("{to} is not a place of the computation")
    }

    #[inline(always)]
    fn has_news(&self, _: &impl Unwind) -> bool {
        false
    }

    fn receive(&self, _: impl FnMut(PlaceId, PlaceId, Message<B>)) {}

    fn closed(&self) {}

    fn abandoned(&self) {}

    fn refused(&self, from: PlaceId, _: &dyn fmt::Display) {
        unreachable!("{from} is not a place of the computation")
    }
}

impl<'p, B: Bag, P: Host> Places<'p, B, P> {
    pub(super) fn new(config: &Config, shared: impl Fn(PlaceId) -> B::Shared, port: &'p P) -> Self {
        Self::among(|_| *config, 0..config.places, shared, port, NoRemote)
    }
}

impl<'p, B: Bag, P: Host, X: Remote<B>> Places<'p, B, P, X> {
    /// Creates those places of a computation that are in `range`, each with its parameters.
    pub(super) fn among(
        config_of: impl Fn(PlaceId) -> Config,
        range: Range<u32>,
        shared: impl Fn(PlaceId) -> B::Shared,
        port: &'p P,
        remote: X,
    ) -> Self {
        let places = || range.clone().map(PlaceId);
        let wakers = |place| {
            (0..config_of(place).threads_of(place))
                .map(|_| Slot {
                    waker: Lock::new(None),
                    is_woken: AtomicBool::new(false),
                })
                .collect()
        };
        Self {
            port,
            first: range.start,
            teams: places()
                .map(|place| Team::new(place, &config_of(place), shared(place)))
                .collect(),
            remote,
            wakers: places().map(wakers).collect(),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the position of a place among those here; beyond them if it is remote.
    #[inline]
    fn index(&self, place: PlaceId) -> usize {
        place.0.wrapping_sub(self.first) as usize
    }

    /// Delivers messages that have arrived from other processes. Returns whether there were any.
    #[inline]
    pub(super) fn receive(&self) -> bool {
        let has_news = self.remote.has_news(self.port);
        if has_news {
            self.remote.receive(|from, to, message| {
                self.team(to).deliver(from, message, &self.at(to));
            });
        }
        has_news
    }

    /// Returns the parts of the places here that serve other processes.
    #[cfg(feature = "wire")]
    pub(super) fn lenders(&self) -> impl Iterator<Item = Arc<Lender<B>>> {
        self.teams.iter().map(|team| Arc::clone(team.lender()))
    }

    pub(super) fn remote(&self) -> &X {
        &self.remote
    }

    #[cfg(feature = "wire")]
    pub(super) fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close (PL1).
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn port(&self) -> &'p P {
        self.port
    }

    pub(super) fn team(&self, place: PlaceId) -> &Team<B> {
        &self.teams[self.index(place)]
    }

    /// Returns the view that `place` has of the computation.
    pub(super) fn at(&self, place: PlaceId) -> Here<'_, 'p, B, P, X> {
        Here {
            places: self,
            place,
        }
    }

    /// Registers how to wake a worker, before the steps of each poll. Both this and `unpark` take
    /// the lock of the slot: either these steps observe what the `unpark` was for, or it finds the
    /// waker (PL2).
    pub(super) fn register(&self, (place, worker): (PlaceId, WorkerId), waker: &Waker) {
        let mut slot = self.slot((place, worker)).waker.lock(self.port);
        match &mut *slot {
            Some(known) => known.clone_from(waker),
            unknown => *unknown = Some(waker.clone()),
        }
    }

    /// Ends the computation and wakes all workers.
    pub(super) fn close(&self) {
        // ORDERING: Release, pairs with Acquire in is_closed (PL1).
        self.closed.store(true, Ordering::Release);
        for waker in self.wakers.iter().flatten() {
            self.wake(waker);
        }
        self.remote.closed();
    }

    /// Ends the computation without its result: a worker cannot go on.
    pub(super) fn abandon(&self) {
        self.remote.abandoned();
        self.close();
    }

    pub(super) fn into_parts(self) -> (Vec<Team<B>>, X) {
        (self.teams, self.remote)
    }

    fn slot(&self, (place, worker): (PlaceId, WorkerId)) -> &Slot {
        &self.wakers[self.index(place)][worker.index()]
    }

    fn wake(&self, slot: &Slot) {
        // ORDERING: Relaxed: a hint; the worker finds out in its next step.
        slot.is_woken.store(true, Ordering::Relaxed);
        if let Some(waker) = &*slot.waker.lock(self.port) {
            waker.wake_by_ref();
        }
    }

    /// Polls for messages until an idle worker is woken, or `may_wait` returns false. Returns
    /// whether it was woken.
    pub(super) fn linger(
        &self,
        seat: (PlaceId, WorkerId),
        mut may_wait: impl FnMut() -> bool,
    ) -> bool {
        let is_woken = &self.slot(seat).is_woken;
        // ORDERING: Relaxed: only this worker resets it.
        while !is_woken.swap(false, Ordering::Relaxed) {
            if !may_wait() {
                return false;
            }
            self.receive();
        }
        true
    }
}

/// One place's view: the port of its team.
pub(super) struct Here<'a, 'p, B: Bag, P, X> {
    places: &'a Places<'p, B, P, X>,
    place: PlaceId,
}

impl<B: Bag, P: Host, X: Remote<B>> Clock for Here<'_, '_, B, P, X> {
    #[inline]
    fn now(&self) -> u64 {
        self.places.port.now()
    }
}

impl<B: Bag, P: Host, X: Remote<B>> Relax for Here<'_, '_, B, P, X> {
    fn relax(&self, turn: u32) {
        self.places.port.relax(turn);
    }
}

impl<B: Bag, P: Host, X: Remote<B>> Unpark for Here<'_, '_, B, P, X> {
    fn unpark(&self, worker: WorkerId) {
        let places = self.places;
        places.wake(places.slot((self.place, worker)));
    }
}

impl<B: Bag, P: Host, X: Remote<B>> Transport<Message<B>> for Here<'_, '_, B, P, X> {
    fn send(&self, to: PlaceId, message: Message<B>) {
        let places = self.places;
        match places.teams.get(places.index(to)) {
            Some(team) => team.deliver(self.place, message, &places.at(to)),
            None => places.remote.send(self.place, to, message),
        }
    }

    fn close(&self) {
        self.places.close();
    }

    #[inline]
    fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close (PL1).
        self.places.closed.load(Ordering::Acquire)
    }

    fn refuse(&self, from: PlaceId, why: &dyn fmt::Display) {
        let places = self.places;
        assert!(
            places.teams.get(places.index(from)).is_none(),
            "the balancer's protocol is violated by {from}: {why}"
        );
        places.remote.refused(from, why);
        places.close();
    }
}
