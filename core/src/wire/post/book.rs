//! What is known of the channels and the other ranks, and the way in.

use super::header::{self, Bad, Header, Sort};
use super::several;
use crate::group::neighbours;
use crate::id::Rank;
use crate::wire::hub::Hub;
use crate::wire::lane::Lane;
use crate::wire::terms::Terms;
use crate::wire::{Cause, Error, Name, unpack};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes kept of the announcements of a rank for channels that are not open here: a correct program is ahead by a few, each
/// of some hundred bytes.
const ANNOUNCED: usize = 1 << 20;
/// Bytes that a kept announcement counts beside its strings: its entries in collections, and the allocator's heads.
const ANNOUNCEMENT: usize = 640;
/// Bytes of an announcement.
const TERMS_BYTES: usize = 1 << 16;

/// What is known of the channels and the other ranks.
pub(super) struct Book {
    pub(super) lanes: BTreeMap<u32, Side>,
    /// The ordinal of the next channel to be opened here.
    next: u32,
    /// What arrived for channels that are not open here.
    early: BTreeMap<u32, Early>,
    pub(super) peers: Vec<Peer>,
    /// Whether a channel is to be announced to a rank.
    pub(super) owes: bool,
    /// Bytes that were sent ahead for channels that are closed here, by channel and rank, until that rank opens the channel.
    owed: BTreeMap<(u32, Rank), usize>,
    /// The losses without which the channels do.
    losses: Vec<Error>,
}

/// A channel that is open here, or was closed and has messages left.
pub(super) struct Side {
    pub(super) lane: Arc<dyn Lane>,
    /// Whether it is to be announced to ranks that are not told.
    pub(super) owes: bool,
    /// By rank.
    pub(super) ends: Vec<Other>,
}

/// What is known of a channel's end at another rank.
#[derive(Clone, Copy, Default)]
pub(super) struct Other {
    /// Whether the channel was announced to it.
    pub(super) is_told: bool,
    /// Whether it has announced the channel.
    pub(super) is_open: bool,
    /// Bytes of parcels sent to it before.
    pub(super) early: usize,
}

/// What is known of a rank.
#[derive(Clone, Copy, Default)]
pub(super) struct Peer {
    /// Parcels received from it.
    received: u64,
    /// Bytes of parcels sent to it for channels that it may not have opened.
    pub(super) ahead: usize,
    /// Bytes of parcels kept from it.
    kept: usize,
    /// Bytes of announcements kept from it.
    announced: usize,
    pub(super) has_left: bool,
    /// Whether the channels do without it.
    pub(super) is_lost: bool,
}

#[derive(Default)]
pub(super) struct Early {
    terms: Vec<(Rank, Terms)>,
    messages: Vec<(Rank, Header, Vec<u8>)>,
}

/// Returns the bytes that a kept announcement counts.
fn weight(terms: &Terms) -> usize {
    ANNOUNCEMENT + terms.kind.len() + terms.site.len() + terms.message.len()
}

impl Book {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            lanes: BTreeMap::new(),
            next: 0,
            early: BTreeMap::new(),
            peers: vec![Peer::default(); ranks],
            owes: false,
            owed: BTreeMap::new(),
            losses: Vec::new(),
        }
    }

    /// Enters the channels that were opened here since, with what had arrived for them.
    pub(super) fn adopt(&mut self, hub: &Hub) -> Result<(), Error> {
        let known = self.next;
        // All before anything can fail: an error must reach each of them.
        for lane in hub.fresh() {
            let ordinal = lane.name().ordinal;
            let side = Side {
                lane,
                owes: true,
                ends: vec![Other::default(); hub.ranks as usize],
            };
            self.lanes.insert(ordinal, side);
            self.owes = true;
            self.next = ordinal + 1;
        }
        for (_, side) in self.lanes.range(known..) {
            let refused = self.losses.iter().find(|error| !side.lane.lost(error));
            refused.map_or(Ok(()), |error| Err(error.clone()))?;
        }
        for ordinal in known..self.next {
            let early = self.early.remove(&ordinal).unwrap_or_default();
            for (from, terms) in early.terms {
                self.peers[from.index()].announced -= weight(&terms);
                self.announced(hub, from, ordinal, terms)?;
            }
            for (from, header, body) in early.messages {
                self.peers[from.index()].kept -= header::BYTES + body.len();
                self.message(hub, from, header, &body)?;
            }
            neighbours(hub.here, hub.ranks)
                .try_for_each(|rank| self.check_present(hub, ordinal, rank))?;
        }
        Ok(())
    }

    /// Returns an error if `rank` has left without opening a channel that is open here, and of which it should have informed
    /// this rank: others would wait for it for ever.
    fn check_present(&self, hub: &Hub, ordinal: u32, rank: Rank) -> Result<(), Error> {
        let Some(side) = self.lanes.get(&ordinal) else {
            return Ok(());
        };
        let is_open = side.ends[rank.index()].is_open || self.peers[rank.index()].is_lost;
        let mut expected = neighbours(hub.here, hub.ranks);
        if is_open || !self.peers[rank.index()].has_left || !expected.any(|r| r == rank) {
            return Ok(());
        }
        let absent = Cause::Absent {
            others: Vec::new(),
            within: None,
        };
        Err(hub.error(rank, Some(side.lane.name()), absent))
    }

    /// Notes a loss, if all channels do without that rank; else returns its error.
    pub(super) fn lose(&mut self, hub: &Hub, error: Error) -> Result<(), Error> {
        self.adopt(hub)?;
        if self.lanes.values().any(|side| !side.lane.lost(&error)) {
            return Err(error);
        }
        self.peers[error.peer.index()].is_lost = true;
        self.losses.push(error);
        Ok(())
    }

    /// Takes a parcel from another rank.
    pub(super) fn take(&mut self, hub: &Hub, from: Rank, parcel: &[u8]) -> Result<(), Error> {
        let peer = &mut self.peers[from.index()];
        let number = peer.received;
        peer.received += 1;
        let (header, body) = Header::read(number, parcel).map_err(|bad| {
            let why = match bad {
                Bad::Short => "a parcel has at least 16",
                Bad::Check => {
                    "its check differs: it is garbled, or one was lost, doubled or overtaken"
                }
                Bad::Sort => "its sort is unknown",
            };
            self.corrupt(hub, from, parcel, why)
        })?;
        if self.peers[from.index()].has_left {
            return Err(self.corrupt(hub, from, parcel, "the rank had said goodbye"));
        }
        match header.sort {
            Sort::Open if body.len() > TERMS_BYTES => {
                Err(self.corrupt(hub, from, parcel, "no announcement is that long"))
            }
            Sort::Open => {
                let name = Some(self.name(header.channel));
                let terms = unpack(body).map_err(|e| hub.error(from, name, Cause::Garbled(e)))?;
                self.adopt(hub)?;
                self.announced(hub, from, header.channel, terms)
            }
            Sort::Message => {
                if header.channel >= self.next {
                    self.adopt(hub)?;
                }
                self.message(hub, from, header, body)
            }
            Sort::Several => {
                if header.channel >= self.next {
                    self.adopt(hub)?;
                }
                self.messages(hub, from, header, parcel)
            }
            Sort::Failed => Err(self.failed(hub, from, header, parcel)),
            Sort::Bye => {
                self.peers[from.index()].has_left = true;
                self.adopt(hub)?;
                self.lanes.iter().try_for_each(|(ordinal, side)| {
                    let left = side.lane.left(from);
                    left.map_err(|fault| hub.error_of(from, side.lane.name(), fault))?;
                    self.check_present(hub, *ordinal, from)
                })
            }
        }
    }

    /// Returns the error of a rank that has given up.
    fn failed(&self, hub: &Hub, from: Rank, header: Header, parcel: &[u8]) -> Error {
        let first = Rank(header.from.0);
        if first.0 >= hub.ranks || first == hub.here {
            let why = "it reports the failure of a rank that has not failed";
            return self.corrupt(hub, from, parcel, why);
        }
        let body = &parcel[header::BYTES..];
        let message = String::from_utf8_lossy(&body[..body.len().min(TERMS_BYTES)]);
        let message = message.into_owned();
        hub.error(from, None, Cause::Failed { first, message })
    }

    /// Processes the messages of a parcel, which are sent only to a channel that is open at both ends.
    fn messages(
        &mut self,
        hub: &Hub,
        from: Rank,
        header: Header,
        parcel: &[u8],
    ) -> Result<(), Error> {
        let is_open = |side: &Side| side.ends[from.index()].is_open;
        match self.lanes.get(&header.channel) {
            Some(side) if is_open(side) => {}
            // The channel is closed here.
            None if header.channel < self.next => return Ok(()),
            _ => {
                let why = "several messages of a channel that is not open at both ends";
                return Err(self.corrupt(hub, from, parcel, why));
            }
        }
        let Some(mut messages) = several::read(&parcel[header::BYTES..]) else {
            let why = "the lengths of its messages are not that of the parcel";
            return Err(self.corrupt(hub, from, parcel, why));
        };
        messages.try_for_each(|(part, body)| {
            let (source, to) = part.places();
            let header = Header {
                from: source,
                to,
                ..header
            };
            self.message(hub, from, header, body)
        })
    }

    /// Forgets the channels that are closed here and have nothing left to send.
    pub(super) fn forget_closed(&mut self) {
        let Self { lanes, owed, .. } = self;
        lanes.retain(|ordinal, side| {
            let is_over = side.lane.is_over();
            for (rank, other) in (0..).zip(&side.ends) {
                if is_over && other.early > 0 {
                    owed.insert((*ordinal, Rank(rank)), other.early);
                }
            }
            !is_over
        });
    }

    fn name(&self, ordinal: u32) -> Name {
        let side = self.lanes.get(&ordinal);
        let unknown = Name {
            ordinal,
            kind: None,
            operation: None,
        };
        side.map_or(unknown, |s| s.lane.name())
    }

    /// Returns the error of a parcel, which was the last one received from `from`.
    fn corrupt(&self, hub: &Hub, from: Rank, parcel: &[u8], why: &'static str) -> Error {
        let cause = Cause::Corrupt {
            number: self.peers[from.index()].received - 1,
            bytes: parcel.len(),
            why,
        };
        let name = Header::channel(parcel).map(|c| self.name(c));
        hub.error(from, name, cause)
    }

    /// Processes the announcement that `from` has opened a channel.
    fn announced(
        &mut self,
        hub: &Hub,
        from: Rank,
        ordinal: u32,
        terms: Terms,
    ) -> Result<(), Error> {
        if ordinal >= self.next {
            return self.announced_early(hub, from, ordinal, terms);
        }
        let name = Some(self.name(ordinal));
        let peer = &mut self.peers[from.index()];
        let Some(side) = self.lanes.get_mut(&ordinal) else {
            peer.ahead -= self.owed.remove(&(ordinal, from)).unwrap_or(0);
            return Ok(());
        };
        if *side.lane.terms() != terms {
            let cause = Cause::Mismatch {
                here: Box::new(side.lane.terms().clone()),
                there: Box::new(terms),
            };
            return Err(hub.error(from, name, cause));
        }
        let other = &mut side.ends[from.index()];
        other.is_open = true;
        peer.ahead -= core::mem::take(&mut other.early);
        side.owes |= !other.is_told;
        self.owes |= side.owes;
        Ok(())
    }

    fn announced_early(
        &mut self,
        hub: &Hub,
        from: Rank,
        ordinal: u32,
        terms: Terms,
    ) -> Result<(), Error> {
        let kept = &mut self.peers[from.index()].announced;
        let (count, limit) = (*kept + weight(&terms), ANNOUNCED);
        if count > limit {
            let cause = Cause::TooEarly { count, limit };
            return Err(hub.error(from, Some(self.name(ordinal)), cause));
        }
        *kept = count;
        self.early
            .entry(ordinal)
            .or_default()
            .terms
            .push((from, terms));
        Ok(())
    }

    /// Processes a message: passes it to its receiver, or keeps it if the channel is not open here
    /// yet.
    fn message(&mut self, hub: &Hub, from: Rank, header: Header, body: &[u8]) -> Result<(), Error> {
        let name = self.name(header.channel);
        let fails = |cause| Err(hub.error(from, Some(name), cause));
        let limit = hub.limits.body;
        if body.len() > limit {
            let bytes = body.len();
            return fails(Cause::TooLong { bytes, limit });
        }
        let unannounced = Cause::Corrupt {
            number: self.peers[from.index()].received - 1,
            bytes: header::BYTES + body.len(),
            why: "a message of a channel that it has not announced",
        };
        if let Some(side) = self.lanes.get(&header.channel) {
            let places = side.lane.terms().places;
            if !side.ends[from.index()].is_open {
                return fails(unannounced);
            }
            let (source, target) = (header.from, header.to);
            if (source.0 / places, target.0 / places) != (from.0, hub.here.0) {
                return fails(Cause::Misdirected {
                    from: source,
                    to: target,
                    places,
                });
            }
            let taken = side.lane.take(source, target, body);
            return taken.map_err(|fault| hub.error_of(from, name, fault));
        }
        if header.channel < self.next {
            // The channel is closed here.
            return Ok(());
        }
        let Some(early) = self.early.get_mut(&header.channel) else {
            return fails(unannounced);
        };
        if early.terms.iter().all(|(rank, _)| *rank != from) {
            return fails(unannounced);
        }
        let limit = hub.limits.early;
        let kept = &mut self.peers[from.index()].kept;
        // With the header, so that empty bodies are bounded too.
        let count = *kept + header::BYTES + body.len();
        if *kept >= limit {
            return fails(Cause::TooEarly { count, limit });
        }
        *kept = count;
        early.messages.push((from, header, body.to_vec()));
        Ok(())
    }
}
