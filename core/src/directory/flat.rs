//! A copy of a flat object: plain data of a few machine words, next to its word.
//!
//! # Algorithm
//! A sequence lock whose word also has the state of the copy. A read hit is two loads of the word,
//! around the loads of the value, and stores nothing; the first [`COUNTED`](super::COUNTED)
//! accesses of a tenure are counted by a compare-and-swap each. A write hit takes the lock bit,
//! writes, and releases the word with the next version. So a version names a value. A change of the
//! state alone keeps the version: the value is not written then, so a reader that does not notice
//! the change returns a value that was current.
//!
//! # Words
//! `word`: state, lock bit, counted accesses, version. Written by a worker that hits, and by the
//! thread that delivers messages for the object; while the lock bit is set, only by the thread that
//! has set it. `value`: written by the thread that has set the lock bit. `wanted`: see its module.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | FC1 | `Locked` stores `word` | `read` loads it | the value of that version | `directory_hit_*` in `verify/tests/directory.rs` |
//! | FC2 | `set` fences before it writes the value | `read` fences after it has read it | that the lock bit was set: the second load of the word differs | `directory_hit_*` |
//! | FC3 | `Locked` stores `word` | `lock` sets the lock bit | the value, to the next writer and to `recall`; that it was read, to the next `install` | `directory_writers`, `directory_recall` |
//! | FC4 | `write` or `install` stores `word`, then fences (full) | another thread does so for another object, then reads this one | of two writes, each before a read of the other object, one to the read of the other thread | `directory_store_buffering*` |
//!
//! The compare-and-swaps that count accesses are read-modify-writes: they continue the release of
//! the word (FC1, FC3).
//!
//! # Proved
//! By loom: a hit returns a value that was written as one, never one that was invalidated before an
//! acknowledgement that the reader has observed; no write is lost, also to a recall.
//!
//! # Not proved
//! That the version does not wrap around within one read: it has 58 bits, or 26 on targets with
//! words of 32, and would have to return to the same number. That two readers of two copies agree
//! on the order of writes to them: on processors without multi-copy atomicity (POWER) they need
//! not, as a read has no full fence.
#![forbid(unsafe_code)]

use super::wanted::{By, Wanted};
use super::word::{State, Word};
use crate::port::Relax;
use crate::sync::{AtomicUsize, Ordering, fence, full_fence};
use core::fmt;

/// The copy of a flat object at one rank: `N` words of plain data, 1 to 8.
///
/// Any thread may call any operation: each is atomic. [`read`](Self::read) and
/// [`write`](Self::write) are for workers; the others change the state, and are for the thread that
/// delivers the messages of the protocol for this object, one at a time.
///
/// ```
/// use tautline_core::directory::{FlatCopy, State};
/// use tautline_core::port::Spin;
///
/// let copy = FlatCopy::<2>::new();
/// assert_eq!(copy.read(&Spin), None); // a miss: a message is to request the value
///
/// copy.install(&Spin, [3, 4], State::Modified); // the answer
/// assert_eq!(copy.read(&Spin), Some([3, 4]));
/// let sum = copy.write(&Spin, |value| {
///     value[0] += 1;
///     value[0] + value[1]
/// });
/// assert_eq!(sum.ok(), Some(8));
///
/// let recalled = copy.recall(&Spin, State::Shared).unwrap(); // another rank reads
/// assert_eq!((recalled.value, recalled.hits), ([4, 4], 2));
/// assert!(copy.write(&Spin, |_| ()).is_err()); // a miss: this rank no longer has the only value
/// assert_eq!(copy.read(&Spin), Some([4, 4]));
/// ```
pub struct FlatCopy<const N: usize> {
    word: AtomicUsize,
    wanted: Wanted,
    value: [AtomicUsize; N],
}

/// The value of a copy, and the accesses of the tenure that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recalled<V> {
    /// The value, with all writes.
    pub value: V,
    /// The counted accesses, at most [`COUNTED`](super::COUNTED).
    pub hits: u8,
}

/// The next step of a read that cannot read at once.
enum Step {
    Miss,
    Again,
    /// The access is counted, in this word.
    Read(Word),
}

/// The lock bit of a copy; dropped, also by a panic, it stores the word that releases it.
struct Locked<'a> {
    word: &'a AtomicUsize,
    next: Word,
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in read (FC1) and lock (FC3): the value is written.
        self.word.store(self.next.0, Ordering::Release);
    }
}

impl<const N: usize> Default for FlatCopy<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> FlatCopy<N> {
    /// Creates a copy without a value.
    #[must_use]
    pub fn new() -> Self {
        Self::with_value([0; N], State::Invalid)
    }

    /// Creates a copy with a value, as at the home of a new object.
    #[must_use]
    pub fn with_value(value: [usize; N], state: State) -> Self {
        const { assert!(N >= 1 && N <= 8, "a flat object has 1 to 8 words") };
        Self {
            word: AtomicUsize::new(Word::new(state).0),
            wanted: Wanted::new(),
            value: value.map(AtomicUsize::new),
        }
    }

    /// Returns the value, or `None` if the copy has none: a miss.
    ///
    /// A hit returns a value that was current at some moment of the call. Waits while another
    /// thread writes.
    #[inline]
    pub fn read(&self, relax: &impl Relax) -> Option<[usize; N]> {
        let mut turn = 0;
        loop {
            // ORDERING: Acquire, pairs with Release in Locked (FC1): the value of this version is
            // visible.
            let mut seen = Word(self.word.load(Ordering::Acquire));
            if !seen.is_settled() {
                seen = match self.step(seen, relax, turn) {
                    Step::Miss => return None,
                    Step::Again => {
                        turn = turn.saturating_add(1);
                        continue;
                    }
                    Step::Read(counted) => counted,
                };
            }
            let value = self.get();
            // ORDERING: Acquire, pairs with Release in set (FC2): after a word of a later value,
            // the load below observes the lock bit, or a later word.
            fence(Ordering::Acquire);
            // ORDERING: Relaxed: the fence precedes.
            if self.word.load(Ordering::Relaxed) == seen.0 {
                return Some(value);
            }
        }
    }

    /// Counts an access of a read, if the value is there and not being written.
    #[cold]
    fn step(&self, seen: Word, relax: &impl Relax, turn: u32) -> Step {
        if !seen.is_readable() {
            return Step::Miss;
        }
        if seen.is_locked() {
            relax.relax(turn);
            return Step::Again;
        }
        let counted = seen.counted();
        // ORDERING: Relaxed both ways: the word was read with Acquire; the exchange continues the
        // release of the word (FC1, FC3).
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let set = self
            .word
            .compare_exchange_weak(seen.0, counted.0, success, failure);
        match set {
            Ok(_) => Step::Read(counted),
            Err(_) => Step::Again,
        }
    }

    /// Calls `f` with the value and stores the value that it leaves. The calls of all threads come
    /// one after the other, and each observes the one before. Later reads of other copies by this
    /// thread come after the write in the order that all threads of this rank observe.
    ///
    /// `f` runs while readers of this copy and the thread that delivers messages wait: it must be
    /// short, and must not access this copy. If it panics, the value is unchanged.
    ///
    /// # Errors
    /// Returns `f` if the copy is not [`Modified`](State::Modified): a miss.
    #[inline]
    pub fn write<R, F>(&self, relax: &impl Relax, f: F) -> Result<R, F>
    where
        F: FnOnce(&mut [usize; N]) -> R,
    {
        let Some((mut locked, was)) = self.lock(relax, By::Worker, Word::is_writable) else {
            return Err(f);
        };
        let mut value = self.get();
        let result = f(&mut value);
        self.set(value);
        locked.next = was.counted().next_version();
        drop(locked);
        // ORDERING: SeqCst, pairs with itself and with install (FC4): the write precedes the later
        // reads of this thread.
        full_fence();
        Ok(result)
    }

    /// Makes `value` the value of this copy, in `state`: the answer to a request.
    pub fn install(&self, relax: &impl Relax, value: [usize; N], state: State) {
        let Some((mut locked, was)) = self.lock(relax, By::Deliverer, |_| true) else {
            unreachable!("locked in every state");
        };
        self.set(value);
        locked.next = was.next_version().with_state(state);
        drop(locked);
        // ORDERING: SeqCst, pairs with itself and with write (FC4): the value precedes the later
        // reads of this thread.
        full_fence();
    }

    /// Gives this copy, which has the value, the right to write it: the answer to a request without
    /// a value. Returns false if it has no value; then nothing changes.
    pub fn upgrade(&self, relax: &impl Relax) -> bool {
        self.change(relax, State::Modified).is_some()
    }

    /// Takes the value away from readers and writers. Returns the counted accesses of the tenure,
    /// or `None` if the copy had no value.
    ///
    /// After it has returned, a read of a thread that observes what this thread does later is a
    /// miss, until the next value is installed.
    pub fn invalidate(&self, relax: &impl Relax) -> Option<u8> {
        self.change(relax, State::Invalid)
    }

    /// Changes the state of a copy that has a value, which stays. Returns the counted accesses.
    fn change(&self, relax: &impl Relax, to: State) -> Option<u8> {
        let (mut locked, was) = self.lock(relax, By::Deliverer, Word::is_readable)?;
        locked.next = was.with_state(to);
        Some(was.hits())
    }

    /// Returns the value, with all writes, and lowers the state to `to`; a lower state stays.
    /// Returns `None` if the copy has no value.
    ///
    /// A write either precedes, and is in the value, or is a miss.
    pub fn recall(&self, relax: &impl Relax, to: State) -> Option<Recalled<[usize; N]>> {
        let (mut locked, was) = self.lock(relax, By::Deliverer, Word::is_readable)?;
        let value = self.get();
        locked.next = was.with_state(to.min(was.state()));
        let hits = was.hits();
        Some(Recalled { value, hits })
    }

    /// Returns the state, which may change at any time.
    pub fn state(&self) -> State {
        // ORDERING: Relaxed: a number for reports; `read` and `write` find out for themselves.
        Word(self.word.load(Ordering::Relaxed)).state()
    }

    /// Takes the lock bit in a word of which `may` holds. Returns that word, or `None` if it does
    /// not hold.
    #[inline]
    fn lock(
        &self,
        relax: &impl Relax,
        by: By,
        may: impl Fn(Word) -> bool,
    ) -> Option<(Locked<'_>, Word)> {
        let mut patience = self.wanted.patience(by);
        // ORDERING: Relaxed: a guess, which the exchange checks.
        let mut seen = Word(self.word.load(Ordering::Relaxed));
        loop {
            if !may(seen) {
                return None;
            }
            if seen.is_locked() || patience.is_to_yield() {
                patience.wait(relax);
                // ORDERING: Relaxed: as above.
                seen = Word(self.word.load(Ordering::Relaxed));
                continue;
            }
            // ORDERING: success Acquire, pairs with Release in Locked (FC3): the last value is
            // visible. ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            let word = &self.word;
            match word.compare_exchange_weak(seen.0, seen.locked().0, success, failure) {
                Ok(_) => return Some((Locked { word, next: seen }, seen)),
                Err(now) => seen = Word(now),
            }
        }
    }

    #[inline(always)]
    fn get(&self) -> [usize; N] {
        // ORDERING: Relaxed: under the lock bit, or checked by the second load of the word (FC2).
        core::array::from_fn(|at| self.value[at].load(Ordering::Relaxed))
    }

    /// Writes the value, under the lock bit.
    #[inline(always)]
    fn set(&self, value: [usize; N]) {
        // ORDERING: Release, pairs with Acquire in read (FC2): a reader of a word below observes
        // the lock bit.
        fence(Ordering::Release);
        for (word, value) in self.value.iter().zip(value) {
            // ORDERING: Relaxed: published by the release of the word (FC1), after the fence (FC2).
            word.store(value, Ordering::Relaxed);
        }
    }
}

impl<const N: usize> fmt::Debug for FlatCopy<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("FlatCopy")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
