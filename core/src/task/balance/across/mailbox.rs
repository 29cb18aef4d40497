//! What has arrived for the places of this rank.

use super::message::RankMessage;
use crate::deque::Inbox;
use crate::id::{PlaceId, Rank};
use crate::port::Spin;
use crate::sync::Lock;
use crate::wire::{Error, Garbled, Portable, Receiver, unpack};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;

/// A message between ranks, with its sender and its receiver.
pub(super) type Arrived<B> = (PlaceId, PlaceId, RankMessage<B>);

/// Filled by the thread that uses the link, emptied by the tasks of the computation.
#[derive(Debug)]
pub(super) struct Mailbox<B> {
    arrived: Inbox<Arrived<B>>,
    failure: Lock<Option<Error>>,
    /// The losses of other ranks than the first, in order.
    losses: Lock<Vec<Error>>,
    reader: Lock<Reader>,
}

/// The readers of a mailbox.
#[derive(Debug, Default)]
struct Reader {
    /// The task that does so while no worker computes.
    waker: Option<Waker>,
    /// Workers that look into it while they compute.
    attendants: usize,
}

impl Reader {
    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

impl<B> Default for Mailbox<B> {
    fn default() -> Self {
        Self {
            arrived: Inbox::new(),
            failure: Lock::new(None),
            losses: Lock::new(Vec::new()),
            reader: Lock::new(Reader::default()),
        }
    }
}

impl<B> Mailbox<B> {
    /// Registers how to wake the task that empties it, before that task looks. Both this and `wake` take the lock: either the
    /// task observes what the wake-up is for, or it is woken.
    pub(super) fn register(&self, waker: &Waker) {
        let mut reader = self.reader.lock(&Spin);
        match &mut reader.waker {
            Some(known) => known.clone_from(waker),
            unknown => *unknown = Some(waker.clone()),
        }
    }

    /// Enters a worker that empties it while it computes.
    pub(super) fn attend(&self) {
        self.reader.lock(&Spin).attendants += 1;
    }

    /// Removes such a worker; the last one leaves the rest to the task.
    pub(super) fn retire(&self) {
        let mut reader = self.reader.lock(&Spin);
        reader.attendants -= 1;
        if reader.attendants == 0 && !self.is_empty() {
            reader.wake();
        }
    }

    pub(super) fn wake(&self) {
        self.reader.lock(&Spin).wake();
    }

    /// Adds what has arrived. An attendant that does not observe it retires later than this takes the lock, and wakes the task.
    fn push(&self, arrived: Arrived<B>) {
        self.arrived.push(arrived, &Spin);
        let reader = self.reader.lock(&Spin);
        if reader.attendants == 0 {
            reader.wake();
        }
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
pub(super) struct Slot<B>(pub(super) Arc<Mailbox<B>>);

impl<B: Portable> Receiver for Slot<B> {
    fn take(&self, from: PlaceId, to: PlaceId, body: &[u8]) -> Result<(), Garbled> {
        let message = unpack(body)?;
        self.0.push((from, to, message));
        Ok(())
    }

    fn nudge(&self) {
        self.0.wake();
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

/// The ranks of a computation as places: of each rank, its first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranks {
    pub(super) here: Rank,
    pub(super) ranks: u32,
    /// Places of each rank.
    pub(super) places: u32,
}

impl Ranks {
    pub(super) fn of(self, place: PlaceId) -> Rank {
        Rank(place.0 / self.places)
    }

    pub(super) fn first(self, rank: Rank) -> PlaceId {
        PlaceId(rank.0 * self.places)
    }

    pub(super) fn others(self) -> impl Iterator<Item = Rank> {
        let here = self.here;
        (0..self.ranks).map(Rank).filter(move |rank| *rank != here)
    }
}
