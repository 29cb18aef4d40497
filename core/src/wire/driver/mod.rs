//! The link's owner: encodes and sends parcels, receives and dispatches them. One thread at a time.

mod batch;
mod header;
mod sender;
mod table;

use super::error::{Cause, Error};
use super::shared::Shared;
use crate::group::neighbours;
use crate::id::Rank;
use crate::port::Link;
use alloc::string::ToString;
pub use header::seal;
use header::{Header, ParcelKind};
use sender::{Backlog, ParcelSender};
use table::ChannelTable;

/// Bytes of an error message for another rank.
const MESSAGE_BYTES: usize = 2000;

/// The link, and the state that its lock protects.
pub(super) struct LinkDriver<L: Link> {
    sender: ParcelSender<L>,
    table: ChannelTable,
    /// The announcements that the last turn has seen.
    seen: usize,
    /// The messages that the last turn left unsent.
    backlog: Backlog,
    failure: Option<Error>,
    /// The losses that the other ranks were notified of.
    reported: usize,
}

impl<L: Link> LinkDriver<L> {
    pub(super) fn new(link: L) -> Self {
        let ranks = link.ranks() as usize;
        Self {
            sender: ParcelSender::new(link),
            table: ChannelTable::new(ranks),
            seen: 0,
            backlog: Backlog::Empty,
            failure: None,
            reported: 0,
        }
    }

    pub(super) fn tolerate_losses(&mut self) {
        self.table.tolerates_losses = true;
    }

    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Prepares a wait; returns false if there is something to do at once.
    pub(super) fn arm(&mut self) -> bool {
        self.failure.is_none() && self.backlog != Backlog::Ready && self.sender.link.arm()
    }

    pub(super) fn turn(&mut self, shared: &Shared) -> Result<bool, Error> {
        if let Some(failure) = &self.failure {
            // The report of the failure may still wait for room.
            self.seen = shared.news();
            let _ = self.sender.link.poll(&mut |_, _| ());
            shared.fresh().iter().for_each(|end| end.fail(failure));
            return Err(failure.clone());
        }
        self.try_turn(shared)
            .inspect_err(|error| self.fail(shared, error))
    }

    fn try_turn(&mut self, shared: &Shared) -> Result<bool, Error> {
        let news = shared.news();
        let mut moved = false;
        if news != self.seen || self.backlog != Backlog::Empty || self.table.must_announce {
            self.seen = news;
            self.table.adopt(shared)?;
            moved |= self.send_all(shared)?;
        }
        moved |= self.poll(shared)?;
        self.report_losses(shared);
        if self.table.must_announce {
            // A wait may follow, which must not keep others waiting for an announcement.
            moved |= self.send_all(shared)?;
        }
        Ok(moved)
    }

    /// Calls the receivers of all channels, and ends all channels if one of them fails.
    pub(super) fn nudge(&mut self, shared: &Shared) {
        let mut channels = self.table.channels.values().map(|channel| &channel.end);
        let failed = channels.find_map(|end| {
            let fault = end.nudge().err()?;
            Some(shared.error_of(shared.here, end.name(), fault))
        });
        if let Some(error) = failed {
            self.fail(shared, &error);
        }
    }

    /// Whether this rank has said goodbye.
    fn has_left(&self, shared: &Shared) -> bool {
        self.table.peers[shared.here.index()].has_left
    }

    /// Sends the messages of all channels, as far as the bounds permit.
    fn send_all(&mut self, shared: &Shared) -> Result<bool, Error> {
        self.backlog = Backlog::Empty;
        if self.has_left(shared) {
            return Ok(false);
        }
        // Announcements, and messages that had waited for their channel.
        let mut moved = core::mem::take(&mut self.table.must_announce);
        for channel in self.table.channels.values_mut() {
            self.sender.announce_where_due(shared, channel);
            let mut start = 0;
            while let Some(rank) = channel.end.waits_for(start) {
                start = rank.0 + 1;
                let peer = &mut self.table.peers[rank.index()];
                let (some, rest) = self.sender.send_to(shared, channel, rank, peer)?;
                moved |= some;
                self.backlog = self.backlog.max(rest);
            }
        }
        self.table.forget_closed();
        Ok(moved)
    }

    fn poll(&mut self, shared: &Shared) -> Result<bool, Error> {
        let mut found = None;
        let Self { sender, table, .. } = self;
        let polled = sender.link.poll(&mut |from, parcel| {
            if found.is_none() {
                found = table.take(shared, from, parcel).err();
            }
        });
        match (found, polled) {
            (Some(error), _) => Err(error),
            (None, Ok(moved)) => Ok(moved),
            (None, Err(lost)) => {
                // Once this rank has said goodbye, those that heard it say none.
                let mut ends = [lost.rank, shared.here].into_iter();
                if ends.any(|rank| self.table.peers[rank.index()].has_left) {
                    return Ok(true);
                }
                let error = shared.error(lost.rank, None, Cause::Lost { doing: lost.doing });
                // The other ranks would wait for the lost one if this rank alone tolerated its
                // loss.
                match lost.is_gone {
                    true => self.table.lose(shared, error).map(|()| true),
                    false => Err(error),
                }
            }
        }
    }

    /// Ends all channels, and notifies the other ranks, also of an error that another rank
    /// reported: they would take this one for lost if it ended before they know why. If an error
    /// has ended them before, it stays: it is the cause of this one.
    pub(super) fn fail(&mut self, shared: &Shared, error: &Error) {
        let error = &self.failure.get_or_insert_with(|| error.clone()).clone();
        shared.set_dead();
        let channels = self.table.channels.values();
        channels.for_each(|channel| channel.end.fail(error));
        shared.fresh().iter().for_each(|end| end.fail(error));
        if self.has_left(shared) {
            return;
        }
        let (first, mut message) = match &error.cause {
            Cause::Failed { first, message } => (*first, message.clone()),
            _ => (shared.here, error.to_string()),
        };
        while message.len() > MESSAGE_BYTES {
            message.pop();
        }
        self.broadcast(shared, Header::of_failure(first), &message);
        // Messages that still arrive, and further errors, are ignored.
        let _ = self.sender.link.poll(&mut |_, _| ());
    }

    /// Notifies the other ranks of the losses that this one has come to know. It may leave because
    /// of them: a rank that gets its goodbye first would miss this one, not the lost one, which it
    /// tolerates.
    fn report_losses(&mut self, shared: &Shared) {
        while let Some(lost) = self.table.losses.get(self.reported).map(|error| error.peer) {
            self.reported += 1;
            if !self.has_left(shared) {
                self.broadcast(shared, Header::of_loss(lost), "");
            }
        }
    }

    /// Sends a parcel that belongs to no channel to all ranks that are left.
    fn broadcast(&mut self, shared: &Shared, header: Header, message: &str) {
        for rank in (0..shared.ranks).map(Rank).filter(|r| *r != shared.here) {
            let peer = &self.table.peers[rank.index()];
            if !peer.has_left && !peer.is_lost {
                self.sender.send(rank, header, message.as_bytes());
            }
        }
    }

    /// Sends the goodbye, once all messages have left their outboxes, or `at_once`; returns whether
    /// everything has left.
    pub(super) fn leave(&mut self, shared: &Shared, at_once: bool) -> Result<bool, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if !self.has_left(shared) {
            // Another thread may have sent since the last turn.
            if (self.backlog != Backlog::Empty || self.seen != shared.news()) && !at_once {
                return Ok(false);
            }
            self.report_losses(shared);
            self.table.peers[shared.here.index()].has_left = true;
            self.broadcast(shared, Header::of_rank(ParcelKind::Bye, 0), "");
            self.poll(shared)
                .inspect_err(|error| self.fail(shared, error))?;
        }
        Ok(self.is_sent(shared))
    }

    /// Returns the number of parcels sent.
    pub(super) fn parcels(&self) -> u64 {
        self.sender.parcels()
    }

    /// Whether the link has sent all that it was given.
    pub(super) fn is_sent(&self, shared: &Shared) -> bool {
        let mut ranks = (0..shared.ranks).map(Rank).filter(|r| *r != shared.here);
        ranks.all(|rank| self.sender.link.unsent(rank) == 0)
    }

    /// Returns the error of the ranks that should have announced the first channel of which any has
    /// not.
    pub(super) fn absent(&self, shared: &Shared) -> Option<Error> {
        let channels = self.table.channels.values();
        let mut channels = channels.filter(|channel| channel.end.awaits_ends());
        let absent = channels.find_map(|channel| {
            let is_absent = |r: &Rank| {
                !channel.remote_ends[r.index()].is_open && !self.table.peers[r.index()].is_lost
            };
            let mut absent = neighbours(shared.here, shared.ranks).filter(is_absent);
            let (first, within) = (absent.next()?, None);
            let others = absent.collect();
            let call = None;
            let cause = Cause::Absent {
                others,
                within,
                call,
            };
            Some(shared.error(first, Some(channel.end.name()), cause))
        });
        absent.filter(|_| self.failure.is_none())
    }
}
