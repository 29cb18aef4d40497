//! The Chase-Lev work-stealing deque: one owner, any number of thieves, no locks.
//!
//! # Algorithm
//! Chase and Lev 2005 in the weak-memory form of Lê, Pop, Cohen and Zappa Nardelli 2013, over a
//! [`Ring`] that is fixed, grows, or is made of buckets. What differs from the printed code:
//! - Indices are `usize`, wrap around, and are compared by the sign of their difference. Printed,
//!   they overflow, and `pop` on an empty deque at index 0 finds it full.
//! - Slots are atomic words ([`Word`]), so that a thief's copy of an item that it does not get is
//!   harmless; growing publishes the buffer with Release and keeps the old ones (the printed
//!   resize is not ordered before the publication of the item).
//! - There are no fences. Where the printed `pop` has one and then loads `top`, this one writes `top`
//!   anew, with the value that it has. All writes of `top` being compare-and-swaps, a thief that finds
//!   it further up reads from after that write, and so sees `bottom` lowered; it needs no fence either.
//!   `top` and `bottom` share a line, since both ends touch both.
//! - The owner remembers `bottom`, the last `top` it saw, where the slots are, and how far there is
//!   room: a push looks at `top` once a round of the ring, and a pop of an empty deque looks at nothing.
//!   If one item at most is left, by what it remembers, a pop takes it as a thief does: `bottom` stays.
//! - Ownership is claimed at run time, so that users need no `unsafe`.
//!
//! # Words
//! `top`: incremented by the thread that takes the oldest item, never decremented. `bottom`: written
//! by the owner only. `owned`: set by [`Deque::owner`], cleared when the [`Owner`] is dropped.
//! Items are at `top..bottom`; the owner works at `bottom`. While a pop is looking, `bottom` can be
//! one below `top`. `top` is written by compare-and-swap only: D3 rests on it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | D1 | `push` stores `bottom` | `steal` loads `bottom` | the slot, the item behind it | `v1`, `payload` |
//! | D2 | `pop` stores `bottom`, lowered or put back | `steal` loads `bottom` | slots and items below it: `bottom` may be read from a pop | `pop_publishes` |
//! | D3 | `pop` writes `top` anew | `steal` loads `top` | `bottom` as the pop lowered it | `v1_*` |
//! | D4 | `steal` moves `top` | `make_room` loads `top` | the thief has read the slot that is about to be reused | none: see Not proved |
//! | D5 | `grow` stores `current` | `steal` loads `current` | the slots of the new buffer | `grow_*` |
//! | D6 | `Owner::drop` clears `owned` | `Deque::owner` sets it | what the last owner did | `handover` |
//!
//! # Proved
//! By loom, up to 3 preemptions and a few items: no item is lost, none is taken twice, none is seen
//! unwritten, across wrap-around of the ring and of the indices, reuse of a slot, growth, and a new
//! owner (`verify/tests/deque.rs`; table in `verify/MODELS.md`).
//!
//! # Not proved
//! D4, and D2 where `bottom` is put back: without them an outcome needs a load to see a store that
//! depends on it (load buffering), which loom does not explore. A thief that sleeps while `top`
//! goes once round all of `usize` (2^32 steals on a 32-bit machine) takes a wrong item.

use super::ring::{Fixed, Ring};
use super::{Full, OwnerEnd, Steal, ThiefEnd, Word, WorkDeque};
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

/// The range of indices that hold items. An operation at either end reads both, so they share a line.
struct Ends {
    top: AtomicUsize,
    bottom: AtomicUsize,
}

/// A work-stealing deque over the ring `R`.
///
/// One thread at a time pushes and pops, through [`Owner`]; all others steal, through [`Thief`].
/// Dropping the deque drops what is left in it.
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
    /// Not `T`: threads share no item, so the deque is Sync whether items are or not; words are Send.
    /// In and out: items of another type, or of a shorter life, may neither leave nor enter.
    items: PhantomData<fn(T) -> T>,
}

/// A deque of at most `N` items that allocates nothing. `N` is a power of two.
pub type FixedDeque<T, const N: usize> = Deque<T, Fixed<N>>;

/// A deque that doubles its memory when it is full.
#[cfg(feature = "alloc")]
pub type GrowableDeque<T> = Deque<T, super::ring::Growable>;

impl<T: Word, const N: usize> FixedDeque<T, N> {
    /// An empty deque.
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
    /// An empty deque with room for 64 items.
    pub fn new() -> Self {
        Self::with_capacity(64)
    }

    /// An empty deque with room for `capacity` items, rounded up to a power of two.
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
    /// An empty deque whose first item gets index `start`: tests begin where indices wrap.
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

    /// Claims ownership; returns `None` if the deque has an owner. Dropping the [`Owner`] releases it.
    pub fn owner(&self) -> Option<Owner<'_, T, R>> {
        // ORDERING: Acquire, pairs with Release in Owner::drop (D6): the last owner's slots and bottom are seen.
        // ORDERING: failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        self.owned.compare_exchange(false, true, yes, no).ok()?;
        // ORDERING: Acquire, pairs with Release in steal (D4): the thieves have read the slots below; no mutant: see Not
        // proved.
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

    /// The right to steal; any number of them.
    #[inline]
    pub fn thief(&self) -> Thief<'_, T, R> {
        Thief { deque: self }
    }

    /// Returns the number of items: exact while no other thread uses the deque, otherwise a hint.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint; callers take items through pop or steal only.
        let top = self.ends.top.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        let bottom = self.ends.bottom.load(Ordering::Relaxed);
        usize::try_from(ahead(bottom, top)).unwrap_or(0)
    }

    /// Whether there seems to be nothing to steal.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// By how much index `a` is ahead of index `b`: negative if it is behind. Indices wrap.
#[inline(always)]
fn ahead(a: usize, b: usize) -> isize {
    a.wrapping_sub(b) as isize
}

impl<T: Word, R: Ring> Drop for Deque<T, R> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that all other threads are done.
        let mut index = self.ends.top.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
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

/// The owner's end of a deque, where the newest items are: pushes and pops.
///
/// Can be sent to another thread, but not shared.
pub struct Owner<'a, T: Word, R: Ring> {
    deque: &'a Deque<T, R>,
    /// A copy of the deque's `bottom`, which only the owner writes.
    bottom: Cell<usize>,
    /// A `top` that was seen; the real one may be further.
    top_seen: Cell<usize>,
    /// Where the slots are: of all items, or of the newest and some below it.
    view: Cell<R::View>,
    /// The index at which a push must look whether there is room; there may be more by then.
    limit: Cell<usize>,
}

impl<T: Word, const N: usize> Owner<'_, T, Fixed<N>> {
    /// Adds the newest item, or gives it back if there are `N` already.
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
    /// Adds the newest item, or gives it back if the ring is full and cannot grow.
    #[inline]
    pub fn try_push(&self, item: T) -> Result<(), Full<T>> {
        let deque = self.deque;
        let bottom = self.bottom.get();
        if bottom == self.limit.get() && !self.make_room() {
            return Err(Full(item));
        }
        // SAFETY: we are the owner, and the view shows what is below its limit down to the newest item.
        unsafe { deque.ring.store(self.view.get(), bottom, item.into_word()) };
        let next = bottom.wrapping_add(1);
        self.bottom.set(next);
        // ORDERING: Release, pairs with Acquire in steal (D1): the slot is written before bottom moves.
        deque.ends.bottom.store(next, Ordering::Release);
        Ok(())
    }

    /// Looks at how far the thieves are, and grows if they are not far enough.
    #[cold]
    fn make_room(&self) -> bool {
        let deque = self.deque;
        // ORDERING: Acquire, pairs with Release in steal (D4): the thieves have read the slots that push reuses; no mutant:
        // see Not proved.
        let top = deque.ends.top.load(Ordering::Acquire);
        self.top_seen.set(top);
        let bottom = self.bottom.get();
        // SAFETY: we are the owner.
        let room = unsafe { deque.ring.room(top, bottom) };
        if room {
            self.look_at(bottom);
        }
        room
    }

    /// Moves the view to where the slot of an index is.
    #[cold]
    fn look_at(&self, index: usize) {
        let ring = &self.deque.ring;
        self.view.set(ring.view(index));
        self.limit
            .set(ring.limit(self.view.get(), self.top_seen.get()));
    }

    /// What the items lie in.
    #[cfg(feature = "alloc")]
    pub(super) fn ring(&self) -> &R {
        &self.deque.ring
    }

    /// The word of an item that is the owner's.
    #[inline(always)]
    fn own_word(&self, index: usize) -> *mut () {
        if !R::shows(self.view.get(), index) {
            self.look_at(index);
        }
        // SAFETY: we are the owner, and the view shows the index.
        unsafe { self.deque.ring.load_own(self.view.get(), index) }
    }

    /// Takes the newest item back.
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
        // ORDERING: Release, pairs with Acquire in steal (D2): a thief may read bottom from here and take an older item; it
        // must see that item.
        ends.bottom.store(newest, Ordering::Release);
        let mut top = seen;
        // ORDERING: success Release, pairs with Acquire in steal (D3): a thief that reads a later
        // top sees the lowered bottom.
        // ORDERING: failure Relaxed: retried.
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        while let Err(moved) = ends.top.compare_exchange_weak(top, top, yes, no) {
            top = moved;
        }
        // A store delays the next locked instruction: nothing is stored unless a thief took an
        // item.
        if top != seen {
            self.top_seen.set(top);
            if ahead(newest, top) <= 0 {
                // ORDERING: Release, pairs with Acquire in steal (D2): a thief that reads the
                // restored bottom sees a top at least as late as the owner did.
                ends.bottom.store(bottom, Ordering::Release);
                return self.pop_last(newest);
            }
        }
        self.bottom.set(newest);
        // SAFETY: `top` was below `newest` when it was rewritten, after bottom was lowered to
        // `newest`, so a thief that reaches `newest` sees the lowered bottom (D3): the owner alone
        // has the item.
        Some(unsafe { T::from_word(self.own_word(newest)) })
    }

    /// Takes the newest item when at most one is left: it belongs to the thread that moves `top`
    /// past it.
    #[inline]
    fn pop_last(&self, newest: usize) -> Option<T> {
        let bottom = newest.wrapping_add(1);
        // ORDERING: Relaxed both ways: it publishes nothing of the owner's and reads nothing of a thief's.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let won = self
            .deque
            .ends
            .top
            .compare_exchange(newest, bottom, yes, no)
            .is_ok();
        self.top_seen.set(bottom);
        // SAFETY: moving top over the item made it ours, and only the owner writes its slot.
        won.then(|| unsafe { T::from_word(self.own_word(newest)) })
    }

    /// How many items there are at most: thieves may be taking some.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint; top_seen stays as it was acquired.
        let top = self.deque.ends.top.load(Ordering::Relaxed);
        self.bottom.get().wrapping_sub(top)
    }

    /// Whether there is nothing left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items fit without growing.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.deque.ring.capacity()
    }

    /// The right to steal from this deque.
    #[inline]
    pub fn thief(&self) -> Thief<'a, T, R> {
        self.deque.thief()
    }
}

impl<T: Word, R: Ring> Drop for Owner<'_, T, R> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in Deque::owner (D6): the next owner sees what this one did.
        self.deque.owned.store(false, Ordering::Release);
    }
}

impl<T: Word, R: Ring> fmt::Debug for Owner<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).finish()
    }
}

/// The right to steal the oldest item.
pub struct Thief<'a, T: Word, R: Ring> {
    deque: &'a Deque<T, R>,
}

impl<T: Word, R: Ring> Thief<'_, T, R> {
    /// Tries once to take the oldest item. Never waits.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        let deque = self.deque;
        // ORDERING: Acquire, pairs with Release in pop (D3): the lowered bottom of a pop that found top further down.
        let top = deque.ends.top.load(Ordering::Acquire);
        // ORDERING: Acquire, pairs with Release in push (D1) and pop (D2): the slot at top, and its item, are seen.
        let bottom = deque.ends.bottom.load(Ordering::Acquire);
        if ahead(bottom, top) <= 0 {
            return Steal::Empty;
        }
        let word = deque.ring.load(top);
        // ORDERING: success Release, pairs with Acquire in make_room (D4): the slot was read before it is reused; no mutant:
        // see Not proved.
        // ORDERING: failure Relaxed: the word is thrown away.
        let (yes, no) = (Ordering::Release, Ordering::Relaxed);
        let next = top.wrapping_add(1);
        match deque.ends.top.compare_exchange(top, next, yes, no) {
            // SAFETY: top did not move since it was loaded, so the slot held this index's item when
            // it was read, and moving top over it made the item ours.
            Ok(_) => Steal::Taken(unsafe { T::from_word(word) }),
            Err(_) => Steal::Busy,
        }
    }

    /// How many items there seem to be.
    #[inline]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// Whether there seems to be nothing to steal.
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

impl<T: Word, R: Ring> WorkDeque<T> for Deque<T, R> {
    type Owner<'a>
        = Owner<'a, T, R>
    where
        Self: 'a;
    type Thief<'a>
        = Thief<'a, T, R>
    where
        Self: 'a;

    fn owner(&self) -> Option<Owner<'_, T, R>> {
        self.owner()
    }

    #[inline]
    fn thief(&self) -> Thief<'_, T, R> {
        self.thief()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Word, R: Ring> OwnerEnd<T> for Owner<'_, T, R> {
    #[inline]
    fn push(&self, item: T) -> Result<(), Full<T>> {
        self.try_push(item)
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        self.pop()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Word, R: Ring> ThiefEnd<T> for Thief<'_, T, R> {
    #[inline]
    fn steal(&self) -> Steal<T> {
        self.steal()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}
