//! The way out: parcels are written and passed to the link.

use super::book::{Peer, Side};
use super::header::{self, Header, Sort};
use super::several::{self, Part, SHARED};
use crate::group::neighbours;
use crate::id::Rank;
use crate::port::Link;
use crate::wire::hub::Hub;
use crate::wire::lane::Packed;
use crate::wire::{Cause, Error, pack};
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

/// Bytes kept for the next parcel.
const KEPT: usize = 1 << 20;
/// Messages of a channel from this rank to itself that one turn delivers. Their receivers may send more, without end: after
/// this number, other channels and what arrives have their turn, which waits for as many calls of a receiver.
const LOCAL: usize = 64;

/// What is left of the messages of a channel for a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    Nothing,
    /// What a bound holds back until something arrives or leaves.
    Held,
    /// What the next turn can deliver.
    Due,
}

/// The way out.
pub(super) struct Out<L: Link> {
    pub(super) link: L,
    /// Parcels sent to each rank.
    sent: Vec<u64>,
    parcel: Vec<u8>,
    /// The messages in it, if they are several.
    parts: Vec<Part>,
}

impl<L: Link> Out<L> {
    pub(super) fn new(link: L) -> Self {
        let ranks = link.ranks() as usize;
        Self {
            link,
            sent: vec![0; ranks],
            parcel: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Sends a parcel that belongs to no channel.
    pub(super) fn send(&mut self, to: Rank, header: Header, body: &[u8]) {
        self.start();
        self.parcel.extend_from_slice(body);
        self.finish(to, header);
    }

    /// Announces a channel to the neighbours, and to the ranks that have announced it.
    pub(super) fn announce_where_due(&mut self, hub: &Hub, side: &mut Side) {
        if !mem::replace(&mut side.owes, false) {
            return;
        }
        for rank in neighbours(hub.here, hub.ranks) {
            self.announce(side, rank);
        }
        for rank in (0..hub.ranks).filter(|r| *r != hub.here.0) {
            if side.ends[rank as usize].is_open {
                self.announce(side, Rank(rank));
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

    fn announce(&mut self, side: &mut Side, to: Rank) {
        let other = &mut side.ends[to.index()];
        if !mem::replace(&mut other.is_told, true) {
            self.start();
            pack(side.lane.terms(), &mut self.parcel).expect("strings and numbers");
            self.finish(to, Header::of_rank(Sort::Open, side.lane.name().ordinal));
        }
    }

    /// Sends the messages of a channel for one rank; returns whether there was one that left, and
    /// what is left.
    pub(super) fn send_to(
        &mut self,
        hub: &Hub,
        side: &mut Side,
        to: Rank,
        peer: &mut Peer,
    ) -> Result<(bool, Rest), Error> {
        if peer.has_left || peer.is_lost {
            side.lane.forget(to);
            return Ok((false, Rest::Nothing));
        }
        let is_here = to == hub.here;
        if !is_here {
            self.announce(side, to);
        }
        let name = side.lane.name();
        let (mut moved, mut local) = (false, 0);
        loop {
            let is_open = side.ends[to.index()].is_open;
            if !is_here
                && (self.link.unsent(to) >= hub.limits.window
                    || (!is_open && peer.ahead >= hub.limits.early))
            {
                return Ok((moved, Rest::Held));
            }
            if local == LOCAL {
                return Ok((moved, Rest::Due));
            }
            self.start();
            let Some(packed) = side.lane.pack_next(to, &mut self.parcel) else {
                return Ok((moved, Rest::Nothing));
            };
            let unencodable = |error| hub.error(to, Some(name), Cause::Unencodable(error));
            let packed = packed.map_err(unencodable)?;
            moved = true;
            if is_here {
                let body = &self.parcel[header::BYTES..];
                let taken = side.lane.take(packed.from, packed.to, body);
                taken.map_err(|fault| hub.error_of(to, name, fault))?;
                self.parcel.clear();
                self.parcel.shrink_to(KEPT);
                local += 1;
                continue;
            }
            if !is_open {
                let bytes = self.parcel.len();
                peer.ahead += bytes;
                side.ends[to.index()].early += bytes;
                self.finish(to, packed.header(Sort::Message, name.ordinal));
                continue;
            }
            let sort = self.join(side, to, &packed, SHARED.min(hub.limits.window));
            self.finish(to, packed.header(sort, name.ordinal));
        }
    }

    /// Lets short messages that wait behind the first join its parcel, up to `most` bytes. Returns what the parcel is then.
    fn join(&mut self, side: &Side, to: Rank, first: &Packed, most: usize) -> Sort {
        self.parts.clear();
        let mut has_next = first.has_next;
        let bytes = self.parcel.len() - header::BYTES;
        // Without what the parts take: the first one's, and one more.
        let room = |parcel: &[u8], parts: usize| {
            let parts = several::bytes(parts.max(1) + 1);
            most.checked_sub(parcel.len() + parts)
        };
        while has_next && let Some(room) = room(&self.parcel, self.parts.len()) {
            let start = self.parcel.len();
            let Some(packed) = side.lane.pack_more(to, &mut self.parcel, room) else {
                break;
            };
            if self.parts.is_empty() {
                self.parts.push(Part::new(first, bytes));
            }
            self.parts
                .push(Part::new(&packed, self.parcel.len() - start));
            has_next = packed.has_next;
        }
        if self.parts.is_empty() {
            return Sort::Message;
        }
        several::write(&self.parts, &mut self.parcel);
        Sort::Several
    }
}

impl Packed {
    fn header(&self, sort: Sort, channel: u32) -> Header {
        Header {
            sort,
            channel,
            from: self.from,
            to: self.to,
        }
    }
}
