//! The open channels, the states of their remote ends and of the other ranks, and the dispatch of
//! received parcels.

use super::batch;
use super::header::{self, Header, HeaderError, ParcelKind};
use crate::group::neighbours;
use crate::id::Rank;
use crate::wire::any_end::AnyEnd;
use crate::wire::shared::Shared;
use crate::wire::terms::Terms;
use crate::wire::{Cause, Error, Name, unpack};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes kept of the announcements of a rank for channels that are not open here: a correct program
/// is ahead by a few, each of some hundred bytes.
const ANNOUNCED: usize = 1 << 20;
/// Bytes that a kept announcement counts in addition to its strings: its entries in collections,
/// and the allocator's heads.
const ANNOUNCEMENT: usize = 640;
/// Maximum bytes of an announcement.
const TERMS_BYTES: usize = 1 << 16;

/// The channels and the other ranks, as this rank knows them.
pub(super) struct ChannelTable {
    pub(super) channels: BTreeMap<u32, ChannelState>,
    /// The ordinal of the next channel to be opened here.
    next: u32,
    /// Parcels that arrived for channels that are not open here.
    early: BTreeMap<u32, Early>,
    pub(super) peers: Vec<PeerState>,
    /// Whether a channel is to be announced to a rank.
    pub(super) must_announce: bool,
    /// Bytes that were sent ahead for channels that are closed here, by channel and rank, until
    /// that rank opens the channel.
    unacknowledged: BTreeMap<(u32, Rank), usize>,
    /// Whether a lost rank ends only the channels that do not tolerate its loss.
    pub(super) tolerates_losses: bool,
    /// The losses that all channels tolerate.
    pub(super) losses: Vec<Error>,
}

/// A channel that is open here, or was closed and has messages left.
pub(super) struct ChannelState {
    pub(super) end: Arc<dyn AnyEnd>,
    /// Whether it must be announced to ranks that do not know of it.
    pub(super) must_announce: bool,
    /// The ends at the other ranks, by rank.
    pub(super) remote_ends: Vec<RemoteEnd>,
}

/// The state of a channel's end at another rank.
#[derive(Clone, Copy, Default)]
pub(super) struct RemoteEnd {
    /// Whether the channel was announced to it.
    pub(super) is_announced: bool,
    /// Whether it has announced the channel.
    pub(super) is_open: bool,
    /// Bytes of parcels sent to it before.
    pub(super) early: usize,
}

/// The state of another rank.
#[derive(Clone, Copy, Default)]
pub(super) struct PeerState {
    /// Parcels received from it.
    received: u64,
    /// Bytes of parcels sent to it for channels that it may not have opened.
    pub(super) ahead: usize,
    /// Bytes of parcels kept from it.
    kept: usize,
    /// Bytes of announcements kept from it.
    announced: usize,
    pub(super) has_left: bool,
    /// Whether it is lost, and all channels tolerate that.
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

impl ChannelTable {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            channels: BTreeMap::new(),
            next: 0,
            early: BTreeMap::new(),
            peers: vec![PeerState::default(); ranks],
            must_announce: false,
            unacknowledged: BTreeMap::new(),
            tolerates_losses: false,
            losses: Vec::new(),
        }
    }

    /// Enters the channels that were opened here since, with what had arrived for them.
    pub(super) fn adopt(&mut self, shared: &Shared) -> Result<(), Error> {
        let known = self.next;
        // All before anything can fail: an error must reach each of them.
        for end in shared.fresh() {
            let ordinal = end.name().ordinal;
            let channel = ChannelState {
                end,
                must_announce: true,
                remote_ends: vec![RemoteEnd::default(); shared.ranks as usize],
            };
            self.channels.insert(ordinal, channel);
            self.must_announce = true;
            self.next = ordinal + 1;
        }
        for (_, channel) in self.channels.range(known..) {
            let refused = self.losses.iter().find(|error| !channel.end.lost(error));
            refused.map_or(Ok(()), |error| Err(error.clone()))?;
        }
        for ordinal in known..self.next {
            let early = self.early.remove(&ordinal).unwrap_or_default();
            for (from, terms) in early.terms {
                self.peers[from.index()].announced -= weight(&terms);
                self.announced(shared, from, ordinal, terms)?;
            }
            for (from, header, body) in early.messages {
                self.peers[from.index()].kept -= header::BYTES + body.len();
                self.message(shared, from, header, &body)?;
            }
            neighbours(shared.here, shared.ranks)
                .try_for_each(|rank| self.check_present(shared, ordinal, rank))?;
            let have_left = (0..shared.ranks).map(Rank);
            let mut have_left = have_left.filter(|rank| self.peers[rank.index()].has_left);
            have_left.try_for_each(|rank| self.left(shared, ordinal, rank))?;
        }
        Ok(())
    }

    /// Notifies a channel that `rank` has left, after its messages.
    fn left(&self, shared: &Shared, ordinal: u32, rank: Rank) -> Result<(), Error> {
        let Some(channel) = self.channels.get(&ordinal) else {
            return Ok(());
        };
        let left = channel.end.left(rank);
        left.map_err(|fault| shared.error_of(rank, channel.end.name(), fault))
    }

    /// Returns an error if `rank` has left without opening a channel that is open here, and of
    /// which it should have informed this rank: the open ends would wait for it for ever.
    fn check_present(&self, shared: &Shared, ordinal: u32, rank: Rank) -> Result<(), Error> {
        let Some(channel) = self.channels.get(&ordinal) else {
            return Ok(());
        };
        let is_open = channel.remote_ends[rank.index()].is_open || self.peers[rank.index()].is_lost;
        let mut expected = neighbours(shared.here, shared.ranks);
        if is_open || !self.peers[rank.index()].has_left || !expected.any(|r| r == rank) {
            return Ok(());
        }
        let absent = Cause::Absent {
            others: Vec::new(),
            within: None,
            call: None,
        };
        Err(shared.error(rank, Some(channel.end.name()), absent))
    }

    /// Records a lost rank. Returns the error unless every open channel tolerates the loss.
    pub(super) fn lose(&mut self, shared: &Shared, error: Error) -> Result<(), Error> {
        if self.peers[error.peer.index()].is_lost {
            return Ok(());
        }
        if !self.tolerates_losses {
            return Err(error);
        }
        self.adopt(shared)?;
        if self
            .channels
            .values()
            .any(|channel| !channel.end.lost(&error))
        {
            return Err(error);
        }
        self.peers[error.peer.index()].is_lost = true;
        self.losses.push(error);
        Ok(())
    }

    /// Takes a parcel from another rank. What comes from one that another rank has reported as lost
    /// is dropped.
    pub(super) fn take(&mut self, shared: &Shared, from: Rank, parcel: &[u8]) -> Result<(), Error> {
        let peer = &mut self.peers[from.index()];
        if peer.is_lost {
            return Ok(());
        }
        let number = peer.received;
        peer.received += 1;
        let (header, body) = Header::read(number, parcel).map_err(|bad| {
            let why = match bad {
                HeaderError::Short => "a parcel has at least 16",
                HeaderError::Check => {
                    "its check differs: it is corrupt, or one was lost, doubled or overtaken"
                }
                HeaderError::UnknownKind => "its kind is unknown",
            };
            self.corrupt(shared, from, parcel, why)
        })?;
        if self.peers[from.index()].has_left {
            return Err(self.corrupt(shared, from, parcel, "the rank had said goodbye"));
        }
        match header.kind {
            ParcelKind::Open if body.len() > TERMS_BYTES => {
                Err(self.corrupt(shared, from, parcel, "no announcement is that long"))
            }
            ParcelKind::Open => {
                let name = Some(self.name(header.channel));
                let terms =
                    unpack(body).map_err(|e| shared.error(from, name, Cause::Malformed(e)))?;
                self.adopt(shared)?;
                self.announced(shared, from, header.channel, terms)
            }
            ParcelKind::Message => {
                if header.channel >= self.next {
                    self.adopt(shared)?;
                }
                self.message(shared, from, header, body)
            }
            ParcelKind::Batch => {
                if header.channel >= self.next {
                    self.adopt(shared)?;
                }
                self.messages(shared, from, header, parcel)
            }
            ParcelKind::Failed => Err(self.failed(shared, from, header, parcel)),
            ParcelKind::Lost => self.reported(shared, from, header, parcel),
            ParcelKind::Bye => {
                self.adopt(shared)?;
                self.peers[from.index()].has_left = true;
                self.channels.keys().try_for_each(|ordinal| {
                    self.left(shared, *ordinal, from)?;
                    self.check_present(shared, *ordinal, from)
                })
            }
        }
    }

    /// Processes the report of `from` that a rank is lost.
    fn reported(
        &mut self,
        shared: &Shared,
        from: Rank,
        header: Header,
        parcel: &[u8],
    ) -> Result<(), Error> {
        let lost = Rank(header.from.0);
        if lost.0 >= shared.ranks || lost == shared.here || lost == from {
            let why = "it reports the loss of a rank that is not lost";
            return Err(self.corrupt(shared, from, parcel, why));
        }
        if self.peers[shared.here.index()].has_left {
            return Ok(());
        }
        // Also one that has left: its goodbye has not reached the rank that misses it.
        let doing = "another rank reported it";
        self.lose(shared, shared.error(lost, None, Cause::Lost { doing }))
    }

    /// Returns the error of a rank that has given up.
    fn failed(&self, shared: &Shared, from: Rank, header: Header, parcel: &[u8]) -> Error {
        let first = Rank(header.from.0);
        if first.0 >= shared.ranks || first == shared.here {
            let why = "it reports the failure of a rank that has not failed";
            return self.corrupt(shared, from, parcel, why);
        }
        let body = &parcel[header::BYTES..];
        let message = String::from_utf8_lossy(&body[..body.len().min(TERMS_BYTES)]);
        let message = message.into_owned();
        shared.error(from, None, Cause::Failed { first, message })
    }

    /// Dispatches the messages of a batch. They are sent only to a channel that is open at both
    /// ends.
    fn messages(
        &mut self,
        shared: &Shared,
        from: Rank,
        header: Header,
        parcel: &[u8],
    ) -> Result<(), Error> {
        let is_open = |channel: &ChannelState| channel.remote_ends[from.index()].is_open;
        match self.channels.get(&header.channel) {
            Some(channel) if is_open(channel) => {}
            // The channel is closed here.
            None if header.channel < self.next => return Ok(()),
            _ => {
                let why = "several messages of a channel that is not open at both ends";
                return Err(self.corrupt(shared, from, parcel, why));
            }
        }
        let Some(mut messages) = batch::read(&parcel[header::BYTES..]) else {
            let why = "the lengths of its messages are not that of the parcel";
            return Err(self.corrupt(shared, from, parcel, why));
        };
        messages.try_for_each(|(entry, body)| {
            let (source, to) = entry.places();
            let header = Header {
                from: source,
                to,
                ..header
            };
            self.message(shared, from, header, body)
        })
    }

    /// Forgets the channels that are closed here and have nothing left to send.
    pub(super) fn forget_closed(&mut self) {
        let Self {
            channels,
            unacknowledged,
            ..
        } = self;
        channels.retain(|ordinal, channel| {
            let is_over = channel.end.is_over();
            for (rank, remote) in (0..).zip(&channel.remote_ends) {
                if is_over && remote.early > 0 {
                    unacknowledged.insert((*ordinal, Rank(rank)), remote.early);
                }
            }
            !is_over
        });
    }

    fn name(&self, ordinal: u32) -> Name {
        let channel = self.channels.get(&ordinal);
        let unknown = Name {
            ordinal,
            kind: None,
            operation: None,
        };
        channel.map_or(unknown, |s| s.end.name())
    }

    /// Returns the error of a parcel, which was the last one received from `from`.
    fn corrupt(&self, shared: &Shared, from: Rank, parcel: &[u8], why: &'static str) -> Error {
        let cause = Cause::Corrupt {
            number: self.peers[from.index()].received - 1,
            bytes: parcel.len(),
            why,
        };
        let name = Header::channel(parcel).map(|c| self.name(c));
        shared.error(from, name, cause)
    }

    /// Processes the announcement that `from` has opened a channel.
    fn announced(
        &mut self,
        shared: &Shared,
        from: Rank,
        ordinal: u32,
        terms: Terms,
    ) -> Result<(), Error> {
        if ordinal >= self.next {
            return self.announced_early(shared, from, ordinal, terms);
        }
        let name = Some(self.name(ordinal));
        let peer = &mut self.peers[from.index()];
        let Some(channel) = self.channels.get_mut(&ordinal) else {
            peer.ahead -= self.unacknowledged.remove(&(ordinal, from)).unwrap_or(0);
            return Ok(());
        };
        if *channel.end.terms() != terms {
            let cause = Cause::Mismatch {
                here: Box::new(channel.end.terms().clone()),
                there: Box::new(terms),
            };
            return Err(shared.error(from, name, cause));
        }
        let remote = &mut channel.remote_ends[from.index()];
        remote.is_open = true;
        peer.ahead -= core::mem::take(&mut remote.early);
        channel.must_announce |= !remote.is_announced;
        self.must_announce |= channel.must_announce;
        Ok(())
    }

    fn announced_early(
        &mut self,
        shared: &Shared,
        from: Rank,
        ordinal: u32,
        terms: Terms,
    ) -> Result<(), Error> {
        let kept = &mut self.peers[from.index()].announced;
        let (count, limit) = (*kept + weight(&terms), ANNOUNCED);
        if count > limit {
            let cause = Cause::TooEarly { count, limit };
            return Err(shared.error(from, Some(self.name(ordinal)), cause));
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
    fn message(
        &mut self,
        shared: &Shared,
        from: Rank,
        header: Header,
        body: &[u8],
    ) -> Result<(), Error> {
        let name = self.name(header.channel);
        let fails = |cause| Err(shared.error(from, Some(name), cause));
        let limit = shared.limits.body;
        if body.len() > limit {
            let bytes = body.len();
            return fails(Cause::TooLong { bytes, limit });
        }
        let unannounced = Cause::Corrupt {
            number: self.peers[from.index()].received - 1,
            bytes: header::BYTES + body.len(),
            why: "a message of a channel that it has not announced",
        };
        if let Some(channel) = self.channels.get(&header.channel) {
            let places = channel.end.terms().places;
            if !channel.remote_ends[from.index()].is_open {
                return fails(unannounced);
            }
            let (source, target) = (header.from, header.to);
            if (source.0 / places, target.0 / places) != (from.0, shared.here.0) {
                return fails(Cause::Misdirected {
                    from: source,
                    to: target,
                    places,
                });
            }
            let taken = channel.end.take(source, target, body);
            return taken.map_err(|fault| shared.error_of(from, name, fault));
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
        let limit = shared.limits.early;
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
