//! Parcels of any length through the rings between two ranks: records, or pieces of one.
//!
//! What the other rank writes is checked before it is used. If no rank writes it, the rings are of no use any more, and the
//! methods return what this rank was doing, for [`Lost::doing`](crate::port::Lost::doing).

use super::{Memory, Receiver, Refused, Sender, UNIT};
use crate::port::Fence;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The bytes of a parcel, at most: a bound for what a garbled length can gather.
pub const LONGEST: usize = 1 << 30;
/// What a long parcel reserves before its bytes are there.
const RESERVED: usize = 1 << 20;
/// Records taken from one ring before the next one is looked at.
const TURN: usize = 256;
/// Bytes of a record that is published, and released, on its own, so that both sides copy at the same time.
const LONG: usize = 1 << 12;

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
    /// What did not fit, in order.
    waiting: VecDeque<Waiting>,
    /// Bytes of them that are not sent, those of their lengths included.
    unsent: usize,
}

/// A parcel, or what is left of one.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    /// How much of the length and the bytes is sent.
    at: usize,
}

impl Waiting {
    fn unsent(&self) -> usize {
        UNIT + self.bytes.len() - self.at
    }
}

impl<M: Memory> Outward<M> {
    pub(super) fn new(ring: M) -> Self {
        Self {
            ring: Sender::new(ring),
            waiting: VecDeque::new(),
            unsent: 0,
        }
    }

    /// Puts a parcel into the ring as far as it fits; the rest waits.
    ///
    /// # Panics
    /// If it is longer than [`LONGEST`].
    pub(super) fn send(&mut self, parcel: &[u8]) {
        let bytes = parcel.len();
        assert!(
            bytes <= LONGEST,
            "a parcel of {bytes} bytes: at most {LONGEST}"
        );
        let fits = bytes + UNIT <= longest(&self.ring);
        if fits && self.waiting.is_empty() && self.ring.send_behind(bytes, parcel).is_ok() {
            return;
        }
        self.send_in_pieces(parcel);
    }

    #[cold]
    fn send_in_pieces(&mut self, parcel: &[u8]) {
        let (bytes, mut at) = (parcel.len(), 0);
        if self.waiting.is_empty() {
            // A garbled ring is reported by the next push.
            while at < UNIT + bytes {
                match put(&mut self.ring, parcel, at) {
                    Ok(sent) => at += sent,
                    Err(_) => break,
                }
            }
        }
        if at == UNIT + bytes {
            return;
        }
        let sent = at.saturating_sub(UNIT);
        let waiting = Waiting {
            bytes: parcel[sent..].to_vec(),
            at: at - sent,
        };
        self.unsent += waiting.unsent();
        self.waiting.push_back(waiting);
    }

    /// Moves what waits into the ring as far as it fits, and publishes it; calls `wake` if the receiver sleeps. Returns whether
    /// anything moved.
    ///
    /// # Errors
    /// If the other rank garbles the ring.
    pub(super) fn push(
        &mut self,
        fence: &impl Fence,
        wake: impl Fn(),
    ) -> Result<bool, &'static str> {
        let before = self.unsent;
        while let Some(parcel) = self.waiting.front_mut() {
            let sent = match put(&mut self.ring, &parcel.bytes, parcel.at) {
                Ok(sent) => sent,
                Err(Refused::Garbled(_)) => return Err(RELEASE),
                Err(Refused::Full | Refused::TooLong) => break,
            };
            parcel.at += sent;
            self.unsent -= sent;
            if parcel.unsent() == 0 {
                self.waiting.pop_front();
            }
            if sent >= LONG && self.ring.flush(fence) {
                wake();
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
        let piece = parcel.unsent().min(longest(&self.ring));
        self.ring.sleep(piece, fence)
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Drops what waits: the other rank is lost.
    pub(super) fn drop_all(&mut self) {
        self.waiting.clear();
        self.unsent = 0;
    }
}

/// Returns the bytes of the longest piece: several may be in the ring, so that one is read while the next one is written.
fn longest<M: Memory>(ring: &Sender<M>) -> usize {
    (ring.longest() / 4).next_multiple_of(UNIT)
}

/// Puts the next piece of a parcel into the ring, the one from `at` on, which counts the length in front. Returns how long it is.
#[inline]
fn put<M: Memory>(ring: &mut Sender<M>, parcel: &[u8], at: usize) -> Result<usize, Refused> {
    let longest = longest(ring);
    match at.checked_sub(UNIT) {
        None => {
            let piece = &parcel[..parcel.len().min(longest - UNIT)];
            ring.send_behind(parcel.len(), piece)?;
            Ok(UNIT + piece.len())
        }
        Some(sent) => {
            let rest = &parcel[sent..];
            let piece = &rest[..rest.len().min(longest)];
            ring.send(piece)?;
            Ok(piece.len())
        }
    }
}

/// The way from another rank.
#[derive(Debug)]
pub(super) struct Inward<M> {
    ring: Receiver<M>,
    /// The last parcel, or the pieces of one that is not complete, behind its length; then what earlier ones have left.
    parcel: Vec<u8>,
    /// Bytes of it that have arrived.
    arrived: usize,
    /// Bytes of the parcel that have not arrived.
    missing: usize,
}

impl<M: Memory> Inward<M> {
    pub(super) fn new(ring: M) -> Self {
        Self {
            ring: Receiver::new(ring),
            parcel: Vec::new(),
            arrived: 0,
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
        wake: impl Fn(),
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
            if bytes >= LONG && self.ring.release(fence) {
                wake();
            }
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
        let start = if self.missing == 0 { 0 } else { self.arrived };
        self.arrived = start + bytes;
        if self.parcel.len() < self.arrived {
            self.parcel.resize(self.arrived, 0);
        }
        self.ring.take(&mut self.parcel[start..self.arrived]);
        if self.missing == 0 {
            let length = self.parcel[..bytes].first_chunk::<UNIT>().ok_or(PIECES)?;
            let length = usize::from_ne_bytes(*length);
            if length > LONGEST {
                return Err(PIECES);
            }
            self.missing = UNIT + length;
            let rest = self.missing.saturating_sub(bytes);
            self.parcel.reserve(rest.min(RESERVED));
        }
        self.missing = self.missing.checked_sub(bytes).ok_or(PIECES)?;
        if self.missing == 0 {
            take(&self.parcel[UNIT..self.arrived]);
            self.parcel.truncate(RESERVED);
            self.parcel.shrink_to(RESERVED);
        }
        Ok(())
    }

    /// Announces that this rank will sleep. Returns false if a record is there, or the ring is garbled.
    pub(super) fn sleep(&mut self, fence: &impl Fence) -> bool {
        self.ring.sleep(fence)
    }
}
