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
    Operation, Stray, Wave, radix,
};
use tautline_core::comm::Status;
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
        self.begin(
            "all-to-all",
            Location::caller(),
            hold.into(),
            |rank, ranks| {
                let mut machine = AllToAll::new(rank, ranks);
                let mut values = Some(values);
                move |event, mut out: &mut dyn FnMut(Rank, T)| match event {
                    None => Ok(values
                        .take()
                        .and_then(|values| machine.begin(values, &mut out))),
                    Some((from, value)) => machine.on(from, value),
                }
            },
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
        self.begin(kind, site, hold, |rank, ranks| {
            let mut wave = Wave::new(branch(rank, ranks), operation);
            let mut own = Some(own);
            move |event, mut out: &mut dyn FnMut(Rank, Message<O::Up, O::Down>)| match event {
                None => Ok(own.take().and_then(|own| wave.begin(own, &mut out))),
                Some((from, message)) => wave.on(from, message, &mut out),
            }
        })
    }

    /// Opens a channel, and lets `step` take each message that arrives, first `None`, until it returns an output.
    fn begin<M, T, S>(
        &self,
        kind: &'static str,
        site: &Location<'_>,
        hold: Option<Hold>,
        step: impl FnOnce(Rank, u32) -> S,
    ) -> Request<T>
    where
        M: Portable + 'static,
        T: Send + Sync + 'static,
        S: Step<M, T> + 'static,
    {
        let Self { shared, endpoint } = self;
        if let Some(refused) = Request::refused(shared, endpoint) {
            return refused;
        }
        let cell = Arc::default();
        let state = State {
            step: Some(step(self.rank(), self.ranks())),
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
            .open_at(site, kind, 1, Steps(Arc::clone(&running)));
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

fn branch(rank: Rank, ranks: u32) -> Branch {
    Branch::new(rank, ranks, radix(ranks, LATENCY, GAP))
}

/// The state machine of an operation.
trait Step<M, T>:
    FnMut(Option<(Rank, M)>, &mut dyn FnMut(Rank, M)) -> Result<Option<T>, Stray> + Send
{
}

impl<M, T, S> Step<M, T> for S where
    S: FnMut(Option<(Rank, M)>, &mut dyn FnMut(Rank, M)) -> Result<Option<T>, Stray> + Send
{
}

/// An operation that has not ended.
struct Running<M: Portable + 'static, T, S> {
    here: Rank,
    state: Mutex<State<M, T, S>>,
}

struct State<M: Portable + 'static, T, S> {
    /// `None` after the end.
    step: Option<S>,
    /// `None` before the start, and after the end.
    channel: Option<Channel<M>>,
    /// What has arrived before the start.
    early: Vec<(Rank, M)>,
    /// `None` after the end.
    completion: Option<Completion<T>>,
    /// As `completion`.
    pending: Option<Pending>,
}

impl<M: Portable + 'static, T, S: Step<M, T>> Running<M, T, S> {
    fn start(&self, channel: Channel<M>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.completion.is_none() {
            // The channels have ended.
            return;
        }
        state.channel = Some(channel);
        let early = std::mem::take(&mut state.early);
        let mut ended = state.take(self.here, None);
        for message in early {
            ended = ended.or_else(|| state.take(self.here, Some(message)));
        }
        drop(state);
        finish(ended);
    }

    fn arrive(&self, from: Rank, message: M) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.channel.is_none() {
            if state.completion.is_some() {
                state.early.push((from, message));
            }
            return;
        }
        let ended = state.take(self.here, Some((from, message)));
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
struct End<M: Portable + 'static, T, S> {
    completion: Completion<T>,
    channel: Option<Channel<M>>,
    step: Option<S>,
    ended: Ended<T>,
}

/// Puts the result, outside of the lock: what waits for it may start operations.
fn finish<M: Portable + 'static, T, S>(ended: Option<End<M, T, S>>) {
    if let Some(end) = ended {
        drop(end.channel);
        // It has the operator, and values.
        contain(|| drop(end.step));
        end.completion.put(end.ended);
    }
}

impl<M: Portable + 'static, T, S: Step<M, T>> State<M, T, S> {
    fn take(&mut self, here: Rank, event: Option<(Rank, M)>) -> Option<End<M, T, S>> {
        let channel = self.channel.as_ref()?;
        let place = |rank: Rank| PlaceId(rank.0);
        let mut out = |to: Rank, message: M| channel.send(place(here), place(to), message);
        let step = self.step.as_mut()?;
        let ended = match step(event, &mut out) {
            Ok(None) => return None,
            Ok(Some(value)) => Ok(Received {
                value,
                status: Status::default(),
            }),
            Err(stray) => Err(Error::Stray(stray)),
        };
        self.end(ended)
    }

    /// Takes what has ended, with this result.
    fn end(&mut self, ended: Ended<T>) -> Option<End<M, T, S>> {
        self.pending = None;
        Some(End {
            completion: self.completion.take()?,
            channel: self.channel.take(),
            step: self.step.take(),
            ended,
        })
    }
}

/// The operation, as the exchange uses it.
struct Steps<R>(Arc<R>);

impl<M: Portable + 'static, T: Send + Sync, S: Step<M, T>> Receiver for Steps<Running<M, T, S>> {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Garbled> {
        let message = unpack(body)?;
        self.0.arrive(Rank(from.0), message);
        Ok(())
    }

    fn fail(&self, error: &wire::Error) {
        self.0.fail(Error::Wire(error.clone()));
    }
}
