//! Parcels of any length through the rings between two ranks: records, or pieces of one.
//!
//! What the other rank writes is checked before it is used. If no rank writes it, the rings are of
//! no use any more, and the methods return what this rank was doing, for
//! [`Lost::doing`](crate::port::Lost::doing).

use super::{Memory, Receiver, Refused, Sender, UNIT};
use crate::port::Fence;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The bytes of a parcel, at most: a bound for what a faulty rank can make another one gather.
pub const LONGEST: usize = 1 << 30;
/// The bytes kept for the next parcel.
const KEPT: usize = 1 << 20;
/// Records taken from one ring before the next one is polled.
const TURN: usize = 256;
/// Bytes of a record that is published, and released, on its own, so that both sides copy at the
/// same time.
const LONG: usize = 1 << 12;

/// Of the sender: a [`Corrupt::Taken`](super::Corrupt::Taken).
const RELEASE: &str = "reading how much it had received, which is corrupt";
/// Of the receiver: a [`Corrupt::Header`](super::Corrupt::Header).
const HEADER: &str = "reading the header of a record, which is corrupt";
/// Of the receiver: pieces of a parcel beyond [`LONGEST`].
const PIECES: &str = "reading the pieces of a parcel, which do not end";

/// The way to another rank.
#[derive(Debug)]
pub(super) struct Outward<M> {
    ring: Sender<M>,
    /// The records that did not fit, in order.
    waiting: VecDeque<Waiting>,
    /// Bytes of them that are not sent, and a word for each.
    unsent: usize,
}

/// A parcel, or what was left of one.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    sent: usize,
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
        let fits = bytes <= longest(&self.ring) && self.waiting.is_empty();
        if !fits || self.ring.send(parcel).is_err() {
            return self.send_in_pieces(parcel);
        }
        // The receiver may poll this line now, and would pull it away before its header is
        // written. What follows until the next push is a batch.
        if !self.ring.is_unannounced() {
            self.ring.publish();
        }
    }

    #[cold]
    fn send_in_pieces(&mut self, parcel: &[u8]) {
        let mut rest = parcel;
        while self.waiting.is_empty() {
            // A corrupt ring is reported by the next push.
            match put(&mut self.ring, rest) {
                Ok(sent) if sent == rest.len() => return,
                Ok(sent) => {
                    rest = &rest[sent..];
                    self.ring.publish();
                }
                Err(_) => break,
            }
        }
        self.unsent += UNIT + rest.len();
        self.waiting.push_back(Waiting {
            bytes: rest.to_vec(),
            sent: 0,
        });
    }

    /// Moves waiting records into the ring as far as they fit, and publishes them; calls `wake` if
    /// the receiver sleeps. Returns whether anything moved.
    ///
    /// # Errors
    /// If the other rank corrupts the ring.
    pub(super) fn push(
        &mut self,
        fence: &impl Fence,
        wake: impl Fn(),
    ) -> Result<bool, &'static str> {
        let before = self.unsent;
        while let Some(parcel) = self.waiting.front_mut() {
            let sent = match put(&mut self.ring, &parcel.bytes[parcel.sent..]) {
                Ok(sent) => sent,
                Err(Refused::Corrupt(_)) => return Err(RELEASE),
                Err(Refused::Full | Refused::TooLong) => break,
            };
            parcel.sent += sent;
            self.unsent -= sent;
            if parcel.sent == parcel.bytes.len() {
                self.waiting.pop_front();
                self.unsent -= UNIT;
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

    /// Announces that this rank will sleep. Returns false if there is room for what waits, or the
    /// ring is corrupt.
    pub(super) fn sleep(&mut self, fence: &impl Fence) -> bool {
        let Some(parcel) = self.waiting.front() else {
            return true;
        };
        let rest = parcel.bytes.len() - parcel.sent;
        let piece = rest.min(longest(&self.ring));
        self.ring.sleep(piece, fence)
    }

    pub(super) fn unsent(&self) -> usize {
        self.unsent
    }

    /// Drops waiting records: the other rank is lost.
    pub(super) fn drop_all(&mut self) {
        self.waiting.clear();
        self.unsent = 0;
    }
}

/// Returns the bytes of the longest piece: several may be in the ring, so that one is read while
/// the next one is written.
fn longest<M: Memory>(ring: &Sender<M>) -> usize {
    (ring.longest() / 4).next_multiple_of(UNIT)
}

/// Puts the next piece of a parcel into the ring, of which `rest` is left. Returns its length.
fn put<M: Memory>(ring: &mut Sender<M>, rest: &[u8]) -> Result<usize, Refused> {
    let piece = &rest[..rest.len().min(longest(ring))];
    if piece.len() == rest.len() {
        ring.send(piece)?;
    } else {
        ring.send_piece(piece)?;
    }
    Ok(piece.len())
}

/// The way from another rank.
#[derive(Debug)]
pub(super) struct Inward<M> {
    ring: Receiver<M>,
    /// The pieces of a parcel that is not complete, followed by bytes that earlier parcels have
    /// left.
    parcel: Vec<u8>,
    /// The number of bytes that have arrived.
    arrived: usize,
}

impl<M: Memory> Inward<M> {
    pub(super) fn new(ring: M) -> Self {
        Self {
            ring: Receiver::new(ring),
            parcel: Vec::new(),
            arrived: 0,
        }
    }

    /// Passes complete parcels to `take`, and calls `wake` if the sender sleeps. Returns whether a
    /// record was taken, and whether none is left.
    ///
    /// # Errors
    /// If the other rank corrupts the ring.
    pub(super) fn drain(
        &mut self,
        fence: &impl Fence,
        wake: impl Fn(),
        take: &mut impl FnMut(&[u8]),
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
            if self.ring.unreleased() >= LONG.min(self.ring.capacity() / 4)
                && self.ring.release(fence)
            {
                wake();
            }
        };
        // A release fences, so after few records it is left to a call that finds none: an answer to
        // them need not wait for it.
        if taken == 0 && self.ring.release(fence) {
            wake();
        }
        Ok((taken > 0, is_empty))
    }

    fn peek(&mut self) -> Result<Option<usize>, &'static str> {
        self.ring.peek().map_err(|_| HEADER)
    }

    /// Takes the next record.
    fn record(&mut self, bytes: usize, take: &mut impl FnMut(&[u8])) -> Result<(), &'static str> {
        let (start, is_last) = (self.arrived, !self.ring.has_more());
        let end = start + bytes;
        if end > LONGEST {
            return Err(PIECES);
        }
        if self.parcel.len() < end {
            self.parcel.resize(end, 0);
        }
        self.ring.take(&mut self.parcel[start..end]);
        self.arrived = end;
        if is_last {
            self.arrived = 0;
            take(&self.parcel[..end]);
            self.parcel.truncate(KEPT);
            self.parcel.shrink_to(KEPT);
        }
        Ok(())
    }

    /// Drops an incomplete parcel: the other rank is lost.
    pub(super) fn drop_all(&mut self) {
        (self.parcel, self.arrived) = (Vec::new(), 0);
    }

    /// Announces that this rank will sleep. Returns false if a record is there, or the ring is
    /// corrupt.
    pub(super) fn sleep(&mut self, fence: &impl Fence, wake: impl Fn()) -> bool {
        if self.ring.release(fence) {
            wake();
        }
        self.ring.sleep(fence)
    }
}

#[cfg(all(test, not(any(tautline_loom, tautline_shuttle))))]
mod tests {
    use super::super::Local;
    use super::*;
    use alloc::vec;

    /// A sender that never ends a parcel.
    #[test]
    fn a_parcel_ends_in_time() {
        let memory = Local::new(64);
        let mut sender = Sender::new(&memory);
        let mut inward = Inward::new(&memory);
        for bytes in [60, 40, 0] {
            sender.send_piece(&vec![7; bytes]).unwrap();
        }
        sender.publish();
        let mut take = |_: &[u8]| panic!("it has no end");
        while let Some(bytes) = inward.peek().unwrap() {
            assert_eq!(inward.record(bytes, &mut take), Ok(()));
        }
        assert_eq!(inward.arrived, 100);
        inward.arrived = LONGEST;
        sender.send(&[7]).unwrap();
        sender.publish();
        assert_eq!(inward.peek(), Ok(Some(1)));
        assert_eq!(inward.record(1, &mut take), Err(PIECES));
    }
}
