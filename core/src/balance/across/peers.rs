//! The places of the other ranks, and the agreement of the ranks on an ending while workers run.
//!
//! # Algorithm
//! A rank whose workers were stopped, or at which the computation is found to be done, reports to
//! rank 0. The first report there decides: the ending travels down the tree of ranks, and each rank
//! stops its workers for that reason. A rank that leaves before, by a panic or a cancelled scope,
//! notifies all others, which then end with an error.

use super::RankError;
use super::lending::Lending;
use super::mailbox::{Arrived, Mailbox};
use super::message::{Ending, Left, RankMessage};
use super::ranks::Ranks;
use crate::balance::places::{Places, Remote};
use crate::collective::{Branch, Stray};
use crate::finish::Reason;
use crate::glb::{Bag, Control, Lender, Message};
use crate::id::{PlaceId, Rank};
use crate::port::{Host, Link, Spin, Unwind};
use crate::sync::Lock;
use crate::task::Cancelled;
use crate::wire::{Attendance, Channel, Error, Exchange, Portable};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll};
use core::{fmt, mem};

/// The reason why a rank cannot end the computation with the others.
#[derive(Clone, Debug)]
pub(super) enum RankFailure {
    /// The channels of this rank have ended.
    Wire(Error),
    /// A rank does not take part any more, this one or another.
    Abandoned(Rank, Left),
    /// Another rank, or a place of it, has sent a message that no correct one sends.
    Refused(Rank, String),
}

/// The other ranks, for the places of this one.
pub(super) struct Peers<'x, B: Bag + Portable + 'static, L: Link> {
    exchange: &'x Exchange<L>,
    pub(super) ranks: Ranks,
    pub(super) branch: Branch,
    channel: Channel<RankMessage<B>>,
    mailbox: Arc<Mailbox<B>>,
    state: Lock<State<B>>,
    /// Whether this rank has its result.
    has_ended: bool,
}

struct State<B> {
    /// Whether rank 0 knows that this rank's workers stop.
    has_reported: bool,
    ending: Option<Ending>,
    failure: Option<RankFailure>,
    /// For when the workers have ended.
    later: Vec<Arrived<B>>,
}

impl<'x, B: Bag + Portable + 'static, L: Link> Peers<'x, B, L> {
    pub(super) fn new(
        exchange: &'x Exchange<L>,
        ranks: Ranks,
        branch: Branch,
        channel: Channel<RankMessage<B>>,
        mailbox: Arc<Mailbox<B>>,
    ) -> Self {
        Self {
            exchange,
            ranks,
            branch,
            channel,
            mailbox,
            state: Lock::new(State {
                has_reported: false,
                ending: None,
                failure: None,
                later: Vec::new(),
            }),
            has_ended: false,
        }
    }

    /// States that this rank has its result.
    pub(super) fn leave(&mut self) {
        self.has_ended = true;
    }

    /// Sends `message` to another rank.
    pub(super) fn tell(&self, rank: Rank, message: RankMessage<B>) {
        let (from, to) = (self.ranks.first(self.ranks.here), self.ranks.first(rank));
        self.channel.send(from, to, message);
    }

    /// Returns the messages that this rank has sent to others, and their bytes.
    pub(super) fn sent(&self) -> (u64, u64) {
        let (traffic, waiting) = (self.channel.traffic(), self.channel.waiting());
        (traffic.sent - waiting as u64, traffic.sent_bytes)
    }

    pub(super) fn mailbox(&self) -> &Mailbox<B> {
        &self.mailbox
    }

    /// Lets requests that the workers leave waiting be served at the places of this rank.
    pub(super) fn lend(&self, lenders: impl IntoIterator<Item = Arc<Lender<B>>>) -> &Self {
        let sender = self.channel.sender();
        let lending = Lending::new(self.ranks, lenders, sender);
        self.mailbox.lend(lending);
        self
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.state.lock(&Spin).ending
    }

    /// Returns the reason for which the computation has ended early.
    pub(super) fn reason(&self, is_salvaged: bool) -> Option<Reason> {
        match self.ending() {
            _ if is_salvaged => Some(Reason::Lost),
            Some(Ending::Stopped(reason)) => Some(reason),
            Some(Ending::Done) | None => None,
        }
    }

    pub(super) fn failure(&self) -> Option<RankFailure> {
        let failure = self.mailbox.failure().map(RankFailure::Wire);
        failure.or_else(|| self.state.lock(&Spin).failure.clone())
    }

    /// Takes the messages that are to be processed once the workers have ended, in order.
    pub(super) fn later(&self) -> Vec<Arrived<B>> {
        core::mem::take(&mut self.state.lock(&Spin).later)
    }

    /// Notes that `rank` does not take part any more.
    pub(super) fn note_abandoned(&self, rank: Rank, why: Left) {
        self.note(RankFailure::Abandoned(rank, why));
    }

    /// Returns the result of the workers of this rank. If they were cancelled, or one
    /// panicked, the others learn why.
    pub(super) fn kept<T, P: Unwind>(
        &self,
        port: &P,
        ended: Result<Result<T, Cancelled>, P::Payload>,
    ) -> Result<T, RankError> {
        // What is counted as sent is final from here on.
        self.mailbox.stop_lending();
        self.unwound(port, ended).map_err(|cancelled| {
            self.leaves(Left::Cancelled(cancelled.reason));
            RankError::Cancelled(cancelled)
        })
    }

    /// Returns `value`, or lets the others know of a panic, and resumes it.
    pub(super) fn unwound<T, P: Unwind>(&self, port: &P, value: Result<T, P::Payload>) -> T {
        value.unwrap_or_else(|payload| {
            self.leaves(Left::panicked(port.text(&payload)));
            port.resume(payload)
        })
    }

    /// Notes why this rank does not take part any more, in place of what was noted of it before.
    pub(super) fn leaves(&self, why: Left) {
        let mut state = self.state.lock(&Spin);
        match &mut state.failure {
            Some(RankFailure::Abandoned(rank, known)) if *rank == self.ranks.here => *known = why,
            Some(_) => {}
            none => *none = Some(RankFailure::Abandoned(self.ranks.here, why)),
        }
    }

    /// Leaves, as `from` has sent a message that does not belong to the end; returns the error of
    /// that.
    pub(super) fn refuses(&self, from: Rank, why: &dyn fmt::Display) -> RankError {
        self.leaves(Left::Refused(format!("{from}: {why}")));
        RankError::Refused {
            from,
            why: why.to_string(),
        }
    }

    /// Leaves, as a rank was lost while the results were collected, the last of `losses`; returns
    /// the error of that loss.
    pub(super) fn late(&self, losses: usize) -> RankError {
        let lost = losses
            .checked_sub(1)
            .and_then(|last| self.mailbox.loss(last));
        let lost = lost.expect("results are late after a loss");
        self.leaves(Left::Lost(lost.peer));
        RankError::Wire(lost)
    }

    /// Notes why this rank cannot continue; the first reason counts.
    fn note(&self, failure: RankFailure) {
        self.state.lock(&Spin).failure.get_or_insert(failure);
    }

    /// Takes the ending that rank 0 has decided on, and passes it on; the first one counts.
    fn adopt(&self, ending: Ending) {
        let mut state = self.state.lock(&Spin);
        if state.ending.is_none() {
            state.ending = Some(ending);
            drop(state);
            for child in self.branch.children() {
                self.tell(child, RankMessage::End(ending));
            }
        }
    }

    /// Reports once to rank 0 that the workers of this rank stop.
    fn report(&self, ending: Ending) {
        if core::mem::replace(&mut self.state.lock(&Spin).has_reported, true) {
            return;
        }
        match self.ranks.here {
            Rank(0) => self.adopt(ending),
            _ => self.tell(Rank(0), RankMessage::Closed(ending)),
        }
    }

    /// Whether another rank may report this ending here. That all is done is found at rank 0
    /// itself.
    fn expects(&self, ending: Ending) -> bool {
        self.ranks.here == Rank(0) && ending != Ending::Done
    }

    /// Processes arrived messages, closes the places if another rank ended the computation, and the
    /// other way round.
    pub(super) fn poll<P: Host>(
        &self,
        places: &Places<'_, B, P, Self>,
        control: &Control,
        deadline: Option<u64>,
        cancelled: Option<Reason>,
        cx: &Context<'_>,
    ) -> Poll<()>
    where
        L: Send,
    {
        self.mailbox.register(cx.waker());
        places.receive();
        if let Some(reason) = cancelled {
            // The workers may all sleep, and other ranks need not answer.
            control.stop(reason);
            self.note_abandoned(self.ranks.here, Left::Cancelled(reason));
        }
        if self.mailbox.loss(0).is_some() {
            // Each rank learns of it by itself, and stops.
            control.stop(Reason::Lost);
            places.close();
            return Poll::Ready(());
        }
        if deadline.is_some_and(|deadline| places.port().now() >= deadline) {
            control.stop(Reason::Deadline);
        }
        if control.is_stopped() && !places.is_closed() {
            // The workers may all sleep.
            places.close();
        }
        // A failure is noted before the places are closed for it, which is no ending to report.
        let is_closed = places.is_closed();
        if self.failure().is_some() {
            places.close();
            return Poll::Ready(());
        }
        if is_closed {
            self.report(control.reason().map_or(Ending::Done, Ending::Stopped));
        }
        let Some(ending) = self.ending() else {
            return Poll::Pending;
        };
        if let Ending::Stopped(reason) = ending {
            control.stop(reason);
        }
        places.close();
        Poll::Ready(())
    }
}

impl<B: Bag + Portable + 'static, L: Link + Send> Remote<B> for Peers<'_, B, L> {
    const HAS_PLACES: bool = true;
    type Attendance<'a>
        = Attending<'a, B, L>
    where
        Self: 'a;

    fn send(&self, from: PlaceId, to: PlaceId, message: Message<B>) {
        self.mailbox.count_sent();
        self.channel.send(from, to, RankMessage::Places(message));
    }

    /// Runs a turn of the exchange.
    fn has_news(&self, unwind: &impl Unwind) -> bool {
        // Encoding and decoding are the program's code. An error, or a panic of theirs, has reached
        // the mailbox.
        if let Err(payload) = unwind.catch(|| self.exchange.turn()) {
            // Its drop may panic.
            mem::forget(payload);
        }
        !self.mailbox.is_empty()
    }

    fn attend(&self) -> Attending<'_, B, L> {
        self.mailbox.attend();
        Attending {
            mailbox: &self.mailbox,
            _attendance: self.exchange.attend(),
        }
    }

    fn receive(&self, mut deliver: impl FnMut(PlaceId, PlaceId, Message<B>)) {
        let mut is_news = false;
        while let Some((from, to, message)) = self.mailbox.pop() {
            match message {
                RankMessage::Places(message) => {
                    self.mailbox.count_processed();
                    deliver(from, to, message);
                    continue;
                }
                RankMessage::Closed(ending) if self.expects(ending) => self.adopt(ending),
                RankMessage::End(ending) if self.branch.parent() == Some(self.ranks.of(from)) => {
                    self.adopt(ending);
                }
                RankMessage::Closed(_) | RankMessage::End(_) => {
                    self.refused(from, &Stray);
                }
                RankMessage::Abandoned(why) => self.note_abandoned(self.ranks.of(from), why),
                RankMessage::Closing(_) => {
                    self.state.lock(&Spin).later.push((from, to, message));
                    continue;
                }
            }
            is_news = true;
        }
        if is_news {
            self.mailbox.wake();
        }
    }

    fn closed(&self) {
        self.mailbox.wake();
    }

    fn abandoned(&self) {
        // The payload is known when the workers have ended.
        self.note_abandoned(self.ranks.here, Left::panicked(None));
    }

    fn refused(&self, from: PlaceId, why: &dyn fmt::Display) {
        let why = format!("a message of {from}: {why}");
        self.note(RankFailure::Refused(self.ranks.of(from), why));
    }
}

/// A registration of a worker that polls for messages of other ranks while it computes.
pub(super) struct Attending<'a, B: Bag + Portable + 'static, L: Link> {
    mailbox: &'a Mailbox<B>,
    _attendance: Attendance<'a, L>,
}

impl<B: Bag + Portable + 'static, L: Link> Drop for Attending<'_, B, L> {
    fn drop(&mut self) {
        self.mailbox.retire();
    }
}

impl<B: Bag + Portable + 'static, L: Link> Drop for Peers<'_, B, L> {
    /// Notifies the other ranks if this one leaves without a result, unless they know why.
    fn drop(&mut self) {
        self.mailbox.stop_lending();
        let why = match self.failure() {
            Some(RankFailure::Abandoned(rank, why)) if rank == self.ranks.here => why,
            Some(RankFailure::Abandoned(..) | RankFailure::Wire(_)) => return,
            Some(RankFailure::Refused(from, why)) => Left::Refused(format!("{from}: {why}")),
            None if self.has_ended => return,
            // The program's code panicked between the end of the workers and the exchange of
            // results.
            None => Left::panicked(None),
        };
        for rank in self.ranks.others() {
            self.tell(rank, RankMessage::Abandoned(why.clone()));
        }
    }
}
