//! The interface between an object's machine and its value.

use super::message::{Access, CopyState, Message};
use crate::id::Rank;
use alloc::vec::Vec;

/// The value of an object at one rank, and the accesses that wait for it: the
/// [`Calls`](crate::machine::Machine::Calls) of an [`Object`](super::Object).
///
/// The machine decides the order of calls; the memory has the bytes. All calls of a step are made
/// within the step, so that an access is performed by the thread that delivers the value.
pub trait Memory: Sized {
    /// A value in a message.
    type Value;
    /// An operation in a message.
    type Operation;
    /// The output of an operation.
    type Output;

    /// Sets the state of the copy here. After a state that permits less than before, no access of
    /// this rank may be performed on the copy except by [`perform`](Self::perform). The value stays
    /// until the next [`install`](Self::install).
    fn hold(&mut self, state: CopyState);

    /// Returns the value, to be sent.
    fn value(&mut self) -> Self::Value;

    /// Replaces the value here. The state of the copy stays.
    fn install(&mut self, value: Self::Value);

    /// Performs an access of this rank on the value here, which is current. A panic of the access
    /// must not leave this call.
    fn perform(&mut self, access: Access);

    /// Returns the operation of an access, to be performed at the home.
    fn operation(&mut self, access: Access) -> Self::Operation;

    /// Performs an operation of another rank on the value here. A panic of the operation must not
    /// leave this call.
    fn operate(&mut self, operation: Self::Operation) -> Self::Output;

    /// Completes an access that was performed at the home.
    fn complete(&mut self, access: u64, output: Self::Output);

    /// Ends an access that is not performed: the value was lost with this rank, the home or the
    /// only one that had it. If that is the home, an operation may have been performed there.
    fn fail(&mut self, access: u64, lost: Rank);
}

/// The messages of an object with this memory.
pub(super) type MessageOf<M> =
    Message<<M as Memory>::Value, <M as Memory>::Operation, <M as Memory>::Output>;

/// A step of an object: the messages that it sends, and its memory.
pub(super) trait Out<M: Memory> {
    fn send(&mut self, to: Rank, message: MessageOf<M>);

    fn memory(&mut self) -> &mut M;
}

/// Performs the accesses that `copy` permits, in their order.
pub(super) fn perform<M: Memory>(waiting: &mut Vec<Access>, copy: CopyState, out: &mut dyn Out<M>) {
    waiting.retain(|access| {
        let is_permitted = copy.permits(access.kind);
        if is_permitted {
            out.memory().perform(*access);
        }
        !is_permitted
    });
}
