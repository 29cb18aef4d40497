//! The ends of the rings between two ranks.

use super::signal::Signal;
use crate::fence::FullFences;
use std::collections::VecDeque;
use std::sync::Arc;
use tautline_core::channel::{Local, Receiver, Sender};
use tautline_core::port::Bell;

/// Bytes of the length in front of the first piece of a parcel.
const LENGTH: usize = size_of::<u64>();
/// What a long parcel reserves before its bytes are there.
const RESERVED: usize = 1 << 20;
/// Records taken from one ring before the next one is looked at.
const TURN: usize = 256;

/// The way to another rank.
pub(super) struct Outward {
    ring: Sender<Arc<Local>>,
    /// What did not fit, in order, each with the length in front.
    waiting: VecDeque<Vec<u8>>,
    /// How far the first of them is sent.
    at: usize,
    /// Bytes of them that are not sent.
    unsent: usize,
    /// A first piece in the making.
    piece: Vec<u8>,
}

impl Outward {
    pub(super) fn new(ring: Arc<Local>) -> Self {
        Self {
            ring: Sender::new(ring),
            waiting: VecDeque::new(),
            at: 0,
            unsent: 0,
            piece: Vec::new(),
        }
    }

    /// Puts a parcel into the ring, if all of it fits; else it waits.
    pub(super) fn send(&mut self, parcel: &[u8]) {
        self.piece.clear();
        self.piece
            .extend_from_slice(&(parcel.len() as u64).to_ne_bytes());
        self.piece.extend_from_slice(parcel);
        let fits = self.piece.len() <= self.longest();
        if fits && self.waiting.is_empty() && self.ring.send(&self.piece).is_ok() {
            return;
        }
        self.unsent += self.piece.len();
        self.waiting.push_back(core::mem::take(&mut self.piece));
    }

    /// Half of the ring, so that one piece may be read while the next one is written.
    fn longest(&self) -> usize {
        self.ring.longest() / 2
    }

    /// Moves what waits into the ring as far as it fits, and publishes it. Returns whether anything
    /// moved.
    pub(super) fn push(&mut self, bell: &Signal) -> bool {
        let before = self.unsent;
        let longest = self.longest();
        while let Some(parcel) = self.waiting.front() {
            let rest = &parcel[self.at..];
            let piece = &rest[..rest.len().min(longest)];
            if self.ring.send(piece).is_err() {
                break;
            }
            self.at += piece.len();
            self.unsent -= piece.len();
            if self.at == parcel.len() {
                self.waiting.pop_front();
                self.at = 0;
            }
        }
        if self.ring.flush(&FullFences) {
            bell.ring();
        }
        self.unsent != before
    }

    /// Announces that this rank will sleep. Returns false if there is room for what waits.
    pub(super) fn sleep(&mut self) -> bool {
        let Some(parcel) = self.waiting.front() else {
            return true;
        };
        let piece = (parcel.len() - self.at).min(self.longest());
        self.ring.sleep(piece, &FullFences)
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Drops what waits: the other rank is gone.
    pub(super) fn drop_all(&mut self) {
        self.waiting.clear();
        (self.at, self.unsent) = (0, 0);
    }
}

/// The way from another rank.
pub(super) struct Inward {
    ring: Receiver<Arc<Local>>,
    /// The last record, or the pieces of a parcel that is not complete, behind its length.
    parcel: Vec<u8>,
    /// Bytes of the parcel that have not arrived.
    missing: usize,
}

impl Inward {
    pub(super) fn new(ring: Arc<Local>) -> Self {
        Self {
            ring: Receiver::new(ring),
            parcel: Vec::new(),
            missing: 0,
        }
    }

    /// Passes complete parcels to `take`. Returns whether a record was taken, and whether none is
    /// left.
    pub(super) fn drain(&mut self, bell: &Signal, take: &mut dyn FnMut(&[u8])) -> (bool, bool) {
        let mut taken = 0;
        while taken < TURN
            && let Some(bytes) = self.peek()
        {
            self.record(bytes, take);
            taken += 1;
        }
        let is_empty = self.peek().is_none();
        if self.ring.release(&FullFences) {
            bell.ring();
        }
        (taken > 0, is_empty)
    }

    fn peek(&mut self) -> Option<usize> {
        self.ring
            .peek()
            .expect("the ring's memory belongs to its two ends")
    }

    /// Takes the next record.
    fn record(&mut self, bytes: usize, take: &mut dyn FnMut(&[u8])) {
        let start = if self.missing == 0 {
            0
        } else {
            self.parcel.len()
        };
        self.parcel.resize(start + bytes, 0);
        self.ring.take(&mut self.parcel[start..]);
        if self.missing == 0 {
            let length = self
                .parcel
                .first_chunk::<LENGTH>()
                .expect("a first piece has a length");
            self.missing = LENGTH + u64::from_ne_bytes(*length) as usize;
            if self.missing > bytes {
                self.parcel.reserve((self.missing - bytes).min(RESERVED));
            }
        }
        self.missing -= bytes;
        if self.missing == 0 {
            take(&self.parcel[LENGTH..]);
            self.parcel.shrink_to(RESERVED);
        }
    }

    /// Announces that this rank will sleep. Returns false if a record is there.
    pub(super) fn sleep(&mut self) -> bool {
        self.ring.sleep(&FullFences)
    }
}
