//! The split deque: a private part that costs its owner no fence, and a public part for thieves.
//!
//! # Algorithm
//! After Rito and Paulino 2021 and van Dijk and van de Pol 2014 (the split deque of Lace). Items are at
//! `top..bottom`; thieves may take those in `top..split`. What differs:
//! - `top` and `split` are the halves of one word, which thieves and the owner change by
//!   compare-and-swap: its modification order settles every race, so there is no fence at all.
//! - The owner publishes when it pushes and sees nothing public: it asks no flag, and a thief never has
//!   to ask.
//! - A thief reads the slot *after* it has won: words may repeat, since `split` goes down too. So that the
//!   owner does not refill the slot before it is read, the thief leaves null there.
//!
//! # Words
//! `shared`: thieves move `top` up by one; the owner moves `split`. `bottom`, `limit`, `clean`: the owner's
//! own. Slots: written by the owner; a thief writes null into the slot that it has won and read.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | S1 | `publish`, `push_public` change `shared` | `steal` changes `shared` | the slots below `split`, the items behind them | `split_payload` |
//! | S2 | `steal` stores null | `make_room` loads the slot | the thief has read the slot that is about to be reused | `split_reuse` |
//! | S3 | `look` changes `shared` | `publish`, `push_public` change `shared` | that the one who looked is about to sleep | `sleep_*` in `verify/tests/task.rs` |
//! | S4 | `publish`, `push_public` change `shared` | `look` changes `shared` | what was pushed before the look | as S3 |
//! | S5 | `Owner::drop` clears `owned` | `SplitDeque::owner` sets it | what the last owner did | `split_handover` |
//!
//! # Proved
//! By loom (`verify/tests/deque.rs`): each item comes out once, whole, over wrap-around of the ring and of
//! the indices, reuse of slots, and a new owner.
//!
//! # Not proved
//! A thief that sleeps between its look and its compare-and-swap while `shared` comes back to the same value
//! takes the item that is there then; that is no harm.

use super::{Full, Steal, Word};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Ordering};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

/// An index is half a machine word.
const HALF: u32 = usize::BITS / 2;
const MASK: usize = usize::MAX >> HALF;

/// A [`Word`] that is never null.
///
/// # Safety
/// [`into_word`](Word::into_word) never gives null.
pub unsafe trait NonNullWord: Word {}

// SAFETY: references are not null.
unsafe impl<T: Sync> NonNullWord for &T {}
// SAFETY: boxes are not null.
#[cfg(feature = "alloc")]
unsafe impl<T: Send> NonNullWord for alloc::boxed::Box<T> {}
// SAFETY: the number is not zero, so neither is the word.
unsafe impl NonNullWord for core::num::NonZeroUsize {}

/// A work-stealing deque of at most `N` items whose newest ones only the owner sees.
///
/// [`Owner::push`] keeps an item private as long as thieves have something else to take;
/// [`Owner::push_public`] offers it at once. `N` is a power of two, below 2^15 on 32-bit machines.
/// Dropping the deque drops what is left in it.
pub struct SplitDeque<T: NonNullWord, const N: usize> {
    shared: CachePadded<AtomicUsize>,
    own: CachePadded<Own>,
    owned: AtomicBool,
    slots: [AtomicPtr<()>; N],
    items: PhantomData<fn(T) -> T>,
}

/// What only the owner touches. All indices are below `1 << HALF` and wrap there.
struct Own {
    bottom: Cell<usize>,
    /// Where a push must look whether there is room.
    limit: Cell<usize>,
    /// Below it, every slot that was won by a thief has been read.
    clean: Cell<usize>,
}

// SAFETY: `own` is touched through `Owner` only, of which there is one at a time, on one thread; what it did
// is handed to the next one by `owned` (S5). All else is atomic, and words are Send.
unsafe impl<T: NonNullWord, const N: usize> Sync for SplitDeque<T, N> {}

#[inline(always)]
fn top(shared: usize) -> usize {
    shared & MASK
}

#[inline(always)]
fn split(shared: usize) -> usize {
    shared >> HALF
}

#[inline(always)]
fn pack(top: usize, split: usize) -> usize {
    split << HALF | top
}

#[inline(always)]
fn next(index: usize) -> usize {
    index.wrapping_add(1) & MASK
}

#[inline(always)]
fn previous(index: usize) -> usize {
    index.wrapping_sub(1) & MASK
}

impl<T: NonNullWord, const N: usize> SplitDeque<T, N> {
    /// An empty deque.
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// An empty deque whose first item gets index `start`: tests begin where indices wrap.
    #[doc(hidden)]
    pub fn starting_at(start: usize) -> Self {
        // A power of two divides the number of indices, so that index % N does not jump where they wrap.
        const { assert!(N.is_power_of_two() && N <= MASK / 2) };
        let start = start & MASK;
        Self {
            shared: CachePadded::new(AtomicUsize::new(pack(start, start))),
            own: CachePadded::new(Own {
                bottom: Cell::new(start),
                limit: Cell::new(start.wrapping_add(N) & MASK),
                clean: Cell::new(start),
            }),
            owned: AtomicBool::new(false),
            slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            items: PhantomData,
        }
    }

    /// Becomes the owner, if there is none. The role is free again when the [`Owner`] is dropped.
    pub fn owner(&self) -> Option<Owner<'_, T, N>> {
        // ORDERING: Acquire, pairs with Release in Owner::drop (S5): the last owner's indices are seen.
        // ORDERING: failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        let won = self.owned.compare_exchange(false, true, yes, no);
        won.is_ok().then(|| Owner {
            deque: self,
            one_thread: PhantomData,
        })
    }

    /// Tries once to take the oldest public item. Never waits.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // ORDERING: Relaxed: only a guess, which the compare-and-swap checks.
        let seen = self.shared.load(Ordering::Relaxed);
        let oldest = top(seen);
        if oldest == split(seen) {
            return Steal::Empty;
        }
        let taken = pack(next(oldest), split(seen));
        // ORDERING: success Acquire, pairs with Release in publish and push_public (S1): the slot, and its item, are seen.
        // ORDERING: failure Relaxed: nothing is touched.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        if self.shared.compare_exchange(seen, taken, yes, no).is_err() {
            return Steal::Busy;
        }
        let slot = &self.slots[oldest % N];
        // ORDERING: Relaxed: the Acquire above came before.
        let word = slot.load(Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in make_room (S2): the slot was read before it is refilled.
        slot.store(ptr::null_mut(), Ordering::Release);
        // SAFETY: the index was public and moving top over it made the item ours; the slot is not refilled
        // before it holds null.
        Steal::Taken(unsafe { T::from_word(word) })
    }

    /// Whether there is something to steal, settled against every push: one that this look does not see is
    /// made by an owner that sees what the caller did before.
    #[inline]
    pub fn look(&self) -> bool {
        // ORDERING: AcqRel, pairs with AcqRel in publish and push_public (S3, S4): whoever of the two comes
        // second in the order of this word sees what the other did before.
        let seen = self.shared.fetch_add(0, Ordering::AcqRel);
        top(seen) != split(seen)
    }

    /// How many items seem to be there for thieves.
    #[inline]
    pub fn public(&self) -> usize {
        // ORDERING: Relaxed: a hint.
        let seen = self.shared.load(Ordering::Relaxed);
        split(seen).wrapping_sub(top(seen)) & MASK
    }
}

impl<T: NonNullWord, const N: usize> Default for SplitDeque<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: NonNullWord, const N: usize> Drop for SplitDeque<T, N> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that all other threads are done.
        let mut index = top(self.shared.load(Ordering::Relaxed));
        while index != self.own.bottom.get() {
            // ORDERING: Relaxed: as above.
            let word = self.slots[index % N].load(Ordering::Relaxed);
            // SAFETY: items in top..bottom were pushed and not taken.
            drop(unsafe { T::from_word(word) });
            index = next(index);
        }
    }
}

impl<T: NonNullWord, const N: usize> fmt::Debug for SplitDeque<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitDeque")
            .field("public", &self.public())
            .finish()
    }
}

/// The one who pushes and pops, at the end of the newest items. On one thread.
pub struct Owner<'a, T: NonNullWord, const N: usize> {
    deque: &'a SplitDeque<T, N>,
    one_thread: PhantomData<*mut ()>,
}

/// What a push did for thieves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pushed {
    /// Thieves find what they found before.
    Private,
    /// There was nothing for thieves, and now there is.
    Published,
}

impl<'a, T: NonNullWord, const N: usize> Owner<'a, T, N> {
    /// The owner, without a claim.
    ///
    /// # Safety
    /// There is no other owner at work: all that claim to be are on this thread, and what they did is visible.
    #[inline(always)]
    pub(crate) unsafe fn of(deque: &'a SplitDeque<T, N>) -> core::mem::ManuallyDrop<Self> {
        core::mem::ManuallyDrop::new(Owner {
            deque,
            one_thread: PhantomData,
        })
    }

    /// Where the next item goes.
    #[inline(always)]
    pub(crate) fn bottom(&self) -> usize {
        self.deque.own.bottom.get()
    }

    /// Adds the newest item, or gives it back if there are `N` already. It stays private unless thieves
    /// have nothing else.
    #[inline(always)]
    pub fn push(&self, item: T) -> Result<Pushed, Full<T>> {
        let deque = self.deque;
        let bottom = deque.own.bottom.get();
        if bottom == deque.own.limit.get() && !self.make_room() {
            return Err(Full(item));
        }
        // ORDERING: Relaxed: published by the change of `shared` (S1).
        deque.slots[bottom % N].store(item.into_word(), Ordering::Relaxed);
        deque.own.bottom.set(next(bottom));
        // ORDERING: Relaxed: if the owner's view of thieves is old, they have one item less to take for a while.
        let seen = deque.shared.load(Ordering::Relaxed);
        if seen.rotate_left(HALF) == seen {
            self.publish();
            return Ok(Pushed::Published);
        }
        Ok(Pushed::Private)
    }

    /// Adds the newest item and offers it and all older ones to thieves, or gives it back if there are `N`
    /// already.
    #[inline]
    pub fn push_public(&self, item: T) -> Result<(), Full<T>> {
        let deque = self.deque;
        let bottom = deque.own.bottom.get();
        if bottom == deque.own.limit.get() && !self.make_room() {
            return Err(Full(item));
        }
        // ORDERING: Relaxed: published by the change of `shared` (S1).
        deque.slots[bottom % N].store(item.into_word(), Ordering::Relaxed);
        deque.own.bottom.set(next(bottom));
        self.offer(next(bottom));
        Ok(())
    }

    /// Offers the older half of the private items, at least one.
    #[cold]
    #[inline(never)]
    fn publish(&self) {
        let deque = self.deque;
        // ORDERING: Relaxed: only the owner writes this half.
        let from = split(deque.shared.load(Ordering::Relaxed));
        let private = deque.own.bottom.get().wrapping_sub(from) & MASK;
        self.offer(from.wrapping_add(private.div_ceil(2)) & MASK);
    }

    /// Moves `split` up to `to`.
    #[inline(always)]
    fn offer(&self, to: usize) {
        let deque = self.deque;
        // ORDERING: Relaxed: only the owner writes this half.
        let from = split(deque.shared.load(Ordering::Relaxed));
        let more = to.wrapping_sub(from) << HALF;
        // ORDERING: AcqRel, pairs with Acquire in steal (S1): the slots are written before they are offered;
        // and with AcqRel in look (S3, S4).
        deque.shared.fetch_add(more, Ordering::AcqRel);
    }

    /// Looks at which slots the thieves have done with.
    #[cold]
    #[inline(never)]
    fn make_room(&self) -> bool {
        let deque = self.deque;
        // ORDERING: Relaxed: the slots themselves say whether they were read (S2).
        let top = top(deque.shared.load(Ordering::Relaxed));
        let mut clean = deque.own.clean.get();
        while clean != top {
            // ORDERING: Acquire, pairs with Release in steal (S2): the thief has read the slot.
            if !deque.slots[clean % N].load(Ordering::Acquire).is_null() {
                break;
            }
            clean = next(clean);
        }
        deque.own.clean.set(clean);
        let limit = clean.wrapping_add(N) & MASK;
        deque.own.limit.set(limit);
        limit != deque.own.bottom.get()
    }

    /// Takes the newest item back.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let bottom = self.deque.own.bottom.get();
        let newest = previous(bottom);
        if !self.pop_private(newest) && !self.reclaim(newest) {
            return None;
        }
        // ORDERING: Relaxed: the owner wrote the slot itself.
        let word = self.deque.slots[newest % N].load(Ordering::Relaxed);
        // SAFETY: the item at `newest` was pushed, and taken off just now.
        Some(unsafe { T::from_word(word) })
    }

    /// Takes the item at `index` off if it is the newest one and private. The caller knows what it is.
    #[inline(always)]
    pub(crate) fn pop_private(&self, index: usize) -> bool {
        let deque = self.deque;
        let bottom = next(index);
        // ORDERING: Relaxed: only the owner writes this half.
        let split = split(deque.shared.load(Ordering::Relaxed));
        let private = bottom == deque.own.bottom.get() && bottom != split;
        if private {
            deque.own.bottom.set(index);
        }
        private
    }

    /// Takes the item at `index` off if it is the newest one, private, and `word`.
    #[inline(always)]
    pub(crate) fn pop_word(&self, index: usize, word: *mut ()) -> bool {
        // ORDERING: Relaxed: the owner wrote the slot itself, unless a thief has won it: then it is not private.
        let same = self.deque.slots[index % N].load(Ordering::Relaxed) == word;
        same && self.pop_private(index)
    }

    /// Whether there are items at `index` or above, thieves aside.
    #[inline]
    pub(crate) fn reaches(&self, index: usize) -> bool {
        let above = self.bottom().wrapping_sub(index) & MASK;
        above != 0 && above <= N
    }

    /// Takes the newest item off, which is at `newest` and public, unless thieves have taken all.
    #[inline]
    pub(crate) fn reclaim(&self, newest: usize) -> bool {
        let deque = self.deque;
        // ORDERING: Relaxed: a guess, which the compare-and-swap checks.
        let mut seen = deque.shared.load(Ordering::Relaxed);
        loop {
            if top(seen) == split(seen) {
                return false;
            }
            let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
            let kept = pack(top(seen), newest);
            // ORDERING: Relaxed both ways: it publishes nothing, continues the releases before it (S1), and reads
            // nothing of a thief's.
            match deque.shared.compare_exchange_weak(seen, kept, yes, no) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        deque.own.bottom.set(newest);
        true
    }

    /// How many items there are at most: thieves may be taking some.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: a hint.
        let seen = self.deque.shared.load(Ordering::Relaxed);
        self.deque.own.bottom.get().wrapping_sub(top(seen)) & MASK
    }

    /// Whether there is nothing left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: NonNullWord, const N: usize> Drop for Owner<'_, T, N> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in SplitDeque::owner (S5): the next owner sees what this one did.
        self.deque.owned.store(false, Ordering::Release);
    }
}

impl<T: NonNullWord, const N: usize> fmt::Debug for Owner<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).finish()
    }
}
