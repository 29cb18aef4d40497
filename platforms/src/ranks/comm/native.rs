//! Collective operations that the library of the link carries out.

use super::request::{Completion, Decode, Task, elements};
use super::{Comm, Error, LONGEST, Request};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Complete, Done, Matched, Number, Operator, Outcome, PacketLink, Status,
};
use tautline_core::progress::Pending;
use tautline_core::wire::Plain;

/// The collective operations of the link's own library, MPI's: on vectors of numbers, combined in
/// an order that is the library's. Made by [`Comm::native`].
///
/// Those of [`Comm`] take any values and operators, combine in the order of ranks, and name ranks
/// that make another call.
#[derive(Clone)]
pub struct Native {
    comm: Comm,
    packets: Arc<dyn PacketLink>,
    matched: Matched,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the library's operations of {}", self.comm.rank())
    }
}

/// Counts as an operation that has not ended.
struct Counted<C> {
    task: Arc<C>,
    _pending: Pending,
}

impl<C: Complete> Complete for Counted<C> {
    fn complete(self: Arc<Self>, outcome: Outcome) {
        Arc::clone(&self.task).complete(outcome);
    }
}

impl Comm {
    /// Returns the collective operations that the library of the link carries out; `None` over
    /// links without such a library, which are all but MPI's. All ranks call it, in the same order
    /// as other calls of the world.
    ///
    /// The library does not check what the others send: the caller must [promise](Matched::promise)
    /// that all ranks start the same operations of all that this method returns for this
    /// communicator, in the same order, with vectors of the same types and lengths.
    ///
    /// ```
    /// use tautline::comm::{Matched, Operator};
    /// use tautline::world;
    ///
    /// let sums = world::loopback(2, |world| {
    ///     let comm = world.comm();
    ///     // SAFETY: all ranks make the same calls with vectors of one element.
    ///     let matched = unsafe { Matched::promise() };
    ///     match comm.native(matched) {
    ///         Some(native) => native.all_reduce(vec![1u64], Operator::Sum).wait_blocking().map(|sum| sum.value[0]),
    ///         None => comm.all_reduce(1u64, |a, b| a + b).wait_blocking().map(|sum| sum.value),
    ///     }
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [2, 2]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn native(&self, matched: Matched) -> Option<Native> {
        self.engine.assert_rank();
        let packets = self.engine.packets.clone()?;
        packets.open_collectives(self.endpoint.number());
        Some(Native {
            comm: self.clone(),
            packets,
            matched,
        })
    }
}

impl Native {
    /// Starts an operation that ends when all ranks have started it.
    pub fn barrier(&self) -> Request<()> {
        let none = (Body::default(), Body::default());
        self.start(Collective::Barrier, none, |_, _| Ok(()))
    }

    /// Starts an operation that brings rank 0's `vector` to all ranks; those of the others are as
    /// long.
    pub fn broadcast<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        vector: Vec<T>,
    ) -> Request<Vec<T>> {
        let memory = (Body::default(), Body::of(vector));
        self.start(Collective::Broadcast, memory, elements)
    }

    /// Starts an operation that brings to each rank `count` elements of rank 0's `vector`, which
    /// has as many for each, by rank. Those of the others are not used.
    ///
    /// # Panics
    /// If `vector` has another length at rank 0.
    pub fn scatter<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        vector: Vec<T>,
        count: usize,
    ) -> Request<Vec<T>> {
        if self.is_root() {
            assert_eq!(vector.len(), count * self.ranks(), "elements of rank 0");
        }
        self.vectors(Collective::Scatter, vector, count)
    }

    /// Starts an operation that brings the vectors of all ranks, by rank, to rank 0; the others get
    /// an empty one.
    pub fn gather<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        vector: Vec<T>,
    ) -> Request<Vec<T>> {
        let count = if self.is_root() { self.ranks() } else { 0 } * vector.len();
        self.vectors(Collective::Gather, vector, count)
    }

    /// Starts an operation that brings the vectors of all ranks, by rank, to all.
    pub fn all_gather<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        vector: Vec<T>,
    ) -> Request<Vec<T>> {
        let count = self.ranks() * vector.len();
        self.vectors(Collective::AllGather, vector, count)
    }

    /// Starts an operation that sends a part of `vector` to each rank, by rank, and brings those of
    /// all ranks for this one, by rank.
    ///
    /// # Panics
    /// If the vector cannot be divided into parts of equal length.
    pub fn all_to_all<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        vector: Vec<T>,
    ) -> Request<Vec<T>> {
        let (count, ranks) = (vector.len(), self.ranks());
        assert_eq!(count % ranks, 0, "{count} elements for {ranks} ranks");
        self.vectors(Collective::AllToAll, vector, count)
    }

    /// Starts an operation that combines the vectors of all ranks, element by element, at rank 0;
    /// the others get an empty one.
    ///
    /// # Panics
    /// If `operator` does not apply to numbers of this type.
    pub fn reduce<T: Number>(&self, vector: Vec<T>, operator: Operator) -> Request<Vec<T>> {
        let count = if self.is_root() { vector.len() } else { 0 };
        let collective = Collective::Reduce(T::ELEMENT, applied::<T>(operator));
        self.vectors(collective, vector, count)
    }

    /// As [`reduce`](Self::reduce), for all ranks.
    ///
    /// # Panics
    /// As [`reduce`](Self::reduce).
    pub fn all_reduce<T: Number>(&self, vector: Vec<T>, operator: Operator) -> Request<Vec<T>> {
        let count = vector.len();
        let collective = Collective::AllReduce(T::ELEMENT, applied::<T>(operator));
        self.vectors(collective, vector, count)
    }

    /// As [`reduce`](Self::reduce), for each rank over those up to it, itself included.
    ///
    /// # Panics
    /// As [`reduce`](Self::reduce).
    pub fn scan<T: Number>(&self, vector: Vec<T>, operator: Operator) -> Request<Vec<T>> {
        let count = vector.len();
        let collective = Collective::Scan(T::ELEMENT, applied::<T>(operator));
        self.vectors(collective, vector, count)
    }

    fn is_root(&self) -> bool {
        self.comm.rank() == Rank(0)
    }

    fn ranks(&self) -> usize {
        self.comm.ranks() as usize
    }

    /// Starts an operation from a vector into another one of `count` elements.
    fn vectors<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        collective: Collective,
        own: Vec<T>,
        count: usize,
    ) -> Request<Vec<T>> {
        let memory = (Body::of(own), zeroed::<T>(count));
        self.start(collective, memory, elements)
    }

    fn start<T: Send + Sync + 'static>(
        &self,
        collective: Collective,
        (own, into): (Body, Body),
        decode: Decode<T>,
    ) -> Request<T> {
        let Comm {
            engine, endpoint, ..
        } = &self.comm;
        if let Some(refused) = Request::refused(engine, endpoint) {
            return refused;
        }
        let bytes = own.len().max(into.len());
        if bytes > LONGEST {
            let most = LONGEST;
            return Request::failed(engine, Error::TooLong { bytes, most });
        }
        let running = Arc::default();
        let task = Arc::new(Task {
            completion: Completion::new(Arc::clone(&running)),
            decode,
            endpoint: Arc::clone(endpoint),
            sent: None,
        });
        let done = Arc::new(Counted {
            task,
            _pending: Pending::new(&engine.progress),
        });
        if collective != Collective::Barrier && bytes == 0 {
            // As at all ranks: there is nothing to send.
            let body = into;
            let status = Status::default();
            done.complete(Ok(Done { status, body }));
            return Request::of(engine, running);
        }
        let number = endpoint.number();
        self.packets
            .collective(self.matched, number, collective, own, into, done);
        Request::of(engine, running)
    }
}

fn zeroed<T: Plain + Copy + Send + Sync + 'static>(count: usize) -> Body {
    Body::of((0..count).map(|_| T::new_zeroed()).collect())
}

fn applied<T: Number>(operator: Operator) -> Operator {
    assert!(
        operator.applies_to(T::ELEMENT),
        "{operator:?} does not apply to {:?}",
        T::ELEMENT
    );
    operator
}
