//! Parcels of any length through the rings between two ranks: records, or pieces of one.
//!
//! What the other rank writes is checked before it is used. If no rank writes it, the rings are of no use any more, and the
//! methods return what this rank was doing, for [`Lost::doing`](crate::port::Lost::doing).

use super::{Memory, Receiver, Refused, Sender};
use crate::port::Fence;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Bytes of the length in front of the first piece of a parcel.
const LENGTH: usize = size_of::<u64>();
/// The bytes of a parcel, at most: a bound for what a garbled length can gather.
pub const LONGEST: usize = 1 << 30;
/// What a long parcel reserves before its bytes are there.
const RESERVED: usize = 1 << 20;
/// Records taken from one ring before the next one is looked at.
const TURN: usize = 256;

/// Of the sender: a garbled [`Garbled::Taken`](super::Garbled::Taken).
const RELEASE: &str = "reading how much it had received, which is garbled";
/// Of the receiver: a garbled [`Garbled::Header`](super::Garbled::Header).
const HEADER: &str = "reading the header of a record, which is garbled";
/// Of the receiver: pieces that do not make a parcel.
const PIECES: &str = "reading the length of a parcel, which is garbled";

/// The way to another rank.
#[derive(Debug)]
pub(super) struct Outward<M> {
    ring: Sender<M>,
    /// What did not fit, in order, each with the length in front.
    waiting: VecDeque<Vec<u8>>,
    /// How far the first of them is sent.
    at: usize,
    /// Bytes of them that are not sent.
    unsent: usize,
    /// A first piece in the making.
    piece: Vec<u8>,
}

impl<M: Memory> Outward<M> {
    pub(super) fn new(ring: M) -> Self {
        Self {
            ring: Sender::new(ring),
            waiting: VecDeque::new(),
            at: 0,
            unsent: 0,
            piece: Vec::new(),
        }
    }

    /// Puts a parcel into the ring, if all of it fits; else it waits.
    ///
    /// # Panics
    /// If it is longer than [`LONGEST`].
    pub(super) fn send(&mut self, parcel: &[u8]) {
        let bytes = parcel.len();
        assert!(
            bytes <= LONGEST,
            "a parcel of {bytes} bytes: at most {LONGEST}"
        );
        self.piece.clear();
        self.piece
            .extend_from_slice(&(parcel.len() as u64).to_ne_bytes());
        self.piece.extend_from_slice(parcel);
        let fits = self.piece.len() <= self.longest();
        // A garbled ring is reported by the next push.
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

    /// Moves what waits into the ring as far as it fits, and publishes it; calls `wake` if the receiver sleeps. Returns whether
    /// anything moved.
    ///
    /// # Errors
    /// If the other rank garbles the ring.
    pub(super) fn push(
        &mut self,
        fence: &impl Fence,
        wake: impl FnOnce(),
    ) -> Result<bool, &'static str> {
        let before = self.unsent;
        let longest = self.longest();
        while let Some(parcel) = self.waiting.front() {
            let rest = &parcel[self.at..];
            let piece = &rest[..rest.len().min(longest)];
            match self.ring.send(piece) {
                Ok(()) => {}
                Err(Refused::Garbled(_)) => return Err(RELEASE),
                Err(Refused::Full | Refused::TooLong) => break,
            }
            self.at += piece.len();
            self.unsent -= piece.len();
            if self.at == parcel.len() {
                self.waiting.pop_front();
                self.at = 0;
            }
        }
        if self.ring.flush(fence) {
            wake();
        }
        Ok(self.unsent != before)
    }

    /// Announces that this rank will sleep. Returns false if there is room for what waits, or the ring is garbled.
    pub(super) fn sleep(&mut self, fence: &impl Fence) -> bool {
        let Some(parcel) = self.waiting.front() else {
            return true;
        };
        let piece = (parcel.len() - self.at).min(self.longest());
        self.ring.sleep(piece, fence)
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Drops what waits: the other rank is lost.
    pub(super) fn drop_all(&mut self) {
        self.waiting.clear();
        (self.at, self.unsent) = (0, 0);
    }
}

/// The way from another rank.
#[derive(Debug)]
pub(super) struct Inward<M> {
    ring: Receiver<M>,
    /// The last record, or the pieces of a parcel that is not complete, behind its length.
    parcel: Vec<u8>,
    /// Bytes of the parcel that have not arrived.
    missing: usize,
}

impl<M: Memory> Inward<M> {
    pub(super) fn new(ring: M) -> Self {
        Self {
            ring: Receiver::new(ring),
            parcel: Vec::new(),
            missing: 0,
        }
    }

    /// Passes complete parcels to `take`, and calls `wake` if the sender sleeps. Returns whether a record was taken, and whether
    /// none is left.
    ///
    /// # Errors
    /// If the other rank garbles the ring.
    pub(super) fn drain(
        &mut self,
        fence: &impl Fence,
        wake: impl FnOnce(),
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(bool, bool), &'static str> {
        let mut taken = 0;
        let is_empty = loop {
            let Some(bytes) = self.peek()? else {
                break true;
            };
            if taken == TURN {
                break false;
            }
            self.record(bytes, take)?;
            taken += 1;
        };
        if self.ring.release(fence) {
            wake();
        }
        Ok((taken > 0, is_empty))
    }

    fn peek(&mut self) -> Result<Option<usize>, &'static str> {
        self.ring.peek().map_err(|_| HEADER)
    }

    /// Takes the next record.
    fn record(&mut self, bytes: usize, take: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
        let start = if self.missing == 0 {
            0
        } else {
            self.parcel.len()
        };
        self.parcel.resize(start + bytes, 0);
        self.ring.take(&mut self.parcel[start..]);
        if self.missing == 0 {
            let length = self.parcel.first_chunk::<LENGTH>().ok_or(PIECES)?;
            let length = u64::from_ne_bytes(*length);
            if length > LONGEST as u64 {
                return Err(PIECES);
            }
            self.missing = LENGTH + length as usize;
            let rest = self.missing.saturating_sub(bytes);
            self.parcel.reserve(rest.min(RESERVED));
        }
        self.missing = self.missing.checked_sub(bytes).ok_or(PIECES)?;
        if self.missing == 0 {
            take(&self.parcel[LENGTH..]);
            self.parcel.shrink_to(RESERVED);
        }
        Ok(())
    }

    /// Announces that this rank will sleep. Returns false if a record is there, or the ring is garbled.
    pub(super) fn sleep(&mut self, fence: &impl Fence) -> bool {
        self.ring.sleep(fence)
    }
}
