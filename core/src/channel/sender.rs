//! The end that writes records.

use super::{Corrupt, EMPTY, LINE, Mark, Memory, Position, UNIT, check, header_of, units_of};
use crate::port::Fence;
use crate::sync::{AtomicUsize, Ordering};
use core::mem;

/// The sender of a ring.
#[derive(Debug)]
pub struct Sender<M> {
    memory: M,
    /// The first record that is not published.
    batch: Position,
    /// Its header; [`EMPTY`] if there is no such record.
    first: usize,
    /// The position of the next record.
    next: Position,
    /// The number of units from there on that are known to be empty.
    clear: usize,
    /// The position that the receiver had released when last read.
    taken: Position,
    /// Its mark.
    mark: usize,
    /// The mark of the receiver when it was last woken.
    woken: usize,
    /// Whether records are published since that mark was last loaded.
    is_unannounced: bool,
}

/// The reason why a record was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No room for it at the moment.
    Full,
    /// Longer than [`Sender::longest`].
    TooLong,
    /// The receiver is faulty.
    Corrupt(Corrupt),
}

impl<M: Memory> Sender<M> {
    /// Creates the only sender of a ring in which nothing was ever sent.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Sender};
    /// let sender = Sender::new(Local::new(16));
    /// assert!(sender.longest() > 64);
    /// ```
    ///
    /// # Panics
    /// If the memory has not a power of two of units, at least 4.
    pub fn new(memory: M) -> Self {
        check(&memory);
        Self {
            clear: memory.units().len(),
            memory,
            batch: Position::default(),
            first: EMPTY,
            next: Position::default(),
            taken: Position::default(),
            mark: 0,
            woken: 0,
            is_unannounced: false,
        }
    }

    /// Returns the length of the longest record, in bytes.
    pub fn longest(&self) -> usize {
        (self.memory.units().len() - 2) * UNIT
    }

    /// Adds a record to the batch. The receiver observes it after the next [`flush`](Self::flush)
    /// or [`publish`](Self::publish).
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// # struct Full;
    /// # // SAFETY: both fences are full ones.
    /// # unsafe impl tautline_core::port::Fence for Full {}
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// sender.send(b"taut")?;
    /// sender.send(b"line")?;
    /// _ = sender.flush(&Full); // both at once
    /// assert_eq!(receiver.peek(), Ok(Some(4)));
    /// # Ok::<(), tautline_core::channel::Refused>(())
    /// ```
    ///
    /// # Errors
    /// If it is too long, if there is no room for it now, or if the receiver is faulty.
    #[inline(always)]
    pub fn send(&mut self, record: &[u8]) -> Result<(), Refused> {
        self.put(record, 0)
    }

    #[inline(always)]
    fn put(&mut self, record: &[u8], more: usize) -> Result<(), Refused> {
        if record.len() > self.longest() {
            return Err(Refused::TooLong);
        }
        let units = units_of(record.len());
        if !self.has_room(units) {
            self.look().map_err(Refused::Corrupt)?;
            if !self.has_room(units) {
                return Err(Refused::Full);
            }
        }
        let header = header_of(record.len()) | more;
        let all = self.memory.units();
        write(all, self.next.plus(1), record);
        match self.first {
            EMPTY => self.first = header,
            // ORDERING: Relaxed: published by the header in publish (CH1).
            _ => self.next.unit(all).store(header, Ordering::Relaxed),
        }
        self.next = self.next.plus(units);
        self.clear = self.clear.saturating_sub(units);
        Ok(())
    }

    /// Publishes the batch. Returns whether the receiver sleeps, and must be woken.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// # struct Full;
    /// # // SAFETY: both fences are full ones.
    /// # unsafe impl tautline_core::port::Fence for Full {}
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// sender.send(b"hello").unwrap();
    /// assert_eq!(receiver.peek(), Ok(None));
    /// assert!(!sender.flush(&Full)); // the receiver does not sleep
    /// assert_eq!(receiver.peek(), Ok(Some(5)));
    /// ```
    #[inline(always)]
    #[must_use = "a sleeping receiver must be woken"]
    pub fn flush(&mut self, fence: &impl Fence) -> bool {
        self.publish();
        mem::take(&mut self.is_unannounced)
            && Mark::Receiver.is_to_wake(&mut self.woken, &self.memory, fence)
    }

    /// Publishes the batch for a receiver that does not sleep. A [`flush`](Self::flush) must
    /// follow: it checks whether the receiver does.
    ///
    /// ```
    /// # use tautline_core::channel::{Local, Receiver, Sender};
    /// let memory = Local::new(16);
    /// let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
    /// sender.send(b"hello").unwrap();
    /// sender.publish();
    /// assert_eq!(receiver.peek(), Ok(Some(5)));
    /// ```
    #[inline(always)]
    pub fn publish(&mut self) {
        if self.first == EMPTY {
            return;
        }
        if self.clear == 0 {
            self.empty(1);
        }
        let header = self.batch.unit(self.memory.units());
        // ORDERING: Release, pairs with Acquire in peek (CH1): the records, and the empty header
        // after them.
        header.store(self.first, Ordering::Release);
        self.batch = self.next;
        self.first = EMPTY;
        self.is_unannounced = true;
        self.clear_ahead();
    }

    /// Empties the units up to the end of the line after the one of the next record, as far as
    /// they are released: a batch that ends among them is published by stores to its own line
    /// alone, which the receiver polls and would else pull away while the sender waits for the next
    /// line.
    fn clear_ahead(&mut self) {
        let released = self.memory.units().len() - self.next.since(self.taken);
        self.empty(released.min(2 * LINE - self.next.0 % LINE));
    }

    /// Empties `units` from the next record on, of which none is published.
    #[inline]
    fn empty(&mut self, units: usize) {
        for ahead in self.clear..units {
            let unit = self.next.plus(ahead).unit(self.memory.units());
            // ORDERING: Relaxed: published by the header in publish (CH1).
            unit.store(EMPTY, Ordering::Relaxed);
        }
        self.clear = self.clear.max(units);
    }

    /// Announces that the sender will sleep until there is room for a record of `bytes`. Returns
    /// false if there is, if the receiver is faulty, or if the machine has no fence at present: it
    /// must not sleep. All records must have been [flushed](Self::flush), also those that were
    /// [published](Self::publish).
    pub fn sleep(&mut self, bytes: usize, fence: &impl Fence) -> bool {
        debug_assert_eq!(
            self.first, EMPTY,
            "the receiver cannot take what it does not see"
        );
        debug_assert!(!self.is_unannounced, "the receiver may sleep");
        if !Mark::Sender.set(&mut self.mark, &self.memory, fence) {
            return false;
        }
        let is_full = self.look().is_ok() && !self.has_room(units_of(bytes));
        if !is_full {
            Mark::Sender.clear(&mut self.mark, &self.memory);
        }
        is_full
    }

    /// Whether there is room for `units` and an empty header.
    fn has_room(&self, units: usize) -> bool {
        self.next.since(self.taken) + units < self.memory.units().len()
    }

    /// Reads the position that the receiver has released: at least what it had before, at most what
    /// was published.
    fn look(&mut self) -> Result<(), Corrupt> {
        // ORDERING: Acquire, pairs with Release in release (CH2): the units were read.
        let taken = Position(self.memory.taken().load(Ordering::Acquire));
        if taken.since(self.taken) > self.batch.since(self.taken) {
            return Err(Corrupt::Taken(taken.0));
        }
        self.taken = taken;
        Ok(())
    }
}

/// For parcels.
#[cfg(feature = "alloc")]
impl<M: Memory> Sender<M> {
    /// Adds a record that the next one continues.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(super) fn send_piece(&mut self, record: &[u8]) -> Result<(), Refused> {
        self.put(record, super::MORE)
    }

    /// Whether records are published for which [`flush`](Self::flush) has not checked whether the
    /// receiver sleeps.
    pub(super) fn is_unannounced(&self) -> bool {
        self.is_unannounced
    }
}

/// Writes `bytes` from `at` on.
#[inline(always)]
fn write(units: &[AtomicUsize], at: Position, bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<UNIT>();
    let (before, after) = at.pieces(units, whole.len());
    let (first, second) = whole.split_at(before.len());
    for (units, words) in [(before, first), (after, second)] {
        for (unit, word) in units.iter().zip(words) {
            // ORDERING: Relaxed: published by the header in publish (CH1).
            unit.store(usize::from_ne_bytes(*word), Ordering::Relaxed);
        }
    }
    if !rest.is_empty() {
        let mut last = [0; UNIT];
        last[..rest.len()].copy_from_slice(rest);
        let unit = at.plus(whole.len()).unit(units);
        // ORDERING: Relaxed: as above (CH1).
        unit.store(usize::from_ne_bytes(last), Ordering::Relaxed);
    }
}
