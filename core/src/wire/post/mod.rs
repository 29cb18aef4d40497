//! What the thread does that holds the link: parcels out, parcels in.

mod book;
mod header;
mod out;
mod several;

use super::error::{Cause, Error};
use super::hub::Hub;
use crate::group::neighbours;
use crate::id::Rank;
use crate::port::Link;
use alloc::string::ToString;
use book::Book;
pub use header::seal;
use header::{Header, Sort};
use out::{Out, Rest};

/// Bytes of an error message for another rank.
const MESSAGE_BYTES: usize = 2000;

/// The link, and the state that belongs to whichever thread uses it.
pub(super) struct Post<L: Link> {
    out: Out<L>,
    book: Book,
    /// The announcements that the last turn has seen.
    seen: usize,
    /// The messages that the last turn has left.
    rest: Rest,
    failure: Option<Error>,
    /// Whether channels may do without a lost rank.
    tolerates_losses: bool,
}

impl<L: Link> Post<L> {
    pub(super) fn new(link: L) -> Self {
        let ranks = link.ranks() as usize;
        Self {
            out: Out::new(link),
            book: Book::new(ranks),
            seen: 0,
            rest: Rest::Nothing,
            failure: None,
            tolerates_losses: false,
        }
    }

    pub(super) fn tolerate_losses(&mut self) {
        self.tolerates_losses = true;
    }

    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Prepares a wait; returns false if there is something to do at once.
    pub(super) fn arm(&mut self) -> bool {
        self.failure.is_none() && self.rest != Rest::Due && self.out.link.arm()
    }

    pub(super) fn turn(&mut self, hub: &Hub) -> Result<bool, Error> {
        if let Some(failure) = &self.failure {
            // What was sent about it may still wait for room.
            self.seen = hub.news();
            let _ = self.out.link.poll(&mut |_, _| ());
            hub.fresh().iter().for_each(|lane| lane.fail(failure));
            return Err(failure.clone());
        }
        self.try_turn(hub)
            .inspect_err(|error| self.fail(hub, error))
    }

    fn try_turn(&mut self, hub: &Hub) -> Result<bool, Error> {
        let news = hub.news();
        let mut moved = false;
        if news != self.seen || self.rest != Rest::Nothing || self.book.owes {
            self.seen = news;
            self.book.adopt(hub)?;
            moved |= self.send_all(hub)?;
        }
        moved |= self.poll(hub)?;
        if self.book.owes {
            // A wait may follow, which must not keep others waiting for an announcement.
            moved |= self.send_all(hub)?;
        }
        Ok(moved)
    }

    /// Calls the receivers of all channels, and ends these if one cannot go on.
    pub(super) fn nudge(&mut self, hub: &Hub) {
        let mut lanes = self.book.lanes.values().map(|side| &side.lane);
        let failed = lanes.find_map(|lane| {
            let fault = lane.nudge().err()?;
            Some(hub.error_of(hub.here, lane.name(), fault))
        });
        if let Some(error) = failed {
            self.fail(hub, &error);
        }
    }

    /// Whether this rank has said goodbye.
    fn has_left(&self, hub: &Hub) -> bool {
        self.book.peers[hub.here.index()].has_left
    }

    /// Sends the messages of all channels, as far as the bounds permit.
    fn send_all(&mut self, hub: &Hub) -> Result<bool, Error> {
        self.rest = Rest::Nothing;
        if self.has_left(hub) {
            return Ok(false);
        }
        // Announcements, and messages that had waited for their channel.
        let mut moved = core::mem::take(&mut self.book.owes);
        for side in self.book.lanes.values_mut() {
            self.out.announce_where_due(hub, side);
            let mut start = 0;
            while let Some(rank) = side.lane.waits_for(start) {
                start = rank.0 + 1;
                let peer = &mut self.book.peers[rank.index()];
                let (some, rest) = self.out.send_to(hub, side, rank, peer)?;
                moved |= some;
                self.rest = self.rest.max(rest);
            }
        }
        self.book.forget_closed();
        Ok(moved)
    }

    fn poll(&mut self, hub: &Hub) -> Result<bool, Error> {
        let mut found = None;
        let Self { out, book, .. } = self;
        let polled = out.link.poll(&mut |from, parcel| {
            if found.is_none() {
                found = book.take(hub, from, parcel).err();
            }
        });
        match (found, polled) {
            (Some(error), _) => Err(error),
            (None, Ok(moved)) => Ok(moved),
            (None, Err(lost)) => {
                // Once this rank has said goodbye, those that heard it say none.
                let mut ends = [lost.rank, hub.here].into_iter();
                if ends.any(|rank| self.book.peers[rank.index()].has_left) {
                    return Ok(true);
                }
                let error = hub.error(lost.rank, None, Cause::Lost { doing: lost.doing });
                // The others would wait for what this rank alone does without.
                if !self.tolerates_losses || !lost.is_gone {
                    return Err(error);
                }
                self.book.lose(hub, error).map(|()| true)
            }
        }
    }

    /// Ends all channels, and notifies the other ranks, also of an error that another rank reported: they would take this one for
    /// lost if it ended before they know why. If an error has ended them before, it stays: it is the cause of this one.
    pub(super) fn fail(&mut self, hub: &Hub, error: &Error) {
        let error = &self.failure.get_or_insert_with(|| error.clone()).clone();
        hub.set_dead();
        let lanes = self.book.lanes.values();
        lanes.for_each(|side| side.lane.fail(error));
        hub.fresh().iter().for_each(|lane| lane.fail(error));
        if self.has_left(hub) {
            return;
        }
        let (first, mut message) = match &error.cause {
            Cause::Failed { first, message } => (*first, message.clone()),
            _ => (hub.here, error.to_string()),
        };
        while message.len() > MESSAGE_BYTES {
            message.pop();
        }
        self.tell_all(hub, Header::of_failure(first), &message);
        // What the others send now is not of interest, and neither is another error.
        let _ = self.out.link.poll(&mut |_, _| ());
    }

    /// Sends a parcel that belongs to no channel to all ranks that have not left.
    fn tell_all(&mut self, hub: &Hub, header: Header, message: &str) {
        for rank in (0..hub.ranks).map(Rank).filter(|r| *r != hub.here) {
            if !self.book.peers[rank.index()].has_left {
                self.out.send(rank, header, message.as_bytes());
            }
        }
    }

    /// Sends the goodbye, once all messages have left their outboxes, or `at_once`; returns whether
    /// everything has left.
    pub(super) fn leave(&mut self, hub: &Hub, at_once: bool) -> Result<bool, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if !self.has_left(hub) {
            // Another thread may have sent since the last turn.
            if (self.rest != Rest::Nothing || self.seen != hub.news()) && !at_once {
                return Ok(false);
            }
            self.book.peers[hub.here.index()].has_left = true;
            self.tell_all(hub, Header::of_rank(Sort::Bye, 0), "");
            self.poll(hub).inspect_err(|error| self.fail(hub, error))?;
        }
        Ok(self.is_sent(hub))
    }

    /// Whether the link has sent all that it was given.
    pub(super) fn is_sent(&self, hub: &Hub) -> bool {
        let mut ranks = (0..hub.ranks).map(Rank).filter(|r| *r != hub.here);
        ranks.all(|rank| self.out.link.unsent(rank) == 0)
    }

    /// Returns the error of the ranks that should have announced the first channel of which any has not.
    pub(super) fn absent(&self, hub: &Hub) -> Option<Error> {
        let sides = self.book.lanes.values();
        let mut sides = sides.filter(|side| side.lane.awaits_ends());
        let absent = sides.find_map(|side| {
            let is_absent =
                |r: &Rank| !side.ends[r.index()].is_open && !self.book.peers[r.index()].is_lost;
            let mut absent = neighbours(hub.here, hub.ranks).filter(is_absent);
            let (first, within) = (absent.next()?, None);
            let others = absent.collect();
            let cause = Cause::Absent { others, within };
            Some(hub.error(first, Some(side.lane.name()), cause))
        });
        absent.filter(|_| self.failure.is_none())
    }
}
