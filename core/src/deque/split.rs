//! The split deque: a private part that costs its owner no fence, and a public part for thieves.
//!
//! # Algorithm
//! After van Dijk and van de Pol 2014 (the split deque of Lace). Items are at `top..bottom`; thieves may take
//! those in `top..split`. What differs:
//! - `top` and `split` are the halves of one word, which thieves and the owner change by
//!   compare-and-swap: its modification order settles every race, so there is no fence at all.
//! - Whoever takes the last public item, thief or owner, lowers `limit`: the owner's next push, which
//!   asks for room anyhow, then publishes. So the owner need not look for the state of the public part.
//! - A thief reads the slot *after* it has won: the word may come back to an old value, since `split` goes down
//!   too. So that the owner does not refill the slot before it is read, the thief leaves null there.
//!
//! # Words
//! `shared`: thieves move `top` up by one; the owner moves `split`. `limit`: where a push has to stop and
//! look; raised by the owner, lowered to 0 by whoever takes the last public item, however late. `bottom`, `split`, `clean`: the owner's
//! own. Slots: written by the owner; a thief writes null into the slot that it has won and read.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | S1 | `offer` changes `shared` | `steal` changes `shared` | the slots below `split`, the items behind them | `split_payload` |
//! | S2 | `steal` stores null | `room` loads the slot | the thief has read the slot that is about to be reused | `split_reuse` |
//! | S3 | `look` changes `shared` | `offer` changes `shared` | that the one who looked is about to sleep | `sleep_*` in `verify/tests/task.rs` |
//! | S4 | `offer` changes `shared` | `look` changes `shared` | what was pushed before the look | as S3 |
//! | S5 | `Owner::drop` clears `owned` | `SplitDeque::owner` sets it | what the last owner did | `split_handover` |
//! | S6 | `steal` lowers `limit` | `push_slowly` raises it | that the public part is empty; else the lowered limit stays | `split_publishes` |
//!
//! # Proved
//! By loom (`verify/tests/deque.rs`): each item comes out once, whole, over wrap-around of the ring and of
//! the indices, reuse of slots, and a new owner; an owner that goes on pushing publishes.
//!
//! # Not proved
//! A thief that sleeps between its look and its compare-and-swap while `shared` comes back to the same value
//! takes the item that is there then; that is no harm.

use super::{Full, OwnerEnd, Steal, ThiefEnd, Word, WorkDeque};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Ordering};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

/// An index: half a machine word. Indices wrap.
#[cfg(target_pointer_width = "64")]
pub(crate) type Index = u32;
#[cfg(target_pointer_width = "32")]
pub(crate) type Index = u16;

/// By how much one index is ahead of another.
#[cfg(target_pointer_width = "64")]
type Ahead = i32;
#[cfg(target_pointer_width = "32")]
type Ahead = i16;

/// A limit that is low for every index, so that it may come at any time: an index could look high again
/// once the owner has pushed half of all indices while the thief slept.
const LOW: usize = 0;

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
    public: CachePadded<Public>,
    own: CachePadded<Own>,
    owned: AtomicBool,
    slots: [AtomicPtr<()>; N],
    items: PhantomData<fn(T) -> T>,
}

/// The thieves' line. The limit is here and not in the owner's, so that a thief dirties one line only.
struct Public {
    shared: AtomicUsize,
    limit: AtomicUsize,
}

/// The owner's line.
struct Own {
    bottom: Cell<Index>,
    /// As in `shared`.
    split: Cell<Index>,
    /// Below it, every slot that was won by a thief has been read.
    clean: Cell<Index>,
}

// SAFETY: the cells are touched through `Owner` only, of which there is one at a time, on one thread; what it did
// is handed to the next one by `owned` (S5). All else is atomic, and words are Send.
unsafe impl<T: NonNullWord, const N: usize> Sync for SplitDeque<T, N> {}

#[inline(always)]
fn top(shared: usize) -> Index {
    shared as Index
}

#[inline(always)]
fn split(shared: usize) -> Index {
    (shared >> Index::BITS) as Index
}

#[inline(always)]
fn pack(top: Index, split: Index) -> usize {
    (split as usize) << Index::BITS | top as usize
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
        const { assert!(N.is_power_of_two() && N <= Ahead::MAX as usize) };
        let start = start as Index;
        Self {
            public: CachePadded::new(Public {
                shared: AtomicUsize::new(pack(start, start)),
                limit: AtomicUsize::new(LOW),
            }),
            own: CachePadded::new(Own {
                bottom: Cell::new(start),
                split: Cell::new(start),
                clean: Cell::new(start),
            }),
            owned: AtomicBool::new(false),
            slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            items: PhantomData,
        }
    }

    #[inline(always)]
    fn end(&self) -> End<'_, T, N> {
        End { deque: self }
    }

    #[inline(always)]
    fn slot(&self, index: Index) -> &AtomicPtr<()> {
        &self.slots[index as usize % N]
    }

    /// Becomes the owner, if there is none. The role is free again when the [`Owner`] is dropped.
    pub fn owner(&self) -> Option<Owner<'_, T, N>> {
        // ORDERING: Acquire, pairs with Release in Owner::drop (S5): the last owner's indices are seen.
        // ORDERING: failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        let won = self.owned.compare_exchange(false, true, yes, no);
        won.is_ok().then(|| Owner {
            end: self.end(),
            one_thread: PhantomData,
        })
    }

    /// Tries once to take the oldest public item. Never waits.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // ORDERING: Relaxed: only a guess, which the compare-and-swap checks.
        let seen = self.public.shared.load(Ordering::Relaxed);
        let oldest = top(seen);
        if oldest == split(seen) {
            return Steal::Empty;
        }
        let next = oldest.wrapping_add(1);
        let taken = pack(next, split(seen));
        // ORDERING: success Acquire, pairs with Release in offer (S1): the slot, and its item, are seen.
        // ORDERING: failure Relaxed: nothing is touched.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        let shared = &self.public.shared;
        if shared.compare_exchange(seen, taken, yes, no).is_err() {
            return Steal::Busy;
        }
        let slot = self.slot(oldest);
        // ORDERING: Relaxed: the Acquire above came before.
        let word = slot.load(Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in room (S2): the slot was read before it is refilled.
        slot.store(ptr::null_mut(), Ordering::Release);
        if next == split(seen) {
            // ORDERING: Release, pairs with Acquire in push_slowly (S6): whoever raises it sees the public part empty.
            self.public.limit.store(LOW, Ordering::Release);
        }
        // SAFETY: the index was public and moving top over it made the item ours; the slot is not refilled
        // before it holds null.
        Steal::Taken(unsafe { T::from_word(word) })
    }

    /// Whether there is something to steal, settled against every push: one that this look does not see is
    /// made by an owner that sees what the caller did before.
    #[inline]
    pub fn look(&self) -> bool {
        // ORDERING: AcqRel, pairs with AcqRel in offer (S3, S4): whoever of the two comes
        // second in the order of this word sees what the other did before.
        let seen = self.public.shared.fetch_add(0, Ordering::AcqRel);
        top(seen) != split(seen)
    }

    /// How many items seem to be there for thieves.
    #[inline]
    pub fn public(&self) -> usize {
        // ORDERING: Relaxed: a hint.
        let seen = self.public.shared.load(Ordering::Relaxed);
        split(seen).wrapping_sub(top(seen)) as usize
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
        let mut index = top(self.public.shared.load(Ordering::Relaxed));
        while index != self.own.bottom.get() {
            // ORDERING: Relaxed: as above.
            let word = self.slot(index).load(Ordering::Relaxed);
            // SAFETY: items in top..bottom were pushed and not taken.
            drop(unsafe { T::from_word(word) });
            index = index.wrapping_add(1);
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

/// The one who pushes and pops, at the end of the newest items.
///
/// Can move to another thread, cannot be shared.
pub struct Owner<'a, T: NonNullWord, const N: usize> {
    end: End<'a, T, N>,
    one_thread: PhantomData<Cell<()>>,
}

impl<T: NonNullWord, const N: usize> Owner<'_, T, N> {
    /// Adds the newest item, or gives it back if there are `N` already. It stays private unless thieves
    /// have nothing else.
    #[inline]
    pub fn push(&self, item: T) -> Result<Pushed, Full<T>> {
        self.end.push(item)
    }

    /// Adds the newest item and offers it and all older ones to thieves, or gives it back if there are `N`
    /// already.
    #[inline]
    pub fn push_public(&self, item: T) -> Result<(), Full<T>> {
        self.end.push_public(item)
    }

    /// Takes the newest item back.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.end.pop()
    }

    /// How many items there are at most: thieves may be taking some.
    #[inline]
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// Whether there is nothing left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The right to steal the oldest public item.
pub struct Thief<'a, T: NonNullWord, const N: usize>(&'a SplitDeque<T, N>);

impl<T: NonNullWord, const N: usize> Clone for Thief<'_, T, N> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T: NonNullWord, const N: usize> WorkDeque<T> for SplitDeque<T, N> {
    type Owner<'a>
        = Owner<'a, T, N>
    where
        Self: 'a;
    type Thief<'a>
        = Thief<'a, T, N>
    where
        Self: 'a;

    fn owner(&self) -> Option<Owner<'_, T, N>> {
        self.owner()
    }

    fn thief(&self) -> Thief<'_, T, N> {
        Thief(self)
    }

    fn len(&self) -> usize {
        self.public()
    }
}

impl<T: NonNullWord, const N: usize> OwnerEnd<T> for Owner<'_, T, N> {
    fn push(&self, item: T) -> Result<(), Full<T>> {
        self.end.push(item).map(|_| ())
    }

    fn pop(&self) -> Option<T> {
        self.end.pop()
    }

    fn len(&self) -> usize {
        self.end.len()
    }
}

impl<T: NonNullWord, const N: usize> ThiefEnd<T> for Thief<'_, T, N> {
    fn steal(&self) -> Steal<T> {
        self.0.steal()
    }

    fn len(&self) -> usize {
        self.0.public()
    }
}

/// The owner's end, for whoever knows that it is the owner.
pub(crate) struct End<'a, T: NonNullWord, const N: usize> {
    deque: &'a SplitDeque<T, N>,
}

impl<T: NonNullWord, const N: usize> Clone for End<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: NonNullWord, const N: usize> Copy for End<'_, T, N> {}

/// What a push did for thieves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pushed {
    /// Thieves find what they found before.
    Private,
    /// There was nothing for thieves, and now there is.
    Published,
}

impl<'a, T: NonNullWord, const N: usize> End<'a, T, N> {
    /// The owner's end, without a claim.
    ///
    /// # Safety
    /// There is no other owner at work: all that claim to be are on this thread, and what they did is visible.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) unsafe fn of(deque: &'a SplitDeque<T, N>) -> Self {
        deque.end()
    }

    /// Where the next item goes.
    #[inline(always)]
    pub(crate) fn bottom(self) -> Index {
        self.deque.own.bottom.get()
    }

    /// Adds the newest item, or gives it back if there are `N` already. It stays private unless thieves
    /// have nothing else.
    #[inline(always)]
    pub fn push(self, item: T) -> Result<Pushed, Full<T>> {
        if self.must_look() {
            return self.push_slowly(item);
        }
        self.put(item);
        Ok(Pushed::Private)
    }

    /// Adds the newest item and offers it and all older ones to thieves, or gives it back if there are `N`
    /// already.
    #[inline]
    pub fn push_public(self, item: T) -> Result<(), Full<T>> {
        if self.must_look() && !self.make_room() {
            return Err(Full(item));
        }
        self.put(item);
        self.offer(self.bottom());
        Ok(())
    }

    /// Whether there may be no room, or nothing public.
    #[inline(always)]
    fn must_look(self) -> bool {
        // ORDERING: Relaxed: a lowered limit that is seen late is seen by a later push.
        // Where indices wrap, the limit looks low for a while, and never high: then each push looks.
        self.deque.public.limit.load(Ordering::Relaxed) <= self.bottom() as usize
    }

    #[inline(always)]
    fn put(self, item: T) {
        let bottom = self.bottom();
        // ORDERING: Relaxed: published by the change of `shared` (S1).
        self.deque
            .slot(bottom)
            .store(item.into_word(), Ordering::Relaxed);
        self.deque.own.bottom.set(bottom.wrapping_add(1));
    }

    #[cold]
    #[inline(never)]
    fn push_slowly(self, item: T) -> Result<Pushed, Full<T>> {
        let Some(limit) = self.room() else {
            return Err(Full(item));
        };
        self.put(item);
        let (public, own) = (&self.deque.public, &self.deque.own);
        if self.has_public() {
            // ORDERING: Acquire, pairs with Release in steal (S6): if the last public item has gone by now, that is seen;
            // if it goes later, the limit is low again.
            public.limit.swap(limit, Ordering::Acquire);
            if self.has_public() {
                return Ok(Pushed::Private);
            }
        } else {
            // ORDERING: Relaxed: the offer below comes before any lowering on its account.
            public.limit.store(limit, Ordering::Relaxed);
        }
        let split = own.split.get();
        let private = self.bottom().wrapping_sub(split);
        self.offer(split.wrapping_add(private.div_ceil(2)));
        Ok(Pushed::Published)
    }

    fn has_public(self) -> bool {
        // ORDERING: Relaxed: a thief's change that is seen late is told by the limit (S6).
        top(self.deque.public.shared.load(Ordering::Relaxed)) != self.deque.own.split.get()
    }

    /// How far there is room, as far as thieves have done with the slots; none if there is none.
    fn room(self) -> Option<usize> {
        let deque = self.deque;
        // ORDERING: Relaxed: the slots themselves say whether they were read (S2).
        let top = top(deque.public.shared.load(Ordering::Relaxed));
        let mut clean = deque.own.clean.get();
        while clean != top {
            // ORDERING: Acquire, pairs with Release in steal (S2): the thief has read the slot.
            if !deque.slot(clean).load(Ordering::Acquire).is_null() {
                break;
            }
            clean = clean.wrapping_add(1);
        }
        deque.own.clean.set(clean);
        let limit = clean.wrapping_add(N as Index);
        (limit != self.bottom()).then_some(limit as usize)
    }

    #[cold]
    #[inline(never)]
    fn make_room(self) -> bool {
        let limit = self.room();
        if let Some(limit) = limit {
            // ORDERING: Relaxed: an offer follows, before any lowering on its account.
            self.deque.public.limit.store(limit, Ordering::Relaxed);
        }
        limit.is_some()
    }

    /// Moves `split` up to `to`.
    #[inline(always)]
    fn offer(self, to: Index) {
        let own = &self.deque.own;
        let more = pack(0, to.wrapping_sub(own.split.get()));
        own.split.set(to);
        // ORDERING: AcqRel, pairs with Acquire in steal (S1): the slots are written before they are offered;
        // and with AcqRel in look (S3, S4).
        self.deque.public.shared.fetch_add(more, Ordering::AcqRel);
    }

    /// Takes the newest item back.
    #[inline]
    pub fn pop(self) -> Option<T> {
        let own = &self.deque.own;
        let newest = self.bottom().wrapping_sub(1);
        if own.split.get() != self.bottom() {
            own.bottom.set(newest);
        } else if !self.reclaim() {
            return None;
        }
        // ORDERING: Relaxed: the owner wrote the slot itself.
        let word = self.deque.slot(newest).load(Ordering::Relaxed);
        // SAFETY: the item at `newest` was pushed, and taken off just now.
        Some(unsafe { T::from_word(word) })
    }

    /// Takes the item at `index` off, which the caller has pushed, unless it is public: then false. All that was pushed
    /// after it is gone again, or was public.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn retract(self, index: Index) -> bool {
        let own = &self.deque.own;
        let private = own.split.get().wrapping_sub(index) as Ahead <= 0;
        if private {
            own.bottom.set(index);
        }
        private
    }

    /// Whether there are items at `index` or above, thieves aside.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn reaches(self, index: Index) -> bool {
        self.bottom().wrapping_sub(index) as Ahead > 0
    }

    /// Takes the newest item off, which is public, unless thieves have taken all.
    #[inline]
    fn reclaim(self) -> bool {
        let deque = self.deque;
        let shared = &deque.public.shared;
        let newest = self.bottom().wrapping_sub(1);
        // ORDERING: Relaxed: a guess, which the compare-and-swap checks.
        let mut seen = shared.load(Ordering::Relaxed);
        loop {
            if top(seen) == split(seen) {
                return false;
            }
            let kept = pack(top(seen), newest);
            // ORDERING: Relaxed both ways: it publishes nothing, continues the releases before it (S1), and reads
            // nothing of a thief's.
            let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
            match shared.compare_exchange_weak(seen, kept, yes, no) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        deque.own.bottom.set(newest);
        deque.own.split.set(newest);
        if top(seen) == newest {
            // ORDERING: Relaxed: the owner's own push will see it.
            deque.public.limit.store(LOW, Ordering::Relaxed);
        }
        true
    }

    /// How many items there are at most: thieves may be taking some.
    #[inline]
    fn len(self) -> usize {
        // ORDERING: Relaxed: a hint.
        let seen = self.deque.public.shared.load(Ordering::Relaxed);
        self.bottom().wrapping_sub(top(seen)) as usize
    }
}

impl<T: NonNullWord, const N: usize> Drop for Owner<'_, T, N> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in SplitDeque::owner (S5): the next owner sees what this one did.
        self.end.deque.owned.store(false, Ordering::Release);
    }
}

impl<T: NonNullWord, const N: usize> fmt::Debug for Owner<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).finish()
    }
}
