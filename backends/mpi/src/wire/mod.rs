//! Parcels as messages of MPI.

mod buffers;
mod head;
mod packet;

pub(crate) use packet::{Content, Outgoing, Provided};

use crate::calls::{Comm, Transfer};
use crate::error::Failed;
use crate::nap::Nap;
use crate::native::Natives;
use buffers::Buffers;
use head::{HEAD, Head};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_int;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{self, Body, News};
use tautline_core::port::Lost;

/// Bytes from which on a parcel is announced, and sent as a message of its own.
pub const SHORT: usize = 4096;
/// Receives of short messages that a rank has posted.
pub const SLOTS: usize = 16;
/// Bytes for a rank of which one message waits until it is received.
pub const UNACKNOWLEDGED: usize = 1 << 16;

/// Short messages that one poll takes: others want their turn, too.
const BUDGET: usize = 256;
/// Bytes of the longest parcel.
const LONGEST: usize = 1 << 30;

/// Bytes of the count of a rank's operations of one number, in its last message, and how many
/// counts that has at most: those of further numbers count as 0.
const COUNT: usize = 12;
const COUNTS: usize = (SHORT - 1) / COUNT;

/// The tag of short messages, and that of long ones.
const SHORT_TAG: c_int = 0;
const LONG_TAG: c_int = 1;

/// The last byte of a short message: what it is.
const PARCEL: u8 = 0;
const ANNOUNCED: u8 = 1;
const LEFT: u8 = 2;
const PACKET: u8 = 3;
const LONG_PACKET: u8 = 4;

/// The messages of one rank. It is made of calls of MPI, one thread at a time.
#[derive(Debug)]
pub(crate) struct Wire {
    comm: Option<Comm>,
    here: Rank,
    /// Those in the order of matching.
    slots: VecDeque<Transfer>,
    /// The messages that are being sent.
    sends: Vec<Send>,
    peers: Vec<Peer>,
    /// Ranks from which long parcels arrive.
    busy: Vec<Rank>,
    /// Ranks whose loss was not reported yet.
    losses: VecDeque<Rank>,
    /// The packets that have arrived for communicators, by their numbers; and the bodies that have
    /// left.
    arrived: Vec<(u32, News)>,
    provided: Arc<Provided>,
    natives: Natives,
    buffers: Buffers,
    nap: Arc<Nap>,
}

// SAFETY: handles of MPI may be used by any thread; that one at a time does is ensured by `&mut`,
// and by the session, which has one link at a time: the library has granted this
// (`MPI_THREAD_SERIALIZED`).
unsafe impl std::marker::Send for Wire {}

#[derive(Debug)]
struct Send {
    to: Rank,
    transfer: Transfer,
    /// Bytes that are unsent until it is complete: its own, and those that MPI has accepted before.
    bytes: usize,
    /// The recipient of its body: the number of a communicator, and of an offer.
    back: Option<(u32, u64)>,
}

#[derive(Debug, Default)]
struct Peer {
    /// Bytes accepted since the last synchronous send.
    accepted: usize,
    unsent: usize,
    /// The messages that arrived after a long parcel that has not.
    queue: VecDeque<Arrival>,
    state: State,
}

#[derive(Debug)]
enum Arrival {
    Short(Vec<u8>),
    Long(Transfer, usize),
    Packet(Head, Body),
    LongPacket(Transfer, usize, Head),
    Left(HashMap<u32, u64>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Present,
    /// Ended: nothing comes from it any more.
    Left,
    /// A call of MPI has failed; what the rank was doing.
    Broken(&'static str),
}

impl Wire {
    pub(crate) fn new(comm: Comm) -> Result<Self, Failed> {
        let slot = |_| comm.receive(None, SHORT_TAG, vec![0; SHORT].into(), SHORT);
        let slots = (0..SLOTS).map(slot).collect::<Result<_, _>>()?;
        let peers = (0..comm.ranks).map(|_| Peer::default()).collect();
        Ok(Self {
            here: Rank(comm.here),
            comm: Some(comm),
            slots,
            sends: Vec::new(),
            peers,
            busy: Vec::new(),
            losses: VecDeque::new(),
            arrived: Vec::new(),
            provided: Arc::default(),
            natives: Natives::default(),
            buffers: Buffers::default(),
            nap: Arc::new(Nap::new()),
        })
    }

    pub(crate) fn here(&self) -> Rank {
        self.here
    }

    /// Returns the nap of threads that wait for a message.
    pub(crate) fn nap(&self) -> &Arc<Nap> {
        &self.nap
    }

    pub(crate) fn provided(&self) -> &Arc<Provided> {
        &self.provided
    }

    /// Takes the packets that have arrived for communicators.
    pub(crate) fn arrived(&mut self) -> impl Iterator<Item = (u32, News)> {
        self.arrived.drain(..)
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    pub(crate) fn unsent(&self, to: Rank) -> usize {
        self.peers[to.index()].unsent
    }

    /// Sends `parcel`, or drops it if its receiver is lost.
    pub(crate) fn send(&mut self, to: Rank, parcel: &[u8]) {
        assert!(
            to != self.here && to.index() < self.peers.len(),
            "{} of {} ranks sends to {to}",
            self.here,
            self.peers.len()
        );
        assert!(
            parcel.len() <= LONGEST,
            "a parcel of {} bytes",
            parcel.len()
        );
        if self.peers[to.index()].state != State::Present {
            return;
        }
        if parcel.len() < SHORT {
            let mut bytes = self.buffers.take(parcel.len() + 1);
            bytes.extend_from_slice(parcel);
            bytes.push(PARCEL);
            self.start(to, SHORT_TAG, bytes.into(), None);
        } else {
            let mut bytes = self.buffers.take(SHORT);
            bytes.extend_from_slice(&(parcel.len() as u64).to_le_bytes());
            bytes.push(ANNOUNCED);
            self.start(to, SHORT_TAG, bytes.into(), None);
            let mut bytes = self.buffers.take(parcel.len());
            bytes.extend_from_slice(parcel);
            self.start(to, LONG_TAG, bytes.into(), None);
        }
    }

    /// Returns the memory of what was sent.
    fn end_send(&mut self, to: Rank, body: Body, back: Option<(u32, u64)>) {
        match back {
            Some((number, offer)) => {
                self.arrived.push((number, News::Sent { to, offer, body }));
            }
            None => self.buffers.give(body),
        }
    }

    fn start(&mut self, to: Rank, tag: c_int, bytes: Body, back: Option<(u32, u64)>) {
        let peer = &mut self.peers[to.index()];
        peer.accepted += bytes.len();
        let is_synchronous = peer.accepted >= UNACKNOWLEDGED;
        let counted = match is_synchronous {
            true => std::mem::take(&mut peer.accepted),
            false => 0,
        };
        self.nap.moved();
        let comm = self.comm.as_ref().expect("until its end");
        let sent = comm.send(to.0, tag, bytes, is_synchronous);
        let sent = sent.and_then(|mut transfer| Ok((transfer.test()?.is_some(), transfer)));
        match sent {
            Ok((true, transfer)) => self.end_send(to, transfer.into_body(), back),
            Ok((false, transfer)) => {
                peer.unsent += counted;
                self.sends.push(Send {
                    to,
                    transfer,
                    bytes: counted,
                    back,
                });
            }
            Err(failed) => self.lose(to, State::Broken(doing("sending to it", &failed))),
        }
    }

    /// Makes progress on all messages, as [`Link::poll`](tautline_core::port::Link::poll).
    pub(crate) fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.push();
        self.poll_natives();
        let mut moved = false;
        for _ in 0..BUDGET {
            match self.next(take) {
                Ok(true) => moved = true,
                Ok(false) => break,
                Err(failed) => self.lose_all(doing("receiving", &failed)),
            }
            moved |= self.deliver(take);
        }
        moved |= self.deliver(take);
        if moved || !self.losses.is_empty() {
            self.nap.moved();
        }
        match self.losses.pop_front() {
            None => Ok(moved),
            Some(rank) => Err(match self.peers[rank.index()].state {
                State::Broken(doing) => Lost {
                    rank,
                    doing,
                    is_gone: false,
                },
                _ => Lost {
                    rank,
                    doing: "receiving from it",
                    is_gone: true,
                },
            }),
        }
    }

    /// Tests which messages were sent.
    fn push(&mut self) {
        let mut at = 0;
        while at < self.sends.len() {
            match self.sends[at].transfer.test() {
                Ok(None) => {
                    at += 1;
                    continue;
                }
                Ok(Some(_)) => {
                    let sent = self.sends.swap_remove(at);
                    let peer = &mut self.peers[sent.to.index()];
                    // Nothing is unsent for a rank that is lost.
                    peer.unsent = peer.unsent.saturating_sub(sent.bytes);
                    self.end_send(sent.to, sent.transfer.into_body(), sent.back);
                }
                Err(failed) => {
                    let sent = self.sends.swap_remove(at);
                    self.lose(sent.to, State::Broken(doing("sending to it", &failed)));
                }
            }
            self.nap.moved();
        }
    }

    /// Takes the next short message, if there is one: passes it on, or puts it into the queue of
    /// its sender.
    fn next(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Failed> {
        let Some(slot) = self.slots.front_mut() else {
            return Ok(false);
        };
        let Some(received) = slot.test()? else {
            return Ok(false);
        };
        let slot = self.slots.pop_front().expect("the one that was tested");
        let from = Rank(received.from);
        let is_present = self.peers[from.index()].state == State::Present;
        match slot.bytes()[..received.bytes].split_last() {
            // The messages that a faulty rank has sent after its fault.
            _ if !is_present => {}
            Some((&PARCEL, parcel)) if self.peers[from.index()].queue.is_empty() => {
                take(from, parcel)
            }
            Some((&PARCEL, parcel)) => self.enqueue(from, Arrival::Short(parcel.to_vec())),
            Some((&PACKET, packet)) => match packet.split_last_chunk::<HEAD>() {
                Some((body, head)) => self.receive_packet(from, Head::from_bytes(head), body),
                None => self.lose(from, State::Broken("receiving an unknown message")),
            },
            Some((&ANNOUNCED, length)) => self.announced(from, length, None),
            Some((&LONG_PACKET, packet)) => match packet.split_last_chunk::<HEAD>() {
                Some((length, head)) => self.announced(from, length, Some(Head::from_bytes(head))),
                None => self.lose(from, State::Broken("receiving an unknown message")),
            },
            Some((&LEFT, counts)) => {
                let counts = counts_of(counts);
                self.enqueue(from, Arrival::Left(counts));
            }
            _ => self.lose(from, State::Broken("receiving an unknown message")),
        }
        let comm = self.comm.as_ref().expect("until its end");
        let slot = comm.receive(None, SHORT_TAG, slot.into_body(), SHORT)?;
        self.slots.push_back(slot);
        Ok(true)
    }

    fn enqueue(&mut self, from: Rank, arrival: Arrival) {
        let peer = &mut self.peers[from.index()];
        if peer.queue.is_empty() {
            self.busy.push(from);
        }
        peer.queue.push_back(arrival);
    }

    /// Starts to receive what was announced: a long parcel, or the body of a packet.
    fn announced(&mut self, from: Rank, bytes: &[u8], head: Option<Head>) {
        let length = <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes);
        let length = length.ok().and_then(|length| usize::try_from(length).ok());
        // What is shorter is sent in one message.
        let least = head.map_or(SHORT, |_| SHORT - HEAD);
        let Some(length) = length.filter(|length| (least..=LONGEST).contains(length)) else {
            return self.lose(from, State::Broken("receiving an impossible length"));
        };
        let provided = head.map_or(Ok(None), |head| self.memory(from, &head, length));
        let Ok(provided) = provided else {
            return;
        };
        let room = provided.unwrap_or_else(|| match head {
            None => self.buffers.room(length).into(),
            Some(_) => vec![0; length].into(),
        });
        let comm = self.comm.as_ref().expect("until its end");
        match comm.receive(Some(from.0), LONG_TAG, room, length) {
            Ok(transfer) => self.enqueue(
                from,
                match head {
                    None => Arrival::Long(transfer, length),
                    Some(head) => Arrival::LongPacket(transfer, length, head),
                },
            ),
            Err(failed) => self.lose(from, State::Broken(doing("receiving from it", &failed))),
        }
    }

    /// Passes on the messages that have arrived completely.
    fn deliver(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.busy.len() {
            let from = self.busy[at];
            moved |= self.deliver_of(from, take);
            match self.peers[from.index()].queue.is_empty() {
                true => drop(self.busy.swap_remove(at)),
                false => at += 1,
            }
        }
        moved
    }

    fn deliver_of(&mut self, from: Rank, take: &mut dyn FnMut(Rank, &[u8])) -> bool {
        let mut moved = false;
        while let Some(arrival) = self.peers[from.index()].queue.pop_front() {
            match arrival {
                Arrival::Short(bytes) => take(from, &bytes),
                Arrival::Left(counts) => {
                    let doing = "waiting for it in a collective operation, as it has left";
                    let error = comm::Error::Lost { rank: from, doing };
                    self.natives.leave(&counts, error);
                    self.lose(from, State::Left);
                }
                Arrival::Packet(head, body) => self.take_packet(from, head, body),
                Arrival::Long(mut transfer, length) => {
                    match self.ended(from, &mut transfer, length) {
                        Some(false) => {}
                        Some(true) => {
                            take(from, transfer.bytes());
                            self.buffers.give(transfer.into_body());
                        }
                        None => {
                            self.wait_for(from, Arrival::Long(transfer, length));
                            return moved;
                        }
                    }
                }
                Arrival::LongPacket(mut transfer, length, head) => {
                    match self.ended(from, &mut transfer, length) {
                        Some(false) => {}
                        Some(true) => self.take_packet(from, head, transfer.into_body()),
                        None => {
                            self.wait_for(from, Arrival::LongPacket(transfer, length, head));
                            return moved;
                        }
                    }
                }
            }
            moved = true;
        }
        moved
    }

    /// Returns whether a long message has come as announced; `None` while it is in flight. If it
    /// has not, its sender is lost.
    fn ended(&mut self, from: Rank, transfer: &mut Transfer, length: usize) -> Option<bool> {
        let broken = match transfer.test() {
            Ok(None) => return None,
            Ok(Some(received)) if received.bytes == length => return Some(true),
            Ok(Some(_)) => "receiving another length than announced",
            Err(failed) => doing("receiving from it", &failed),
        };
        self.lose(from, State::Broken(broken));
        Some(false)
    }

    fn wait_for(&mut self, from: Rank, arrival: Arrival) {
        self.peers[from.index()].queue.push_front(arrival);
    }

    fn others(&self) -> impl Iterator<Item = Rank> + use<> {
        let here = self.here;
        (0..self.ranks())
            .map(Rank)
            .filter(move |rank| *rank != here)
    }

    fn lose(&mut self, rank: Rank, state: State) {
        let peer = &mut self.peers[rank.index()];
        if peer.state == State::Present {
            peer.state = state;
            peer.unsent = 0;
            peer.queue.clear();
            self.provided.forget(rank);
            if let State::Broken(doing) = state {
                self.natives.lose(comm::Error::Lost { rank, doing });
            }
            self.losses.push_back(rank);
        }
    }

    /// States that this rank receives nothing any more.
    fn lose_all(&mut self, doing: &'static str) {
        self.slots.clear();
        for rank in self.others() {
            self.lose(rank, State::Broken(doing));
        }
    }

    /// Sends the last message to each rank.
    pub(crate) fn leave(&mut self) {
        self.natives.close_all();
        let mut left = Vec::new();
        for (number, started) in self.natives.counts().take(COUNTS) {
            left.extend_from_slice(&number.to_le_bytes());
            left.extend_from_slice(&started.to_le_bytes());
        }
        left.push(LEFT);
        for rank in self.others() {
            if !matches!(self.peers[rank.index()].state, State::Broken(_)) {
                self.start(rank, SHORT_TAG, left.clone().into(), None);
            }
        }
    }

    /// Whether a call of MPI has failed.
    pub(crate) fn is_broken(&self) -> bool {
        let mut states = self.peers.iter().map(|peer| peer.state);
        states.any(|state| matches!(state, State::Broken(_)))
    }

    /// Whether all ranks have left, and have received what this one has sent.
    pub(crate) fn is_over(&self) -> bool {
        let is_gone = |rank: Rank| self.peers[rank.index()].state != State::Present;
        self.sends.is_empty() && self.others().all(is_gone) && self.natives.is_over()
    }

    /// Frees its resources in MPI, once all ranks have left.
    pub(crate) fn end(mut self) -> Result<(), Failed> {
        for slot in std::mem::take(&mut self.slots) {
            slot.cancel()?;
        }
        if !self.natives.end()? {
            return Err(Failed {
                call: "MPI_Comm_idup",
                text: "not all ranks have made it".to_owned(),
            });
        }
        self.comm.take().map_or(Ok(()), Comm::free)
    }
}

/// Returns the number of operations that a rank that has left has started, by number.
fn counts_of(bytes: &[u8]) -> HashMap<u32, u64> {
    let (counts, _) = bytes.as_chunks::<COUNT>();
    let count = |bytes: &[u8; COUNT]| {
        let (number, started) = bytes.split_at(4);
        let number = u32::from_le_bytes(number.try_into().expect("four bytes"));
        (
            number,
            u64::from_le_bytes(started.try_into().expect("eight bytes")),
        )
    };
    counts.iter().map(count).collect()
}

/// Returns a description of a rank's activity, which lives until the process ends: once for each
/// rank that is lost.
fn doing(what: &str, failed: &Failed) -> &'static str {
    Box::leak(format!("{what}, {failed}").into_boxed_str())
}

#[cfg(test)]
mod tests;
