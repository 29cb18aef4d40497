//! Parcels on their way out: encoded, and passed to the link.

use super::batch::{self, BATCH_BYTES, BatchEntry};
use super::header::{self, Header, ParcelKind};
use super::table::{ChannelState, PeerState};
use crate::group::neighbours;
use crate::id::Rank;
use crate::port::Link;
use crate::wire::any_end::Packed;
use crate::wire::shared::Shared;
use crate::wire::{Cause, Error, pack};
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

/// Bytes kept for the next parcel.
const KEPT: usize = 1 << 20;
/// Messages of a channel from this rank to itself that one turn delivers. Their receivers may send
/// more, without end: after this number, other channels and arrived parcels have their turn, which
/// waits for as many calls of a receiver.
const LOCAL: usize = 64;

/// The messages of a channel for a rank that a turn has left in the outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Backlog {
    Empty,
    /// Held back by a bound, until something arrives or leaves.
    Blocked,
    /// Deliverable by the next turn.
    Ready,
}

/// The sending half of the link's owner.
pub(super) struct ParcelSender<L: Link> {
    pub(super) link: L,
    /// Parcels sent to each rank.
    sent: Vec<u64>,
    parcel: Vec<u8>,
    /// The messages in it, if it is a batch.
    entries: Vec<BatchEntry>,
}

impl<L: Link> ParcelSender<L> {
    pub(super) fn new(link: L) -> Self {
        let ranks = link.ranks() as usize;
        Self {
            link,
            sent: vec![0; ranks],
            parcel: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// Returns the number of parcels sent.
    pub(super) fn parcels(&self) -> u64 {
        self.sent.iter().sum()
    }

    /// Sends a parcel that belongs to no channel.
    pub(super) fn send(&mut self, to: Rank, header: Header, body: &[u8]) {
        self.start();
        self.parcel.extend_from_slice(body);
        self.finish(to, header);
    }

    /// Announces a channel to the neighbours, and to the ranks that have announced it.
    pub(super) fn announce_where_due(&mut self, shared: &Shared, channel: &mut ChannelState) {
        if !mem::replace(&mut channel.must_announce, false) {
            return;
        }
        for rank in neighbours(shared.here, shared.ranks) {
            self.announce(channel, rank);
        }
        for rank in (0..shared.ranks).filter(|r| *r != shared.here.0) {
            if channel.remote_ends[rank as usize].is_open {
                self.announce(channel, Rank(rank));
            }
        }
    }

    fn start(&mut self) {
        self.parcel.clear();
        self.parcel.resize(header::BYTES, 0);
    }

    /// Sends the parcel that was begun.
    fn finish(&mut self, to: Rank, header: Header) {
        let number = &mut self.sent[to.index()];
        header.write(*number, &mut self.parcel);
        *number += 1;
        self.link.send(to, &self.parcel);
        self.parcel.shrink_to(KEPT);
    }

    fn announce(&mut self, channel: &mut ChannelState, to: Rank) {
        let remote = &mut channel.remote_ends[to.index()];
        if !mem::replace(&mut remote.is_announced, true) {
            self.start();
            pack(channel.end.terms(), &mut self.parcel).expect("strings and numbers");
            self.finish(
                to,
                Header::of_rank(ParcelKind::Open, channel.end.name().ordinal),
            );
        }
    }

    /// Sends the messages of a channel for one rank; returns whether one has left, and the backlog.
    pub(super) fn send_to(
        &mut self,
        shared: &Shared,
        channel: &mut ChannelState,
        to: Rank,
        peer: &mut PeerState,
    ) -> Result<(bool, Backlog), Error> {
        if peer.has_left || peer.is_lost {
            channel.end.forget(to);
            return Ok((false, Backlog::Empty));
        }
        let is_here = to == shared.here;
        if !is_here {
            self.announce(channel, to);
        }
        let name = channel.end.name();
        let (mut moved, mut local) = (false, 0);
        loop {
            let is_open = channel.remote_ends[to.index()].is_open;
            if !is_here
                && (self.link.unsent(to) >= shared.limits.window
                    || (!is_open && peer.ahead >= shared.limits.early))
            {
                return Ok((moved, Backlog::Blocked));
            }
            if local == LOCAL {
                return Ok((moved, Backlog::Ready));
            }
            self.start();
            let Some(packed) = channel.end.pack_next(to, &mut self.parcel) else {
                return Ok((moved, Backlog::Empty));
            };
            let unencodable = |error| shared.error(to, Some(name), Cause::Unencodable(error));
            let packed = packed.map_err(unencodable)?;
            moved = true;
            if is_here {
                let body = &self.parcel[header::BYTES..];
                let taken = channel.end.take(packed.from, packed.to, body);
                taken.map_err(|fault| shared.error_of(to, name, fault))?;
                self.parcel.clear();
                self.parcel.shrink_to(KEPT);
                local += 1;
                continue;
            }
            if !is_open {
                let bytes = self.parcel.len();
                peer.ahead += bytes;
                channel.remote_ends[to.index()].early += bytes;
                self.finish(to, packed.header(ParcelKind::Message, name.ordinal));
                continue;
            }
            let most = BATCH_BYTES.min(shared.limits.window);
            let (kind, has_next) = self.join(channel, to, &packed, most);
            self.finish(to, packed.header(kind, name.ordinal));
            if !has_next {
                // A later one is announced.
                return Ok((moved, Backlog::Empty));
            }
        }
    }

    /// Adds short messages that wait after the first to its parcel, up to `most` bytes. Returns the
    /// kind of the parcel, and whether more messages wait.
    fn join(
        &mut self,
        channel: &ChannelState,
        to: Rank,
        first: &Packed,
        most: usize,
    ) -> (ParcelKind, bool) {
        self.entries.clear();
        let mut has_next = first.has_next;
        let bytes = self.parcel.len() - header::BYTES;
        // Without the bytes of the entries: the first one's, and one more.
        let room = |parcel: &[u8], entries: usize| {
            let entries = batch::bytes(entries.max(1) + 1);
            most.checked_sub(parcel.len() + entries)
        };
        while has_next && let Some(room) = room(&self.parcel, self.entries.len()) {
            let start = self.parcel.len();
            let Some(packed) = channel.end.pack_more(to, &mut self.parcel, room) else {
                break;
            };
            if self.entries.is_empty() {
                self.entries.push(BatchEntry::new(first, bytes));
            }
            self.entries
                .push(BatchEntry::new(&packed, self.parcel.len() - start));
            has_next = packed.has_next;
        }
        if self.entries.is_empty() {
            return (ParcelKind::Message, has_next);
        }
        batch::write(&self.entries, &mut self.parcel);
        (ParcelKind::Batch, has_next)
    }
}

impl Packed {
    fn header(&self, kind: ParcelKind, channel: u32) -> Header {
        Header {
            kind,
            channel,
            from: self.from,
            to: self.to,
        }
    }
}
