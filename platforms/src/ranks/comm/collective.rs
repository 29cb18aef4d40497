//! Collective operations as tasks: each ends in a cell, and no thread waits in it.

use super::request::Completion;
use super::{Comm, Error, Received, Request, Result};
use crate::process::contain::contain;
use crate::ranks::collective::{Call, calls};
use crate::ranks::engine::inside;
use crate::ranks::error::RankError;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use tautline_core::Rank;
use tautline_core::comm::Status;
use tautline_core::machine::Machine;
use tautline_core::progress::Pending;
use tautline_core::service::{Handler, Operation, Service, WireHandler, WireMachine};
use tautline_core::wire::{self, Portable};

/// The root of calls that have one.
const ROOT: Rank = Rank(0);

/// Every rank starts the same operation, in the same order as others, with values of the same type;
/// it ends when all have. Values are combined in the order of ranks, so results have the same bits
/// in every run. Each has a [`World`](crate::world::World)'s operation of the same name that waits.
impl Comm {
    /// Starts an operation that ends when all ranks have started it.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let ended = world::loopback(3, |world| world.comm().barrier().wait_blocking());
    /// assert!(ended.iter().all(Result::is_ok));
    /// ```
    #[track_caller]
    pub fn barrier(&self) -> Request<()> {
        let call = calls::barrier(self.calls.group());
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that brings rank 0's `value` to all ranks.
    #[track_caller]
    pub fn broadcast<T>(&self, value: T) -> Request<T>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let call = calls::broadcast(self.calls.group(), ROOT, value);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that brings to each rank the value that rank 0 has for it.
    ///
    /// # Panics
    /// At rank 0, if there is not one value for each rank.
    #[track_caller]
    pub fn scatter<T>(&self, values: Vec<T>) -> Request<T>
    where
        T: Portable + Sync + 'static,
    {
        let call = calls::scatter(self.calls.group(), ROOT, values);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that combines the values of all ranks at rank 0; the others get `None`.
    #[track_caller]
    pub fn reduce<T>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<Option<T>>
    where
        T: Portable + Sync + 'static,
    {
        let call = calls::reduce(self.calls.group(), ROOT, value, operator);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that brings the values of all ranks, by rank, to rank 0; the others get
    /// `None`.
    #[track_caller]
    pub fn gather<T>(&self, value: T) -> Request<Option<Vec<T>>>
    where
        T: Portable + Sync + 'static,
    {
        let call = calls::gather(self.calls.group(), ROOT, value);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that combines the values of all ranks, for all. `operator` must be
    /// associative.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let sums = world::loopback(3, |world| {
    ///     let sum = world.comm().all_reduce(world.rank().0, |a, b| a + b);
    ///     sum.wait_blocking().map(|sum| sum.value)
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [3, 3, 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<T>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<T>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let call = calls::all_reduce(self.calls.group(), value, operator);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that brings the values of all ranks, by rank, to all.
    #[track_caller]
    pub fn all_gather<T>(&self, value: T) -> Request<Vec<T>>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let call = calls::all_gather(self.calls.group(), value);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that combines, for each rank, the values of the ranks before it; rank 0
    /// gets `None`.
    #[track_caller]
    pub fn scan<T>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Request<Option<T>>
    where
        T: Portable + Clone + Sync + 'static,
    {
        let call = calls::scan(self.calls.group(), value, operator);
        self.begin(Location::caller(), call)
    }

    /// Starts an operation that sends one of `values` to each rank, by rank, and brings those of
    /// all ranks for this one, by rank.
    ///
    /// # Panics
    /// If there is not one value for each rank.
    #[track_caller]
    pub fn all_to_all<T>(&self, values: Vec<T>) -> Request<Vec<T>>
    where
        T: Portable + Sync + 'static,
    {
        let call = calls::all_to_all(self.calls.group(), values);
        self.begin(Location::caller(), call)
    }

    /// Begins a call, whose machine processes each message that arrives, until it has ended.
    fn begin<M>(&self, site: &'static Location<'static>, call: Call<M>) -> Request<M::Effect>
    where
        M: WireMachine<Peer = Rank, Calls = (), Effect: Sync>,
    {
        let Self {
            engine, endpoint, ..
        } = self;
        if let Some(refused) = Request::refused(engine, endpoint) {
            return refused;
        }
        let Call { kind, machine, own } = call;
        let running = Arc::default();
        let completion = Completion::new(Arc::clone(&running));
        let pending = Pending::new(&engine.progress);
        let end = End(Mutex::new(Some((completion, pending))));
        let service = Arc::new(Service::new(machine, Box::new(()), end));
        let begun = inside(|| service.event(own));
        // Also after a panic: the end of the channels then reaches the request.
        let opened = inside(|| service.begin(&self.calls, site, kind));
        if begun.is_none() || opened.is_none() {
            engine.give_up();
            service.handler().put(Err(Error::Panicked), &service);
        }
        if !engine.progress.is_dedicated() {
            // Sends, and ends the operation if the channels have ended: its errors reach the
            // request.
            inside(|| _ = engine.exchange.turn());
        }
        engine.drive_alone();
        Request::of(engine, running)
    }
}

/// The end of an operation; empty afterwards.
struct End<T>(Mutex<Option<(Completion<T>, Pending)>>);

type Running<M> = Service<M, Operation<<M as Machine>::Message>, End<<M as Machine>::Effect>>;

impl<T: Send + Sync> End<T> {
    /// Ends the operation with this result, for the first call.
    fn put<M>(&self, ended: Result<Received<T>>, operation: &Running<M>)
    where
        M: WireMachine<Peer = Rank, Effect = T>,
    {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((completion, pending)) = taken else {
            return;
        };
        drop(pending);
        // It has the operator, and values.
        contain(|| drop(operation.stop()));
        completion.put(ended);
    }
}

impl<M> Handler<M, Operation<M::Message>> for End<M::Effect>
where
    M: WireMachine<Peer = Rank, Effect: Sync>,
{
    fn effect(&self, value: M::Effect, operation: &Running<M>) {
        let status = Status::default();
        self.put(Ok(Received { value, status }), operation);
    }

    fn refused(&self, from: Rank, refusal: M::Refusal, operation: &Running<M>) {
        let why = refusal.to_string();
        self.put(Err(Error::Rank(RankError::refused(from, why))), operation);
    }
}

impl<M> WireHandler<M, Operation<M::Message>> for End<M::Effect>
where
    M: WireMachine<Peer = Rank, Effect: Sync>,
{
    fn failed(&self, error: &wire::Error, operation: &Running<M>) {
        self.put(Err(error.clone().into()), operation);
    }
}
