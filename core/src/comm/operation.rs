//! Operations that a task requests of the communication worker, and their ends.

use super::error::Error;
use super::message::{Body, CommId, Envelope, Pattern, Tag};
use super::slot::Ticket;
use crate::id::Rank;
use alloc::sync::Arc;

/// An operation that a communication task performs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation<K = Ticket> {
    /// Sends a message. It ends when the message has left, which may be long before its receive.
    Send {
        /// The communicator.
        comm: CommId,
        /// The receiver; may be this rank.
        to: Rank,
        /// The tag.
        tag: Tag,
        /// The message.
        body: Body,
    },
    /// Receives the first message that the pattern accepts and no earlier receive takes.
    Receive {
        /// The pattern of the message.
        pattern: Pattern,
        /// The greatest length of its body. A longer one is lost, and the receive ends with
        /// [`Error::Truncated`].
        limit: usize,
        /// Memory for it, if made of a vector by `Body::of` (feature `wire`), which has at least
        /// `limit` bytes: the message is in its first ones, and it is the body of the outcome. It
        /// is dropped if the receive ends without a message.
        into: Body,
    },
    /// Waits until there is a message for a receive of this pattern, without taking it.
    Probe {
        /// The pattern of the message.
        pattern: Pattern,
    },
    /// Withdraws a receive or a probe, which ends with [`Status::is_cancelled`] unless it has
    /// matched a message. Has no effect on a send, nor on a task that has ended. Ends at once.
    Cancel(K),
    /// Ends the use of a communicator: its pending receives and probes, and all later operations,
    /// end with [`Error::Freed`]; its messages are dropped. Its number may not be used for another
    /// one. Ends at once.
    Free(CommId),
}

/// An event of the machine that carries a worker's operations, which the worker names by `K`.
#[derive(Debug)]
pub enum Event<K = Ticket> {
    /// An operation starts, whose [end](Effect::Ended) follows.
    Start(K, Operation<K>),
    /// A message is to be sent if it can leave [at once](Effect::AtOnce); else its body is
    /// [returned](Effect::Returned).
    SendAtOnce {
        /// The communicator.
        comm: CommId,
        /// The receiver.
        to: Rank,
        /// The tag.
        tag: Tag,
        /// The message.
        body: Body,
    },
    /// A message is to be received [at once](Effect::AtOnce), if it has arrived with its body; else
    /// there is no effect.
    ReceiveAtOnce {
        /// The pattern of the message.
        pattern: Pattern,
        /// The greatest length of its body.
        limit: usize,
    },
    /// The body of an offer has left, for which [`Bodies::send`](super::Bodies::send) has kept it.
    Sent {
        /// The number of the offer.
        offer: u64,
        /// The body.
        body: Body,
    },
    /// The receives of this rank end, now and in future, with [`Error::Closed`], except for those
    /// whose message was claimed; sends continue until they have ended. Messages that no receive
    /// has taken are dropped, also those that arrive later. Sends of other ranks to this one of
    /// which the message is not here end with an error; the others are
    /// [counted](super::Messenger::unreceived).
    Close,
}

/// An effect of the machine that carries a worker's operations.
#[derive(Debug)]
pub enum Effect<K = Ticket> {
    /// An operation has ended.
    Ended(K, Outcome),
    /// A message was sent or received at once.
    AtOnce(Outcome),
    /// A message cannot leave at once.
    Returned(Body),
}

/// The result of an operation that has ended without an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The sender of the message; `None` if there is no message.
    pub source: Option<Rank>,
    /// The tag of the message; `None` if there is no message.
    pub tag: Option<Tag>,
    /// The length of the message.
    pub bytes: usize,
    /// Whether the operation was withdrawn.
    pub is_cancelled: bool,
}

impl Status {
    /// The status of an operation that was withdrawn.
    pub const CANCELLED: Self = Self {
        source: None,
        tag: None,
        bytes: 0,
        is_cancelled: true,
    };

    /// Returns the status of a message.
    pub const fn of(envelope: &Envelope) -> Self {
        Self {
            source: Some(envelope.source),
            tag: Some(envelope.tag),
            bytes: envelope.bytes,
            is_cancelled: false,
        }
    }
}

/// The end of an operation without an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The status of the message.
    pub status: Status,
    /// The message of a receive; the vector of a send that has left, if it was made of one; else
    /// empty.
    pub body: Body,
}

/// The end of an operation.
pub type Outcome = Result<Done, Error>;

/// The completion of a communication task that has ended: its request is put, then its share of the
/// enclosing scope released.
pub trait Complete: Send + Sync {
    /// Called once, by the communication worker, while the task is
    /// [`Completed`](super::State::Completed); or by the thread that submits the task, if the
    /// worker is gone. Must return soon, and must not panic. It may submit further tasks.
    fn complete(self: Arc<Self>, outcome: Outcome);
}

impl<F: Fn(Outcome) + Send + Sync> Complete for F {
    fn complete(self: Arc<Self>, outcome: Outcome) {
        self(outcome);
    }
}
