//! Operations of all ranks as tasks: each ends in a cell, and no thread waits in it.

use super::request::{Completion, Ended};
use super::{Comm, Error, Received, Request};
use crate::contain::contain;
use crate::runtime::Hold;
use crate::world::collective::{GAP, LATENCY};
use crate::world::home::{AtHome, FromHome, FromHomeToAll};
use crate::world::{Pending, inside};
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use tautline_core::collective::{
    AllToAll, Branch, Collect, CollectForAll, Combine, CombineBefore, CombineForAll, Meet, Message,
    Operation, Wave, radix,
};
use tautline_core::comm::Status;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::wire::{self, Channel, Garbled, Portable, Receiver, unpack};
use tautline_core::{PlaceId, Rank};

/// Every rank starts the same operation, in the same order as others, with values of the same type; it ends when all have. Values
/// are combined in the order of ranks, so results have the same bits in every run. Each has a [`World`](crate::world::World)'s
/// operation of the same name that waits.
impl Comm {
    /// Starts an operation that ends when all ranks have started it.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let ended = world::loopback(3, |world| world.comm().barrier(None).wait());
    /// assert!(ended.iter().all(Result::is_ok));
    /// ```
    #[track_caller]
    pub fn barrier(&self, hold: impl Into<Option<Hold>>) -> Request<()> {
        self.wave("barrier", Location::caller(), hold.into(), Meet, ())
    }

    /// Starts an operation that brings rank 0's `value` to all ranks.
    #[track_caller]
    pub fn broadcast<T>(&self, hold: impl Into<Option<Hold>>, value: T) -> Request<T>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let operation = FromHomeToAll::of(value);
        self.wave("broadcast", Location::caller(), hold.into(), operation, ())
    }

    /// Starts an operation that brings to each rank the value that rank 0 has for it.
    ///
    /// # Panics
    /// At rank 0, if there is not one value for each rank.
    #[track_caller]
    pub fn scatter<T>(&self, hold: impl Into<Option<Hold>>, values: Vec<T>) -> Request<T>
    where
        T: Portable + Sync + 'static,
    {
        let (given, ranks) = (values.len(), self.ranks());
        let is_complete = self.rank() != Rank(0) || given == ranks as usize;
        assert!(is_complete, "{given} values for {ranks} ranks");
        self.wave(
            "scatter",
            Location::caller(),
            hold.into(),
            FromHome::of(values),
            (),
        )
    }

    /// Starts an operation that combines the values of all ranks at rank 0; the others get `None`.
    #[track_caller]
    pub fn reduce<T>(
        &self,
        hold: impl Into<Option<Hold>>,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<Option<T>>
    where
        T: Portable + Sync + 'static,
    {
        let operation = AtHome::of(Combine::by(operator));
        self.wave("reduce", Location::caller(), hold.into(), operation, value)
    }

    /// Starts an operation that brings the values of all ranks, by rank, to rank 0; the others get `None`.
    #[track_caller]
    pub fn gather<T>(&self, hold: impl Into<Option<Hold>>, value: T) -> Request<Option<Vec<T>>>
    where
        T: Portable + Sync + 'static,
    {
        let operation = AtHome::of(Collect::default());
        self.wave("gather", Location::caller(), hold.into(), operation, value)
    }

    /// Starts an operation that combines the values of all ranks, for all. `operator` must be associative.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let sums = world::loopback(3, |world| {
    ///     let sum = world.comm().all_reduce(None, world.rank().0, |a, b| a + b);
    ///     sum.wait().map(|sum| sum.value)
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [3, 3, 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<T>(
        &self,
        hold: impl Into<Option<Hold>>,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<T>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let operation = CombineForAll::by(operator);
        self.wave(
            "all-reduce",
            Location::caller(),
            hold.into(),
            operation,
            value,
        )
    }

    /// Starts an operation that brings the values of all ranks, by rank, to all.
    #[track_caller]
    pub fn all_gather<T>(&self, hold: impl Into<Option<Hold>>, value: T) -> Request<Vec<T>>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let operation = CollectForAll::default();
        self.wave(
            "all-gather",
            Location::caller(),
            hold.into(),
            operation,
            value,
        )
    }

    /// Starts an operation that combines, for each rank, the values of the ranks before it; rank 0 gets `None`.
    #[track_caller]
    pub fn scan<T>(
        &self,
        hold: impl Into<Option<Hold>>,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<Option<T>>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let operation = CombineBefore::by(operator);
        self.wave("scan", Location::caller(), hold.into(), operation, value)
    }

    /// Starts an operation that sends one of `values` to each rank, by rank, and brings those of all ranks for this one, by rank.
    ///
    /// # Panics
    /// If there is not one value for each rank.
    #[track_caller]
    pub fn all_to_all<T>(&self, hold: impl Into<Option<Hold>>, values: Vec<T>) -> Request<Vec<T>>
    where
        T: Portable + Sync + 'static,
    {
        let (given, ranks) = (values.len(), self.ranks());
        assert_eq!(given, ranks as usize, "{given} values for {ranks} ranks");
        let machine = AllToAll::new(self.rank(), ranks);
        self.begin(
            "all-to-all",
            Location::caller(),
            hold.into(),
            machine,
            values,
        )
    }

    /// Starts an operation along the tree of ranks.
    fn wave<O>(
        &self,
        kind: &'static str,
        site: &Location<'_>,
        hold: Option<Hold>,
        operation: O,
        own: O::Own,
    ) -> Request<O::Output>
    where
        O: Operation + Send + 'static,
        O::Own: Send,
        O::Up: Send,
        O::Output: Send + Sync,
        Message<O::Up, O::Down>: Portable + 'static,
    {
        let ranks = self.ranks();
        let branch = Branch::new(self.rank(), ranks, radix(ranks, LATENCY, GAP));
        self.begin(kind, site, hold, Wave::new(branch, operation), own)
    }

    /// Opens a channel, and lets `machine` begin with `own`, and process each message that arrives, until it has ended.
    fn begin<M>(
        &self,
        kind: &'static str,
        site: &Location<'_>,
        hold: Option<Hold>,
        machine: M,
        own: M::Event,
    ) -> Request<M::Effect>
    where
        M: Machine<Peer = Rank, Calls = ()> + Send + 'static,
        M::Message: Portable,
        M::Event: Send,
        M::Effect: Send + Sync,
    {
        let Self { shared, endpoint } = self;
        if let Some(refused) = Request::refused(shared, endpoint) {
            return refused;
        }
        let cell = Arc::default();
        let state = State {
            machine: Some(machine),
            own: Some(own),
            channel: None,
            early: Vec::new(),
            completion: Some(Completion::new(Arc::clone(&cell), hold)),
            pending: Some(Pending::new(&shared.pending)),
        };
        let running = Arc::new(Running {
            here: self.rank(),
            state: Mutex::new(state),
        });
        let channel = shared
            .exchange
            .open_at(site, kind, 1, Inbox(Arc::clone(&running)));
        if inside(|| running.start(channel)).is_none() {
            shared.give_up();
        }
        if !shared.is_dedicated() {
            // Sends, and ends the operation if the channels have ended: its errors reach the request.
            inside(|| _ = shared.exchange.turn());
        }
        shared.drive_alone();
        Request::of(shared, cell)
    }
}

/// An operation that has not ended.
struct Running<M: Machine>
where
    M::Message: Portable + 'static,
{
    here: Rank,
    state: Mutex<State<M>>,
}

struct State<M: Machine>
where
    M::Message: Portable + 'static,
{
    /// `None` after the end.
    machine: Option<M>,
    /// What it begins with; `None` after the start.
    own: Option<M::Event>,
    /// `None` before the start, and after the end.
    channel: Option<Channel<M::Message>>,
    /// What has arrived before the start.
    early: Vec<(Rank, M::Message)>,
    /// `None` after the end.
    completion: Option<Completion<M::Effect>>,
    /// As `completion`.
    pending: Option<Pending>,
}

impl<M> Running<M>
where
    M: Machine<Peer = Rank, Calls = ()>,
    M::Message: Portable + 'static,
{
    fn start(&self, channel: Channel<M::Message>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.completion.is_none() {
            // The channels have ended.
            return;
        }
        state.channel = Some(channel);
        let early = std::mem::take(&mut state.early);
        let mut ended = state.begin(self.here);
        for (from, message) in early {
            ended = ended.or_else(|| state.receive(self.here, from, message));
        }
        drop(state);
        finish(ended);
    }

    fn arrive(&self, from: Rank, message: M::Message) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.channel.is_none() {
            if state.completion.is_some() {
                state.early.push((from, message));
            }
            return;
        }
        let ended = state.receive(self.here, from, message);
        drop(state);
        finish(ended);
    }

    fn fail(&self, error: Error) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let early = std::mem::take(&mut state.early);
        let ended = state.end(Err(error));
        drop(state);
        contain(|| drop(early));
        finish(ended);
    }
}

/// An operation that has ended.
struct End<M: Machine>
where
    M::Message: Portable + 'static,
{
    completion: Completion<M::Effect>,
    channel: Option<Channel<M::Message>>,
    machine: (Option<M>, Option<M::Event>),
    ended: Ended<M::Effect>,
}

/// Puts the result, outside of the lock: what waits for it may start operations.
fn finish<M: Machine>(ended: Option<End<M>>)
where
    M::Message: Portable + 'static,
{
    if let Some(end) = ended {
        drop(end.channel);
        // It has the operator, and values.
        contain(|| drop(end.machine));
        end.completion.put(end.ended);
    }
}

impl<M> State<M>
where
    M: Machine<Peer = Rank, Calls = ()>,
    M::Message: Portable + 'static,
{
    fn begin(&mut self, here: Rank) -> Option<End<M>> {
        let own = self.own.take()?;
        self.step(here, |machine, step| {
            machine.event(own, step);
            Ok(())
        })
    }

    fn receive(&mut self, here: Rank, from: Rank, message: M::Message) -> Option<End<M>> {
        self.step(here, |machine, step| {
            let received = machine.receive(from, message, step);
            received.map_err(|refusal| Error::Refused {
                from,
                why: refusal.to_string(),
            })
        })
    }

    fn step(
        &mut self,
        here: Rank,
        take: impl FnOnce(&mut M, &mut Step<'_, M>) -> Result<(), Error>,
    ) -> Option<End<M>> {
        let channel = self.channel.as_ref()?;
        let place = |rank: Rank| PlaceId(rank.0);
        let mut output = None;
        let mut act = |action: Action<M>| match action {
            Action::Send(to, message) => channel.send(place(here), place(to), message),
            Action::Effect(ended) => output = Some(ended),
        };
        let taken = take(self.machine.as_mut()?, &mut Step::new(&mut (), &mut act));
        let ended = match (taken, output) {
            (Ok(()), None) => return None,
            (Ok(()), Some(value)) => Ok(Received {
                value,
                status: Status::default(),
            }),
            (Err(error), _) => Err(error),
        };
        self.end(ended)
    }

    /// Takes what has ended, with this result.
    fn end(&mut self, ended: Ended<M::Effect>) -> Option<End<M>> {
        self.pending = None;
        Some(End {
            completion: self.completion.take()?,
            channel: self.channel.take(),
            machine: (self.machine.take(), self.own.take()),
            ended,
        })
    }
}

/// The operation, as the exchange uses it.
struct Inbox<M: Machine>(Arc<Running<M>>)
where
    M::Message: Portable + 'static;

impl<M> Receiver for Inbox<M>
where
    M: Machine<Peer = Rank, Calls = ()> + Send,
    M::Message: Portable + 'static,
    M::Event: Send,
    M::Effect: Send + Sync,
{
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Garbled> {
        let message = unpack(body)?;
        self.0.arrive(Rank(from.0), message);
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        self.0.fail(Error::Wire(error.clone()));
    }
}
