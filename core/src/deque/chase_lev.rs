//! The lock-free work-stealing deque of Chase and Lev: one owner, any number of thieves.
//!
//! # Algorithm
//! Chase and Lev 2005 in the weak-memory form of Lê, Pop, Cohen and Zappa Nardelli 2013, over a
//! [`Ring`] that is fixed, grows, or is made of buckets. What differs from the printed code:
//! - Indices are `usize`, wrap around, and are compared by the sign of their difference. As
//!   printed, they overflow, and `pop` on an empty deque at index 0 finds it full.
//! - Slots are atomic words ([`Word`]), so that a thief's copy of an item that it does not get is
//!   harmless; growing publishes the buffer with Release and keeps the old ones (the printed resize
//!   is not ordered before the publication of the item).
//! - There are no fences. Where the printed `pop` has one and then loads `top`, this one rewrites
//!   `top` with its current value. Since all writes of `top` are compare-and-swaps, a thief that
//!   reads a greater value reads from after that write, and so observes the lowered `bottom`; it
//!   needs no fence either. `top` and `bottom` share a line, since both ends access both.
//! - The owner caches `bottom`, the last `top` it read, the location of the slots, and the limit of
//!   pushes: a push loads `top` once per round of the ring, and a pop of an empty deque loads
//!   nothing. If at most one item is left, by these values, a pop takes it as a thief does, without
//!   a change of `bottom`.
//! - Ownership is claimed at run time, so that users need no `unsafe`.
//!
//! # Words
//! `top`: incremented by the thread that takes the oldest item, never decremented. `bottom`:
//! written by the owner only. `owned`: set by [`Deque::owner`], cleared when the [`Owner`] is
//! dropped. Invariant: items are at `top..bottom`; the owner works at `bottom`. During a pop,
//! `bottom` can be one below `top`. `top` is written by compare-and-swap only: D3 depends on that.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | D1 | `push` stores `bottom` | `steal` loads `bottom` | the slot, the item in it | `v1`, `payload` |
//! | D2 | `pop` stores `bottom`, lowered or restored | `steal` loads `bottom` | slots and items below it: `bottom` may be read from a pop | `pop_publishes`, `v1_*` |
//! | D3 | `pop` rewrites `top` | `steal` loads `top` | `bottom` as the pop lowered it | `v1_*` |
//! | D4 | `steal` moves `top` | `make_room` loads `top` | the thief has read the slot that is about to be reused | none: see Proved |
//! | D5 | `grow` stores `current` | `steal` loads `current` | the slots of the new buffer | `grow_*` |
//! | D6 | `Owner::drop` clears `owned` | `Deque::owner` sets it | what the last owner did | `handover` |
//!
//! # Proved
//! By loom, up to 3 preemptions and a few items: no item is lost, none is taken twice, none is read
//! before it is written, across wrap-around of the ring and of the indices, reuse of a slot,
//! growth, and a new owner (`verify/tests/deque.rs`; table in `verify/MODELS.md`).
//!
//! By the memory models of C++20, Armv8, POWER and RISC-V, for two or three threads: D2, D3, D4 and
//! the relaxed exchange of `pop_last` (`verify/litmus/chase_lev.toml`). Without D4 a load observes
//! a store that depends on it (load buffering), which loom does not explore. D2 does not require
//! that: since C++20 a later store of the same thread does not continue the release of a push.
//!
//! # Not proved
//! A thief that is delayed while `top` wraps around all of `usize` (2^32 steals on a 32-bit
//! machine) takes a wrong item (ABA).

use super::ring::{Fixed, Ring};
use super::{Full, Steal, Word};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

/// The range of indices that hold items. An operation at either end reads both, so they share a
/// line.
struct Ends {
    top: AtomicUsize,
    bottom: AtomicUsize,
}

/// A work-stealing deque over the ring `R`.
///
/// One thread at a time pushes and pops, through [`Owner`]; all others steal, through [`Thief`].
/// Dropping the deque drops the remaining items.
///
/// ```compile_fail
/// # use tautline_core::deque::GrowableDeque;
/// fn shorter<'a>(deque: &'a GrowableDeque<&'static u32>) -> &'a GrowableDeque<&'a u32> {
///     deque
/// }
/// ```
pub struct Deque<T: Word, R: Ring> {
    ends: CachePadded<Ends>,
    owned: AtomicBool,
    ring: R,
    /// Not `T`: threads share no item, so the deque is Sync for all items; words are Send.
    /// Invariant in `T`.
    items: PhantomData<fn(T) -> T>,
}

/// A deque of at most `N` items that allocates nothing. `N` is a power of two.
pub type FixedDeque<T, const N: usize> = Deque<T, Fixed<N>>;

/// A deque that doubles its memory when it is full.
#[cfg(feature = "alloc")]
pub type GrowableDeque<T> = Deque<T, super::ring::Growable>;

impl<T: Word, const N: usize> FixedDeque<T, N> {
    /// Creates an empty deque.
    pub fn new() -> Self {
        Self::starting_at(Fixed::default(), 0)
    }
}

impl<T: Word, const N: usize> Default for FixedDeque<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "alloc")]
impl<T: Word> GrowableDeque<T> {
    /// Creates an empty deque with room for 64 items.
    pub fn new() -> Self {
        Self::with_capacity(64)
    }

    /// Creates an empty deque with room for `capacity` items, rounded up to a power of two.
    ///
    /// ```
    /// # use tautline_core::deque::GrowableDeque;
    /// assert!(GrowableDeque::<u32>::with_capacity(100).is_empty());
    /// ```
    ///
    /// # Panics
    /// If `capacity` is above the greatest power of two, or that much memory cannot be addressed.
    pub fn with_capacity(capacity: usize) -> Self {
        Self::starting_at(super::ring::Growable::with_capacity(capacity), 0)
    }
}

#[cfg(feature = "alloc")]
impl<T: Word> Default for GrowableDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Word, R: Ring> Deque<T, R> {
    /// Creates an empty deque whose first item gets index `start`: tests begin where indices wrap.
    #[doc(hidden)]
    pub fn starting_at(mut ring: R, start: usize) -> Self {
        ring.begin(start);
        Self {
            ends: CachePadded::new(Ends {
                top: AtomicUsize::new(start),
                bottom: AtomicUsize::new(start),
            }),
            owned: AtomicBool::new(false),
            ring,
            items: PhantomData,
        }
    }

    /// Claims ownership; returns `None` if the deque has an owner. Dropping the [`Owner`] releases
    /// it.
    pub fn owner(&self) -> Option<Owner<'_, T, R>> {
        // ORDERING: Acquire, pairs with Release in Owner::drop (D6): the last owner's slots and
        // bottom are visible.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        self.owned
            .compare_exchange(false, true, success, failure)
            .ok()?;
        // ORDERING: Acquire, pairs with Release in steal (D4): the thieves have read the slots
        // below.
        let top = self.ends.top.load(Ordering::Acquire);
        // ORDERING: Relaxed: written by owners only, ordered by the claim (D6).
        let bottom = self.ends.bottom.load(Ordering::Relaxed);
        let view = self.ring.view(bottom.wrapping_sub(1));
        Some(Owner {
            deque: self,
            bottom: Cell::new(bottom),
            top_seen: Cell::new(top),
            view: Cell::new(view),
            limit: Cell::new(self.ring.limit(view, top)),
        })
    }

    /// Returns a thief's end; there may be any number of them.
    #[inline]
    pub fn thief(&self) -> Thief<'_, T, R> {
        Thief { deque: self }
    }

    /// Returns the number of items: exact while no other thread uses the deque, otherwise a hint.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint; callers take items through pop or steal only.
        let top = self.ends.top.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as for top.
        let bottom = self.ends.bottom.load(Ordering::Relaxed);
        usize::try_from(ahead(bottom, top)).unwrap_or(0)
    }

    /// Whether there is nothing to steal; a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns by how much index `a` is ahead of index `b`; negative if it is behind. Indices wrap.
#[inline(always)]
fn ahead(a: usize, b: usize) -> isize {
    a.wrapping_sub(b) as isize
}

impl<T: Word, R: Ring> Drop for Deque<T, R> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the deque.
        let mut index = self.ends.top.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as for top.
        let bottom = self.ends.bottom.load(Ordering::Relaxed);
        while ahead(bottom, index) > 0 {
            // SAFETY: items in top..bottom were pushed and not taken.
            drop(unsafe { T::from_word(self.ring.load(index)) });
            index = index.wrapping_add(1);
        }
    }
}

impl<T: Word, R: Ring> fmt::Debug for Deque<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque").field("len", &self.len()).finish()
    }
}

/// The owner's end of a deque, with the newest items: pushes and pops.
///
/// Can be sent to another thread, but not shared.
pub struct Owner<'a, T: Word, R: Ring> {
    deque: &'a Deque<T, R>,
    /// A copy of the deque's `bottom`, which only the owner writes.
    bottom: Cell<usize>,
    /// A previous value of `top`, which may be greater by now.
    top_seen: Cell<usize>,
    /// The location of the slots: of all items, or of the newest and some below it.
    view: Cell<R::View>,
    /// The index at which a push must check for room; there may be more by then.
    limit: Cell<usize>,
}

impl<T: Word, const N: usize> Owner<'_, T, Fixed<N>> {
    /// Adds the newest item, or returns it if there are `N` already.
    #[inline]
    pub fn push(&self, item: T) -> Result<(), Full<T>> {
        self.try_push(item)
    }
}

#[cfg(feature = "alloc")]
impl<T: Word> Owner<'_, T, super::ring::Growable> {
    /// Adds the newest item.
    ///
    /// # Panics
    /// If the memory for twice as many items cannot be addressed.
    #[inline]
    pub fn push(&self, item: T) {
        if self.try_push(item).is_err() {
            unreachable!("a growable ring grows");
        }
    }
}

impl<'a, T: Word, R: Ring> Owner<'a, T, R> {
    /// Adds the newest item, or returns it if the ring is full and cannot grow.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<(), Full<T>> {
        let deque = self.deque;
        let bottom = self.bottom.get();
        if bottom == self.limit.get() && !self.make_room() {
            return Err(Full(item));
        }
        // SAFETY: this is the owner, and the view contains the slots below its limit down to the
        // newest item.
        unsafe { deque.ring.store(self.view.get(), bottom, item.into_word()) };
        let next = bottom.wrapping_add(1);
        self.bottom.set(next);
        // ORDERING: Release, pairs with Acquire in steal (D1): the slot is written before bottom
        // moves.
        deque.ends.bottom.store(next, Ordering::Release);
        Ok(())
    }

    /// Loads the position of the thieves, and grows if there is no room.
    #[cold]
    fn make_room(&self) -> bool {
        let deque = self.deque;
        // ORDERING: Acquire, pairs with Release in steal (D4): the thieves have read the slots that
        // push reuses.
        let top = deque.ends.top.load(Ordering::Acquire);
        self.top_seen.set(top);
        let bottom = self.bottom.get();
        // SAFETY: this is the owner.
        let room = unsafe { deque.ring.room(top, bottom) };
        if room {
            self.look_at(bottom);
        }
        room
    }

    /// Moves the view to the slot of an index.
    #[cold]
    fn look_at(&self, index: usize) {
        let ring = &self.deque.ring;
        self.view.set(ring.view(index));
        self.limit
            .set(ring.limit(self.view.get(), self.top_seen.get()));
    }

    /// Returns the ring of slots.
    #[cfg(feature = "alloc")]
    pub(super) fn ring(&self) -> &R {
        &self.deque.ring
    }

    /// Loads the word of an item that the owner has.
    #[inline(always)]
    fn own_word(&self, index: usize) -> *mut () {
        if !R::shows(self.view.get(), index) {
            self.look_at(index);
        }
        // SAFETY: this is the owner, and the view contains the index.
        unsafe { self.deque.ring.load_own(self.view.get(), index) }
    }

    /// Takes the newest item.
    ///
    /// ```
    /// # use tautline_core::deque::FixedDeque;
    /// let deque = FixedDeque::<u32, 4>::new();
    /// let owner = deque.owner().unwrap();
    /// (1..=2).for_each(|item| owner.push(item).unwrap());
    /// assert_eq!(owner.pop(), Some(2));
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let ends = &self.deque.ends;
        let bottom = self.bottom.get();
        let seen = self.top_seen.get();
        if bottom == seen {
            return None;
        }
        let newest = bottom.wrapping_sub(1);
        if newest == seen {
            return self.pop_last(newest);
        }
        // ORDERING: Release, pairs with Acquire in steal (D2): a thief that reads this bottom and
        // takes an older item must observe that item.
        ends.bottom.store(newest, Ordering::Release);
        let mut top = seen;
        // ORDERING: success Release, pairs with Acquire in steal (D3): a thief that reads a later
        // top observes the lowered bottom.
        // ORDERING: failure Relaxed: retried.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        while let Err(moved) = ends.top.compare_exchange_weak(top, top, success, failure) {
            top = moved;
        }
        // A store delays the next locked instruction: nothing is stored unless a thief took an
        // item.
        if top != seen {
            self.top_seen.set(top);
            if ahead(newest, top) <= 0 {
                // ORDERING: Release, pairs with Acquire in steal (D2): a thief that reads the
                // restored bottom observes a top at least as late as the owner's.
                ends.bottom.store(bottom, Ordering::Release);
                return self.pop_last(newest);
            }
        }
        self.bottom.set(newest);
        // SAFETY: `top` was below `newest` when it was rewritten, after bottom was lowered to
        // `newest`, so a thief that reaches `newest` observes the lowered bottom (D3): only the
        // owner has the item.
        Some(unsafe { T::from_word(self.own_word(newest)) })
    }

    /// Takes the newest item when at most one is left: the thread that moves `top` past it gets it.
    #[inline]
    fn pop_last(&self, newest: usize) -> Option<T> {
        let bottom = newest.wrapping_add(1);
        // ORDERING: Relaxed both ways: it publishes nothing of the owner's and reads nothing of a
        // thief's.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let won = self
            .deque
            .ends
            .top
            .compare_exchange(newest, bottom, success, failure)
            .is_ok();
        self.top_seen.set(bottom);
        // SAFETY: moving top past the item transferred it to this thread, and only the owner writes
        // its slot.
        won.then(|| unsafe { T::from_word(self.own_word(newest)) })
    }

    /// Returns the maximum number of items: thieves may be taking some.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint; top_seen keeps the acquired value.
        let top = self.deque.ends.top.load(Ordering::Relaxed);
        self.bottom.get().wrapping_sub(top)
    }

    /// Whether there is no item left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items that fit without growing.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.deque.ring.capacity()
    }

    /// Returns a thief's end.
    #[inline]
    pub fn thief(&self) -> Thief<'a, T, R> {
        self.deque.thief()
    }
}

impl<T: Word, R: Ring> Drop for Owner<'_, T, R> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in Deque::owner (D6): the next owner observes what
        // this one did.
        self.deque.owned.store(false, Ordering::Release);
    }
}

impl<T: Word, R: Ring> fmt::Debug for Owner<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).finish()
    }
}

/// A thief's end of a deque, with the oldest items.
pub struct Thief<'a, T: Word, R: Ring> {
    deque: &'a Deque<T, R>,
}

impl<T: Word, R: Ring> Thief<'_, T, R> {
    /// Tries once to take the oldest item. Does not wait.
    ///
    /// ```
    /// # use tautline_core::deque::{FixedDeque, Steal};
    /// let deque = FixedDeque::<u32, 4>::new();
    /// deque.owner().unwrap().push(1).unwrap();
    /// assert_eq!(deque.thief().steal(), Steal::Taken(1));
    /// ```
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        let deque = self.deque;
        // ORDERING: Acquire, pairs with Release in pop (D3): the lowered bottom of a pop that read
        // a smaller top.
        let top = deque.ends.top.load(Ordering::Acquire);
        // ORDERING: Acquire, pairs with Release in push (D1) and pop (D2): the slot at top, and its
        // item, are visible.
        let bottom = deque.ends.bottom.load(Ordering::Acquire);
        if ahead(bottom, top) <= 0 {
            return Steal::Empty;
        }
        let word = deque.ring.load(top);
        // ORDERING: success Release, pairs with Acquire in make_room (D4): the slot was read before
        // it is reused.
        // ORDERING: failure Relaxed: the word is discarded.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let next = top.wrapping_add(1);
        match deque.ends.top.compare_exchange(top, next, success, failure) {
            // SAFETY: top has not changed since it was loaded, so the slot contained this index's
            // item when it was read, and moving top past it transferred it to this thread.
            Ok(_) => Steal::Taken(unsafe { T::from_word(word) }),
            Err(_) => Steal::Busy,
        }
    }

    /// Returns the number of items; a hint.
    #[inline]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// Whether there is nothing to steal; a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }
}

impl<T: Word, R: Ring> Clone for Thief<'_, T, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Word, R: Ring> Copy for Thief<'_, T, R> {}

impl<T: Word, R: Ring> fmt::Debug for Thief<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thief").field("len", &self.len()).finish()
    }
}
