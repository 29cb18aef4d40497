//! Packets as messages: a head, and a body that is moved.
#![forbid(unsafe_code)]

use super::head::{HEAD, Head};
use super::{Arrival, LONG_PACKET, LONG_TAG, PACKET, SHORT, SHORT_TAG, State, Wire, doing};
use crate::native::{Native, Natives};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tautline_core::Rank;
use tautline_core::comm::{self, Body, News, Packet};

/// A packet to be sent.
pub(crate) struct Outgoing {
    pub(crate) number: u32,
    pub(crate) to: Rank,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Packet(Packet),
    /// The body of an offer, which its sender wants back.
    Body(u64, Body),
    /// Prepares collective operations.
    Collectives,
    Collective(Native),
    /// Ends them.
    Close,
}

impl Outgoing {
    /// Ends the packets that cannot be sent any more, as the link was dropped.
    pub(crate) fn refuse(self) {
        if let Content::Collective(native) = self.content {
            native.done.complete(Err(comm::Error::Closed));
        }
    }
}

/// Memory for bodies, and their lengths.
type Memory = HashMap<(u32, Rank, u64), (Body, usize)>;

/// Memory for bodies that were claimed, by the number of the packets, the sender, and the number of
/// its offer; and their lengths.
#[derive(Default)]
pub(crate) struct Provided(Mutex<Memory>);

impl fmt::Debug for Provided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory for bodies")
    }
}

impl Provided {
    fn all(&self) -> MutexGuard<'_, Memory> {
        // It is consistent between any two statements that change it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Provides memory for a body, and its length.
    pub(crate) fn put(&self, body: (u32, Rank, u64), memory: (Body, usize)) {
        self.all().insert(body, memory);
    }

    /// Takes the memory for a body, and its length; `None` if it was not provided.
    pub(crate) fn take(&self, number: u32, from: Rank, offer: u64) -> Option<(Body, usize)> {
        self.all().remove(&(number, from, offer))
    }

    /// Drops the memory for bodies of a rank that is lost.
    pub(crate) fn forget(&self, rank: Rank) {
        self.remove(|(_, from, _)| *from == rank);
    }

    /// Drops the memory for bodies of a number.
    pub(crate) fn close(&self, closed: u32) {
        self.remove(|(number, ..)| *number == closed);
    }

    fn remove(&self, mut is_over: impl FnMut(&(u32, Rank, u64)) -> bool) {
        let removed: Vec<_> = self.all().extract_if(|key, _| is_over(key)).collect();
        // Outside of the lock: the elements of a vector may do anything when they are dropped.
        drop(removed);
    }
}

impl Wire {
    /// Sends a packet, or drops it if its receiver is lost.
    pub(crate) fn send_packet(&mut self, packet: Outgoing) {
        let Outgoing {
            number,
            to,
            content,
        } = packet;
        if self.peers[to.index()].state != State::Present {
            return;
        }
        let ((head, body), back) = match content {
            Content::Collectives => return self.open_collectives(number),
            Content::Close => return self.natives.close(number),
            Content::Collective(native) => {
                self.natives.add(number, native);
                return self.poll_natives();
            }
            Content::Packet(packet) => (Head::of(number, packet), None),
            Content::Body(offer, body) => {
                ((Head::of_body(number, offer), body), Some((number, offer)))
            }
        };
        let mut bytes = self.buffers.take(SHORT);
        if body.len() + HEAD < SHORT {
            bytes.extend_from_slice(&body);
            bytes.extend_from_slice(&head.to_bytes());
            bytes.push(PACKET);
            self.start(to, SHORT_TAG, bytes.into(), None);
            self.end_send(to, body, back);
        } else {
            bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&head.to_bytes());
            bytes.push(LONG_PACKET);
            self.start(to, SHORT_TAG, bytes.into(), None);
            self.start(to, LONG_TAG, body, back);
        }
    }

    fn open_collectives(&mut self, number: u32) {
        let comm = self.comm.as_ref().expect("until its end");
        if let Err(failed) = self.natives.open(number, comm) {
            self.lose_all(doing("making a communicator", &failed));
        }
    }

    pub(super) fn poll_natives(&mut self) {
        match self.natives.poll() {
            Ok(false) => {}
            Ok(true) => self.nap.moved(),
            Err(failed) => self.lose_all(doing("taking part in a collective operation", &failed)),
        }
    }

    /// Returns the collective operations that the library carries out.
    pub(crate) fn natives(&mut self) -> &mut Natives {
        &mut self.natives
    }

    /// Takes a packet that has come in one message.
    pub(super) fn receive_packet(&mut self, from: Rank, head: Head, body: &[u8]) {
        let body = match self.memory(from, &head, body.len()) {
            Ok(Some(mut memory)) => {
                memory.bytes_mut()[..body.len()].copy_from_slice(body);
                memory
            }
            Ok(None) => body.to_vec().into(),
            Err(()) => return,
        };
        match self.peers[from.index()].queue.is_empty() {
            true => self.take_packet(from, head, body),
            false => self.enqueue(from, Arrival::Packet(head, body)),
        }
    }

    /// Returns the memory that was provided for a body.
    ///
    /// # Errors
    /// If it was provided for another length: then the sender is lost.
    pub(super) fn memory(
        &mut self,
        from: Rank,
        head: &Head,
        length: usize,
    ) -> Result<Option<Body>, ()> {
        let provided = head
            .offer()
            .and_then(|offer| self.provided.take(head.number, from, offer));
        match provided {
            None => Ok(None),
            Some((memory, bytes)) if bytes == length && length <= memory.len() => Ok(Some(memory)),
            Some(_) => {
                self.lose(
                    from,
                    State::Broken("receiving another length than was offered"),
                );
                Err(())
            }
        }
    }

    /// Passes a packet on.
    pub(super) fn take_packet(&mut self, from: Rank, head: Head, body: Body) {
        if self.peers[from.index()].state != State::Present {
            return;
        }
        match head.packet(body) {
            Some(packet) => self.arrived.push((head.number, News::Packet(from, packet))),
            None => self.lose(from, State::Broken("receiving an unknown packet")),
        }
    }
}
