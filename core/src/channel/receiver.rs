//! The end that takes records.

use super::{
    Corrupt, EMPTY, LENGTH, MORE, Mark, Memory, Position, RECORD, UNIT, check, header_of, units_of,
};
use crate::port::Fence;
use crate::sync::{AtomicUsize, Ordering};

/// The receiver of a ring.
#[derive(Debug)]
pub struct Receiver<M> {
    memory: M,
    /// The next record.
    next: Position,
    /// Its header, read once; [`EMPTY`] until one was found.
    header: usize,
    /// The position up to which the sender may overwrite.
    released: Position,
    /// Its mark.
    mark: usize,
    /// The mark of the sender when it was last woken.
    woken: usize,
}

impl<M: Memory> Receiver<M> {
    /// Creates the only receiver of a ring of which nothing was ever taken.
    ///
    /// # Panics
    /// If the memory has not a power of two of units, at least 4.
    pub fn new(memory: M) -> Self {
        check(&memory);
        Self {
            memory,
            next: Position::default(),
            header: EMPTY,
            released: Position::default(),
            mark: 0,
            woken: 0,
        }
    }

    /// Returns the length of the next record, if one was published.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// # struct Full;
    /// # // SAFETY: both fences are full ones.
    /// # unsafe impl tautline_core::port::Fence for Full {}
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// assert_eq!(receiver.peek(), Ok(None));
    /// sender.send(b"hello").unwrap();
    /// _ = sender.flush(&Full);
    /// assert_eq!(receiver.peek(), Ok(Some(5)));
    /// ```
    ///
    /// # Errors
    /// If its header is not one that a sender writes.
    #[inline(always)]
    pub fn peek(&mut self) -> Result<Option<usize>, Corrupt> {
        if self.header == EMPTY {
            let all = self.memory.units();
            // ORDERING: Acquire, pairs with Release in publish (CH1): the record, and the headers
            // after it.
            let header = self.next.unit(all).load(Ordering::Acquire);
            if header == EMPTY {
                return Ok(None);
            }
            if header & RECORD == 0 || units_of(header >> LENGTH) >= all.len() {
                return Err(Corrupt::Header(header));
            }
            self.header = header;
        }
        Ok(Some(self.header >> LENGTH))
    }

    /// Takes the record that [`peek`](Self::peek) has found, which has as many bytes as `into`.
    /// What a peer has since written over its header has no effect.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// # struct Full;
    /// # // SAFETY: both fences are full ones.
    /// # unsafe impl tautline_core::port::Fence for Full {}
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// sender.send(b"hello").unwrap();
    /// _ = sender.flush(&Full);
    /// let mut record = vec![0; receiver.peek().unwrap().expect("a record")];
    /// receiver.take(&mut record);
    /// assert_eq!(record, b"hello");
    /// ```
    ///
    /// # Panics
    /// If `into` has not the length that `peek` returned.
    #[inline(always)]
    pub fn take(&mut self, into: &mut [u8]) {
        assert_eq!(
            self.header & !MORE,
            header_of(into.len()),
            "the length of the record that `peek` found"
        );
        self.header = EMPTY;
        let (all, at) = (self.memory.units(), self.next.plus(1));
        let bytes = into.len();
        let (whole, rest) = into.as_chunks_mut::<UNIT>();
        let (before, after) = at.pieces(all, whole.len());
        let (first, second) = whole.split_at_mut(before.len());
        // ORDERING: Relaxed: peek has acquired the record (CH1).
        let read = |unit: &AtomicUsize| unit.load(Ordering::Relaxed).to_ne_bytes();
        for (units, words) in [(before, first), (after, second)] {
            for (unit, word) in units.iter().zip(words) {
                *word = read(unit);
            }
        }
        if !rest.is_empty() {
            let last = read(at.plus(bytes / UNIT).unit(all));
            rest.copy_from_slice(&last[..rest.len()]);
        }
        self.next = self.next.plus(units_of(bytes));
    }

    /// Gives the memory of all taken records back to the sender. Returns whether it sleeps, and
    /// must be woken.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// # struct Full;
    /// # // SAFETY: both fences are full ones.
    /// # unsafe impl tautline_core::port::Fence for Full {}
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// sender.send(b"hello").unwrap();
    /// _ = sender.flush(&Full);
    /// let mut record = vec![0; receiver.peek().unwrap().expect("a record")];
    /// receiver.take(&mut record);
    /// assert!(!receiver.release(&Full)); // the sender does not sleep
    /// ```
    #[inline(always)]
    #[must_use = "a sleeping sender must be woken"]
    pub fn release(&mut self, fence: &impl Fence) -> bool {
        if self.next == self.released {
            return false;
        }
        self.released = self.next;
        // ORDERING: Release, pairs with Acquire in look (CH2): the records were read.
        self.memory.taken().store(self.next.0, Ordering::Release);
        Mark::Sender.is_to_wake(&mut self.woken, &self.memory, fence)
    }

    /// Announces that the receiver will sleep until a record is published. Returns false if one is,
    /// or if the machine has no fence at present: it must not sleep. All taken records must have
    /// been [released](Self::release).
    pub fn sleep(&mut self, fence: &impl Fence) -> bool {
        debug_assert_eq!(
            self.next, self.released,
            "the sender may sleep for want of room"
        );
        if !Mark::Receiver.set(&mut self.mark, &self.memory, fence) {
            return false;
        }
        let is_empty = self.peek() == Ok(None);
        if !is_empty {
            Mark::Receiver.clear(&mut self.mark, &self.memory);
        }
        is_empty
    }
}

/// For parcels.
#[cfg(feature = "alloc")]
impl<M: Memory> Receiver<M> {
    /// Whether the next record continues the one that [`peek`](Self::peek) has found.
    #[inline(always)]
    pub(super) fn has_more(&self) -> bool {
        self.header & MORE != 0
    }

    /// Returns the bytes of the memory of records that are taken and not released.
    pub(super) fn unreleased(&self) -> usize {
        self.next.since(self.released) * UNIT
    }

    /// Returns the bytes of the ring.
    pub(super) fn capacity(&self) -> usize {
        self.memory.units().len() * UNIT
    }
}
