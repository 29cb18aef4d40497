//! Messages of other ranks for the places of this one, and their counts.

use super::lending::Lending;
use super::message::RankMessage;
use crate::collective::Counts;
use crate::glb::{Bag, Message};
use crate::id::{PlaceId, Rank};
use crate::lifeline;
use crate::port::Spin;
use crate::sync::{AtomicUsize, Lock, Ordering};
use crate::wire::{Error, Fault, Portable, Receiver, unpack};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

/// A message between ranks, with its sender and its receiver.
pub(super) type Arrived<B> = (PlaceId, PlaceId, RankMessage<B>);

/// Filled by the thread that uses the link, emptied by the tasks of the computation.
pub(super) struct Mailbox<B: Bag + Portable + 'static> {
    arrived: lifeline::Mailbox<Arrived<B>>,
    /// Messages between places that were sent to other ranks, and those processed of other ranks.
    sent: AtomicUsize,
    processed: AtomicUsize,
    /// Serves requests that wait here, while there are workers.
    lending: Lock<Option<Lending<B>>>,
    failure: Lock<Option<Error>>,
    /// The losses of other ranks than the first, in order.
    losses: Lock<Vec<Error>>,
}

impl<B: Bag + Portable + 'static> Default for Mailbox<B> {
    fn default() -> Self {
        Self {
            arrived: lifeline::Mailbox::default(),
            sent: AtomicUsize::new(0),
            processed: AtomicUsize::new(0),
            lending: Lock::new(None),
            failure: Lock::new(None),
            losses: Lock::new(Vec::new()),
        }
    }
}

impl<B: Bag + Portable + 'static> Mailbox<B> {
    /// Counts a message between places as sent.
    pub(super) fn count_sent(&self) {
        // ORDERING: Relaxed: the end of the workers' scope, and the lock of `lending`, order it
        // before the count is read.
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message between places as processed.
    pub(super) fn count_processed(&self) {
        // ORDERING: Relaxed: as above.
        self.processed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the numbers of messages between places that were sent and processed. Final for those
    /// sent once the workers have ended and nothing is lent.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            // ORDERING: Relaxed: as above.
            sent: self.sent.load(Ordering::Relaxed) as u64,
            processed: self.processed() as u64,
        }
    }

    fn processed(&self) -> usize {
        // ORDERING: Relaxed: as above.
        self.processed.load(Ordering::Relaxed)
    }

    /// From now on requests that no worker serves are served by `lending`.
    pub(super) fn lend(&self, lending: Lending<B>) {
        *self.lending.lock(&Spin) = Some(lending);
    }

    /// Ends that.
    pub(super) fn stop_lending(&self) {
        let lending = self.lending.lock(&Spin).take();
        drop(lending);
    }

    /// Serves the requests that wait since the last call, if no worker has processed anything
    /// since.
    fn serve_overdue(&self) {
        let mut lending = self.lending.lock(&Spin);
        let Some(lending) = &mut *lending else {
            return;
        };
        let is_waiting = !self.is_empty() || lending.has_mail();
        if !lending.is_overdue(is_waiting.then(|| self.processed())) {
            return;
        }
        let is_request = |(_, _, message): &Arrived<B>| {
            matches!(message, RankMessage::Places(Message::Request { .. }))
        };
        let mut refused = Vec::new();
        while let Some((from, to, message)) = self.arrived.pop_newest(&Spin, is_request) {
            if let RankMessage::Places(Message::Request { lifeline }) = message {
                match lending.serve(from, to, lifeline, || self.count_sent()) {
                    Ok(()) => self.count_processed(),
                    Err(_) => refused.push((from, to, message)),
                }
            }
        }
        lending.serve_delivered(|| self.count_sent());
        // A worker refuses it.
        refused.into_iter().for_each(|request| self.push(request));
    }

    /// Registers how to wake the task that empties it, before that task polls it.
    pub(super) fn register(&self, waker: &Waker) {
        self.arrived.register(waker, &Spin);
    }

    /// Enters a worker that empties it while it computes.
    pub(super) fn attend(&self) {
        self.arrived.attend(&Spin);
    }

    /// Removes such a worker; the last one leaves the rest to the task.
    pub(super) fn retire(&self) {
        self.arrived.retire(&Spin);
    }

    pub(super) fn wake(&self) {
        self.arrived.wake(&Spin);
    }

    fn push(&self, arrived: Arrived<B>) {
        self.arrived.push(arrived, &Spin);
    }

    /// Whether nothing has arrived; a hint.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }

    pub(super) fn pop(&self) -> Option<Arrived<B>> {
        self.arrived.pop(&Spin)
    }

    /// Returns the error for which the channels of this rank have ended.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.lock(&Spin).clone()
    }

    /// Returns the loss of this position, from 0.
    pub(super) fn loss(&self, at: usize) -> Option<Error> {
        self.losses.lock(&Spin).get(at).cloned()
    }
}

/// The end of a mailbox that the exchange fills.
pub(super) struct Slot<B: Bag + Portable + 'static>(pub(super) Arc<Mailbox<B>>);

impl<B: Bag + Portable + 'static> Receiver for Slot<B> {
    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let message = unpack(body)?;
        self.0.push((from, to, message));
        Ok(())
    }

    fn nudge(&self) -> Result<(), Fault> {
        self.0.serve_overdue();
        self.0.wake();
        Ok(())
    }

    fn fail(&self, error: &Error) {
        *self.0.failure.lock(&Spin) = Some(error.clone());
        self.0.wake();
    }

    /// Without rank 0 there is no result.
    fn lost(&self, error: &Error) -> bool {
        if error.peer == Rank(0) {
            return false;
        }
        self.0.losses.lock(&Spin).push(error.clone());
        self.0.wake();
        true
    }
}
