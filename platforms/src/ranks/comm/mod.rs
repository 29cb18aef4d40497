//! Messages between ranks, and collective operations, as tasks. Feature `serde`.
//!
//! Each call of a [`Comm`] starts an operation, returns at once, and is carried out by a
//! communication worker, which is no worker of a runtime: a thread of the [`World`], or the thread
//! that waits. It returns a [`Request`], a data-driven cell:
//!
//! | a program | by |
//! |---|---|
//! | starts a task when the message has arrived | [`spawn_when`](tautline_core::task::Cx::spawn_when), with the request's [`cell`](Request::cell), also in lists with other cells |
//! | waits in async code | `.await` |
//! | waits in a task, whose worker runs others | [`wait`](Request::wait) |
//! | waits on a thread of its own | [`wait_blocking`](Request::wait_blocking), [`wait_all_blocking`], [`wait_any_blocking`] |
//! | polls | [`test`](Request::test) |
//! | lets the enclosing scope wait | [`hold`](Request::hold), with a [hold](tautline_core::task::Cx::hold) of the scope |
//!
//! ```
//! use tautline::comm::Tag;
//! use tautline::prelude::*;
//! use tautline::world;
//!
//! let sums = world::loopback(2, |world| {
//!     let (comm, rt) = (world.comm(), Runtime::builder().workers(1).pinned(false).build()?);
//!     let (here, other) = (world.rank(), world::Rank(1 - world.rank().0));
//!     let received = comm.irecv::<Vec<u64>>(other, Tag(7));
//!     let mut sum = 0;
//!     rt.run(|cx| {
//!         cx.scope(|cx| {
//!             // The scope does not end before the message has left.
//!             comm.isend(&vec![u64::from(here.0); 1000], other, Tag(7)).hold(cx.hold());
//!             cx.spawn_when(received.cell(), |numbers, _| {
//!                 sum = numbers.as_ref().map_or(0, |numbers| numbers.value.iter().sum());
//!             });
//!         });
//!     });
//!     Ok::<_, tautline::Error>(sum)
//! });
//! assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [1000, 0]);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! Workers of a runtime that is built with [`world`](crate::plan::Builder::world) communicate while
//! they have no task.
//!
//! # Order
//! Messages of one communicator from a rank to another are received in the order in which they were
//! sent, and receives take them in the order in which they were posted (MPI 4.1, 3.5). Values are
//! encoded when they are sent, so a buffer may be changed at once; [`Bulk`](crate::world::Bulk)
//! encodes a vector of plain data by one copy.
//!
//! # Source
//! Communication tasks: Chatterjee 2013, 4.3 (HC-COMM, HCMPI).
#![forbid(unsafe_code)]

mod collective;
mod native;
mod request;

pub use crate::ranks::engine::Error;
pub use native::Native;
pub use request::{Received, Request, wait_all_blocking, wait_any_blocking};
pub use tautline_core::comm::{Matched, Number, Operator, Status, Tag};

use crate::ranks::engine::{COMM, Endpoint, ProgressEngine};
use crate::ranks::world::World;
use serde::Serialize;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{Body, Operation, Pattern};
use tautline_core::service::Calls;
use tautline_core::wire::{Malformed, Plain, Portable, pack_within, unpack};

/// The result type of operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The most bytes of a message that is sent outside of the parcels of a link.
const LONGEST: usize = 1 << 30;

/// A communicator: what is sent by it is received by it alone. Made by [`World::comm`], by all
/// ranks in the same order.
///
/// Dropped, its sends still leave; receives that no message has ended stay pending, and end with
/// [`Error::Closed`] with the world. A clone or a request that outlives the world keeps its link,
/// so that over MPI the library does not end, and the launcher takes the job for failed.
#[derive(Clone)]
pub struct Comm {
    engine: Arc<ProgressEngine>,
    endpoint: Arc<Endpoint>,
    /// Its collective operations.
    calls: Calls,
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a communicator of {}", self.rank())
    }
}

impl World {
    /// Makes a communicator. Every rank makes this call, in the same order as other calls of the
    /// world.
    ///
    /// ```
    /// use tautline::comm::Tag;
    /// use tautline::world::World;
    ///
    /// let world = World::alone();
    /// let comm = world.comm();
    /// let received = comm.irecv::<String>(None, None);
    /// comm.send(&"hello".to_string(), comm.rank(), Tag(1))?;
    /// assert_eq!(received.wait_blocking()?.value, "hello");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn comm(&self) -> Comm {
        Comm::open(self.engine(), Location::caller())
    }
}

impl Comm {
    /// Returns the rank of this process.
    pub fn rank(&self) -> Rank {
        self.engine.exchange.here()
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.engine.exchange.ranks()
    }

    /// Makes another communicator of the same ranks; as [`World::comm`], a collective call.
    #[track_caller]
    pub fn dup(&self) -> Self {
        Self::open(&self.engine, Location::caller())
    }

    fn open(engine: &Arc<ProgressEngine>, site: &Location<'_>) -> Self {
        let endpoint = Arc::new(Endpoint::open(
            &engine.exchange,
            engine.packets.clone(),
            site,
            Arc::clone(&engine.progress),
        ));
        engine.add_endpoint(Arc::clone(&endpoint));
        Self {
            engine: Arc::clone(engine),
            endpoint,
            calls: engine.operations.all(),
        }
    }

    /// Starts to send `value`, which is encoded before this returns. The request ends when the
    /// message has left, maybe long before it is received.
    ///
    /// The message is sent whether or not the request is kept, also if the [`World`] is dropped
    /// next. A short one leaves at once, if the receiver has room, and its request ends without an
    /// error. A longer one waits for its receive; if none comes before the receiver or this world
    /// ends, the request ends with an error. When the world ends, a line on standard error states
    /// how many messages to a rank were not received, with a tag, if no request has returned that:
    /// those whose request was dropped before; and short ones, of which the receiver states those
    /// that had arrived, and this rank the others.
    pub fn isend<T: Serialize + ?Sized>(&self, value: &T, to: Rank, tag: Tag) -> Request<()> {
        let sent = self.encoded(value).map_err(Err).and_then(|body| {
            request::send_at_once(&self.engine, &self.endpoint, to, tag, body).map_err(Ok)
        });
        match sent {
            Ok(ended) => Request::ended(&self.engine, ended),
            Err(Err(error)) => Request::failed(&self.engine, error),
            Err(Ok(body)) => self.submit_send(to, tag, body),
        }
    }

    fn encoded<T: Serialize + ?Sized>(&self, value: &T) -> Result<Body> {
        let mut body = Vec::new();
        pack_within(value, self.engine.body, &mut body).map_err(Error::Unencodable)?;
        Ok(body.into())
    }

    fn submit_send(&self, to: Rank, tag: Tag, body: Body) -> Request<()> {
        let operation = Operation::Send {
            comm: COMM,
            to,
            tag,
            body,
        };
        self.submit(operation, |_, _| Ok(()))
    }

    /// Starts to send the elements of a vector of plain data, which is moved and not encoded; the
    /// request returns it when the message has left. To be received by
    /// [`irecv_vec`](Self::irecv_vec).
    ///
    /// ```
    /// use tautline::comm::Tag;
    /// use tautline::world;
    ///
    /// let received = world::loopback(2, |world| {
    ///     let (comm, other) = (world.comm(), world::Rank(1 - world.rank().0));
    ///     let received = comm.irecv_vec(vec![0.0f64; 1000], other, Tag(1));
    ///     let sent = comm.isend_vec(vec![1.5f64; 900], other, Tag(1));
    ///     let (again, received) = (sent.wait_blocking()?.value, received.wait_blocking()?.value); // for the next messages
    ///     Ok((again.len(), received.len()))
    /// });
    /// let received: Result<Vec<_>, tautline::comm::Error> = received.into_iter().collect();
    /// assert_eq!(received?, [(900, 900); 2]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn isend_vec<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        elements: Vec<T>,
        to: Rank,
        tag: Tag,
    ) -> Request<Vec<T>> {
        let body = Body::of(elements);
        let most = match self.engine.packets {
            Some(_) => LONGEST,
            None => self.engine.body,
        };
        if body.len() > most {
            let bytes = body.len();
            return Request::failed(&self.engine, Error::TooLong { bytes, most });
        }
        let operation = Operation::Send {
            comm: COMM,
            to,
            tag,
            body,
        };
        self.submit(operation, request::elements)
    }

    /// Sends `value`, and returns when it has left. In a task, use [`isend`](Self::isend).
    ///
    /// # Errors
    /// A rank or a tag out of range, a value that cannot be encoded, the loss of the receiver, the
    /// end of the channels.
    pub fn send<T: Serialize + ?Sized>(&self, value: &T, to: Rank, tag: Tag) -> Result<()> {
        let body = self.encoded(value)?;
        let sent = request::send_at_once(&self.engine, &self.endpoint, to, tag, body);
        let ended = sent.unwrap_or_else(|body| self.submit_send(to, tag, body).wait_blocking());
        ended.map(|_| ())
    }

    /// Starts to receive the first message from `source`, or from any rank, with this tag, or with
    /// any, that no earlier receive takes.
    pub fn irecv<T: Portable + Sync + 'static>(
        &self,
        source: impl Into<Option<Rank>>,
        tag: impl Into<Option<Tag>>,
    ) -> Request<T> {
        let most = self.engine.body;
        self.irecv_at_most(source, tag, most)
    }

    /// As [`irecv`](Self::irecv), of a message whose encoding has at most `bytes` bytes. A longer
    /// one is lost, and the receive ends with [`Error::Truncated`].
    pub fn irecv_at_most<T: Portable + Sync + 'static>(
        &self,
        source: impl Into<Option<Rank>>,
        tag: impl Into<Option<Tag>>,
        bytes: usize,
    ) -> Request<T> {
        let operation = Operation::Receive {
            pattern: pattern(source.into(), tag.into()),
            limit: bytes,
            into: Body::default(),
        };
        self.submit(operation, decoded)
    }

    /// Starts to receive a vector that was sent by [`isend_vec`](Self::isend_vec) into `elements`,
    /// whose length is the most that is accepted; the request returns it with what was received
    /// alone. If it fails, the vector is dropped.
    pub fn irecv_vec<T: Plain + Copy + Send + Sync + 'static>(
        &self,
        elements: Vec<T>,
        source: impl Into<Option<Rank>>,
        tag: impl Into<Option<Tag>>,
    ) -> Request<Vec<T>> {
        let into = Body::of(elements);
        let operation = Operation::Receive {
            pattern: pattern(source.into(), tag.into()),
            limit: into.len(),
            into,
        };
        self.submit(operation, request::elements)
    }

    /// Receives a message, as [`irecv`](Self::irecv), and returns when it has arrived. In a task,
    /// use `irecv`.
    ///
    /// # Errors
    /// A rank or a tag out of range, a message that is not a `T`, the loss of the sender, the end
    /// of the channels.
    pub fn recv<T: Portable + Sync + 'static>(
        &self,
        source: impl Into<Option<Rank>>,
        tag: impl Into<Option<Tag>>,
    ) -> Result<Received<T>> {
        let (source, tag) = (source.into(), tag.into());
        let (pattern, most) = (pattern(source, tag), self.engine.body);
        let received =
            request::receive_at_once(&self.engine, &self.endpoint, pattern, most, decoded);
        received.unwrap_or_else(|| self.irecv(source, tag).wait_blocking())
    }

    /// Waits for a message as [`irecv`](Self::irecv) does, but leaves it for a later receive: the
    /// request has its status.
    pub fn probe(
        &self,
        source: impl Into<Option<Rank>>,
        tag: impl Into<Option<Tag>>,
    ) -> Request<()> {
        let operation = Operation::Probe {
            pattern: pattern(source.into(), tag.into()),
        };
        self.submit(operation, |_, _| Ok(()))
    }

    /// Ends the use of the communicator at this rank: operations that have not ended, and all later
    /// ones, end with [`Error::Freed`].
    pub fn free(&self) {
        let freed = self.submit(Operation::Free(COMM), |_, _| Ok(()));
        drop(freed);
    }

    /// Returns the number of communication tasks that were ever outstanding at the same time: the
    /// memory that they take is used again.
    pub fn slots(&self) -> usize {
        self.endpoint.tasks().slots()
    }

    fn submit<T: Send + Sync + 'static>(
        &self,
        operation: Operation,
        decode: request::Decode<T>,
    ) -> Request<T> {
        Request::submit(&self.engine, &self.endpoint, operation, decode)
    }
}

fn decoded<T: Portable>(body: Body, _: usize) -> Result<T, Malformed> {
    unpack(&body)
}

fn pattern(source: Option<Rank>, tag: Option<Tag>) -> Pattern {
    Pattern {
        comm: COMM,
        source,
        tag,
    }
}
