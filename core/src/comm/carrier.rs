//! What moves the messages of communication tasks.

use super::message::{Body, CommId, Pattern, Tag};
use super::operation::Outcome;
use super::slot::Ticket;
use crate::id::Rank;

/// The ranks and tags of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number of ranks.
    pub ranks: u32,
    /// The greatest tag.
    pub last_tag: Tag,
}

/// What moves messages between ranks without blocking: matching over a channel of the program
/// ([`Messenger`](super::Messenger)), or a library that has requests.
///
/// An operation is named by the ticket of its task. A method that starts one returns its outcome if it has ended at once;
/// else [`progress`](Self::progress) reports the outcome, once. The worker has checked ranks and tags against
/// [`bounds`](Self::bounds).
///
/// From one rank to another, messages of one communicator are matched in the order in which they were sent, and receives in
/// the order in which they were posted. One thread at a time uses a carrier; one that is bound to its thread is not `Send`, and
/// neither is its worker. No method blocks.
pub trait Carrier {
    /// Returns the number of ranks and the greatest tag.
    fn bounds(&self) -> Bounds;

    /// Starts to send a message.
    fn send(
        &mut self,
        ticket: Ticket,
        comm: CommId,
        to: Rank,
        tag: Tag,
        body: Body,
    ) -> Option<Outcome>;

    /// Posts a receive of at most `limit` bytes, into the given memory if it is a vector.
    fn receive(
        &mut self,
        ticket: Ticket,
        pattern: Pattern,
        limit: usize,
        into: Body,
    ) -> Option<Outcome>;

    /// Posts a probe.
    fn probe(&mut self, ticket: Ticket, pattern: Pattern) -> Option<Outcome>;

    /// Sends a message that needs no task, since it leaves at once; else returns the body. Provided: returns it.
    ///
    /// # Errors
    /// If the message cannot leave at once.
    fn send_at_once(
        &mut self,
        _comm: CommId,
        _to: Rank,
        _tag: Tag,
        body: Body,
    ) -> Result<Outcome, Body> {
        Err(body)
    }

    /// Receives a message of at most `limit` bytes that has arrived with its body; else returns `None`. Provided: returns that.
    fn receive_at_once(&mut self, _pattern: Pattern, _limit: usize) -> Option<Outcome> {
        None
    }

    /// Withdraws an operation that has not ended, if that is still possible. In any case [`progress`](Self::progress) reports its outcome.
    fn cancel(&mut self, ticket: Ticket);

    /// Ends the use of a communicator.
    fn free(&mut self, comm: CommId);

    /// Moves what can be moved, and reports the operations that have ended. Returns whether anything moved.
    fn progress(&mut self, ended: &mut dyn FnMut(Ticket, Outcome)) -> bool;
}
