//! The split deque: a private part that costs its owner no fence, and a public part for thieves.
//!
//! # Algorithm
//! After van Dijk and van de Pol 2014 (the split deque of Lace). Items are at `top..bottom`;
//! thieves may take those in `top..split`. What differs:
//! - `top` and `split` are the halves of one word, which thieves and the owner change by
//!   compare-and-swap: its modification order linearizes steals and publications, so stealing
//!   needs no fence at all.
//! - Items are published on demand. A thief that finds nothing, or takes the last public item,
//!   lowers `limit`, which the owner reads in each push: the next push publishes. Without thieves,
//!   an owner never publishes.
//! - An owner may compute for a long time without a push, so a thief can also publish for it
//!   ([`SplitDeque::request`]): it raises `split` beyond every item and marks the word *requested*,
//!   so that nothing can be stolen yet and the owner's next pop sees a raised `split`, which it
//!   must settle. After a heavy fence, either the owner has observed the request or its `bottom` is
//!   up to date, so the thief itself lowers `split` to `bottom` and ends the request: the
//!   asymmetric Dekker synchronization of Dice, Huang and Yang (2001). Lace requests by a flag and
//!   depends on the owner's answer.
//! - A thief reads the slot *after* it has won: the word may return to an old value (ABA), since
//!   `split` is also lowered. So that the owner does not refill the slot before it is read, the
//!   thief stores null there. Where thieves empty a full deque, the owner waits for one that has
//!   yet to read: the only wait (model `split_full_emptied`).
//!
//! # Words
//! `shared`: thieves move `top` up by one item, request, and settle; the owner moves `split`.
//! `limit`: the index at which a push takes the slow path; raised by the owner, lowered to `LOW` by
//! thieves that leave or find nothing, possibly with a delay. All changes are exchanges, so that
//! the owner's acquires every lowering before it. `requesting`: held by the thief whose request is
//! outstanding. `bottom`: written by the owner, read by thieves after a heavy fence. `split`,
//! `clean`: accessed by the owner only. Slots: written by the owner; a thief writes null into the
//! slot that it has won and read.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | S1 | `publish`, `offer` and `settle` change `shared` | `steal` changes `shared` | the slots below `split`, the items in them | `split_payload`, `split_request_payload` |
//! | S2 | `steal` stores null | `room` loads the slot | the thief has read the slot that is about to be reused | `split_reuse` |
//! | S3 | `look` and `request` change `shared` | `publish` or `offer` changes it | that the thief is about to park | `split_request_seen`; `sleep_*` in `verify/tests/task.rs`; `verify/litmus/split.toml` |
//! | S4 | `publish` or `offer` changes `shared` | `look` changes it | what was pushed before | as S3 |
//! | S5 | `Owner::drop` clears `owned` | `SplitDeque::owner` sets it | what the previous owner did | `split_handover` |
//! | S6 | `request` and `starve` lower `limit` | `admit` raises it | the request, and that the public part was empty | `split_publishes`, `split_request_push` |
//! | S7 | `put` raises `bottom` | `settle` reads it | the slots below it | `split_request_payload` |
//! | S8 | light fence: `bottom` written before `shared` and `limit` are read | heavy fence: `shared` and `limit` written before `bottom` is read | at least one side observes the other | `split_request_*` |
//! | S9 | the end of a request clears `requesting` | `request` sets it | that the word of the previous request can no longer be settled | `split_request_twice` |
//!
//! `look` changes nothing, so LLVM compiles it for x86-64 to a locked fence and a load. Each
//! publication is a locked instruction there: at least one side observes the other (store
//! buffering). `cargo ci cost` checks that no processor gets a plain load.
//!
//! # Proved
//! By loom (`verify/tests/split.rs`): each item is taken once, intact, over wrap-around of the ring
//! and of the indices, reuse of slots, requests, and a new owner. An item is public after the
//! owner's first push, pop or [`publish`](Owner::publish) that follows a thief's request, or after
//! the thief's own `settle`.
//!
//! By the memory models of C++20, Armv8, POWER and RISC-V, for two threads: S6 to S9, with the
//! heavy fence as a message to the owner (`verify/litmus/split.toml`). Loom has no heavy fence, and
//! its models fence both sides; it orders exchanges totally, so that it cannot judge S6; it
//! performs no access early, so that it cannot judge S9.
//!
//! # Not proved
//! A thief that is delayed between its first load and its compare-and-swap while `shared` returns
//! to the same value takes the item that is at that index then, which is harmless.

mod owner;
mod request;

#[cfg(feature = "alloc")]
pub(crate) use owner::End;
pub use owner::{Owner, Pushed};
pub use request::{Refused, Request};

use super::{Steal, ThiefEnd, Word, WorkDeque};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Ordering};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

/// An index: half a machine word. Indices are even, and wrap.
#[cfg(target_pointer_width = "64")]
pub(crate) type Index = u32;
#[cfg(target_pointer_width = "32")]
pub(crate) type Index = u16;

/// The distance between two indices.
#[cfg(target_pointer_width = "64")]
type Ahead = i32;
#[cfg(target_pointer_width = "32")]
type Ahead = i16;

/// The step from one item's index to the next: the lowest bit of an index is free for
/// [`Shared::REQUESTED`].
const STEP: Index = 2;

/// A limit that is low for every index, so that a thief may store it with any delay: an index could
/// look high again once the owner has pushed half of all indices since.
const LOW: usize = 0;

/// Returns the signed distance from one index to another.
#[inline(always)]
fn ahead(of: Index, by: Index) -> Ahead {
    by.wrapping_sub(of) as Ahead
}

/// A [`Word`] that is never null.
///
/// # Safety
/// The implementor must ensure that [`into_word`](Word::into_word) never returns null.
pub unsafe trait NonNullWord: Word {}

// SAFETY: references are not null.
unsafe impl<T: Sync> NonNullWord for &T {}
// SAFETY: boxes are not null.
#[cfg(feature = "alloc")]
unsafe impl<T: Send> NonNullWord for alloc::boxed::Box<T> {}
// SAFETY: the number is not zero, so neither is the word.
unsafe impl NonNullWord for core::num::NonZeroUsize {}

/// A work-stealing deque of at most `N - 1` items, the newest of which are private to the owner.
///
/// [`Owner::push`] keeps an item private until a thief has found nothing to steal;
/// [`Owner::push_public`] offers it immediately. `N` is a power of two, at least 2 and below 2^14
/// on 32-bit machines. One slot stays free, so that a push may check its limit after the store.
/// Dropping the deque drops the remaining items.
pub struct SplitDeque<T: NonNullWord, const N: usize> {
    public: CachePadded<Public>,
    own: CachePadded<Own>,
    owned: AtomicBool,
    slots: [AtomicPtr<()>; N],
    items: PhantomData<fn(T) -> T>,
}

/// The thieves' line. It contains the limit, so that a thief dirties one line only.
struct Public {
    shared: AtomicUsize,
    limit: AtomicUsize,
    requesting: AtomicBool,
}

/// The owner's line.
struct Own {
    /// An [`Index`].
    bottom: AtomicUsize,
    /// As in `shared`, unless a thief has settled a request since: then `shared` is ahead.
    split: Cell<Index>,
    /// Below it, every slot that was won by a thief has been read.
    clean: Cell<Index>,
}

// SAFETY: only `Owner` accesses the cells, of which there is one at a time, on one thread; `owned`
// passes what it did to the next one (S5). All else is atomic, and words are Send.
unsafe impl<T: NonNullWord, const N: usize> Sync for SplitDeque<T, N> {}

/// A value of `shared`: top, split, and whether a request is outstanding.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shared(usize);

impl Shared {
    const REQUESTED: usize = 1;

    #[inline(always)]
    fn new(top: Index, split: Index) -> Self {
        Self((split as usize) << Index::BITS | top as usize)
    }

    /// Returns a request: `split` is `items` beyond every item, up to where the owner must settle
    /// before it pops.
    fn request(self, items: usize) -> Self {
        let top = self.top();
        let beyond = top.wrapping_add(items as Index * STEP);
        Self(Self::new(top, beyond).0 | Self::REQUESTED)
    }

    #[inline(always)]
    fn top(self) -> Index {
        self.0 as Index & !(Self::REQUESTED as Index)
    }

    #[inline(always)]
    fn split(self) -> Index {
        (self.0 >> Index::BITS) as Index
    }

    #[inline(always)]
    fn is_requested(self) -> bool {
        self.0 & Self::REQUESTED != 0
    }

    /// Returns the number of public items.
    #[inline(always)]
    fn public(self) -> usize {
        match self.is_requested() {
            true => 0,
            false => (self.split().wrapping_sub(self.top()) / STEP) as usize,
        }
    }
}

impl<T: NonNullWord, const N: usize> SplitDeque<T, N> {
    /// Creates an empty deque.
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// Creates an empty deque whose first item gets the index `2 * start`: tests begin where
    /// indices wrap.
    #[doc(hidden)]
    pub fn starting_at(start: usize) -> Self {
        // A power of two divides the number of indices, so that slots are continuous where they
        // wrap.
        const { assert!(N.is_power_of_two() && N > 1 && N <= Ahead::MAX as usize / STEP as usize) };
        let start = (start as Index).wrapping_mul(STEP);
        let limit = start.wrapping_add((N - 1) as Index * STEP);
        Self {
            public: CachePadded::new(Public {
                shared: AtomicUsize::new(Shared::new(start, start).0),
                limit: AtomicUsize::new(limit as usize),
                requesting: AtomicBool::new(false),
            }),
            own: CachePadded::new(Own {
                bottom: AtomicUsize::new(start as usize),
                split: Cell::new(start),
                clean: Cell::new(start),
            }),
            owned: AtomicBool::new(false),
            slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            items: PhantomData,
        }
    }

    #[inline(always)]
    fn slot(&self, index: Index) -> &AtomicPtr<()> {
        &self.slots[(index / STEP) as usize % N]
    }

    #[inline(always)]
    #[cfg_attr(tautline_loom, track_caller)]
    fn shared(&self, order: Ordering) -> Shared {
        Shared(self.public.shared.load(order))
    }

    /// Claims ownership; returns `None` if the deque has an owner. Dropping the [`Owner`] releases
    /// it.
    ///
    /// ```
    /// # use core::num::NonZeroUsize;
    /// # use tautline_core::deque::SplitDeque;
    /// let deque = SplitDeque::<NonZeroUsize, 8>::new();
    /// let owner = deque.owner().unwrap();
    /// assert!(deque.owner().is_none()); // one at a time
    /// ```
    pub fn owner(&self) -> Option<Owner<'_, T, N>> {
        // ORDERING: Acquire, pairs with Release in Owner::drop (S5): the last owner's indices are
        // visible.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let won = self.owned.compare_exchange(false, true, success, failure);
        won.is_ok().then(|| Owner::new(self))
    }

    /// Tries once to take the oldest public item. Does not wait.
    ///
    /// ```
    /// # use core::num::NonZeroUsize;
    /// # use tautline_core::deque::{SplitDeque, Steal};
    /// let deque = SplitDeque::<NonZeroUsize, 8>::new();
    /// let owner = deque.owner().unwrap();
    /// owner.push_public(NonZeroUsize::MIN).unwrap();
    /// assert_eq!(deque.steal(), Steal::Taken(NonZeroUsize::MIN));
    /// ```
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        // ORDERING: Relaxed: only a guess, which the compare-and-swap checks.
        let seen = self.shared(Ordering::Relaxed);
        if seen.public() == 0 {
            return Steal::Empty;
        }
        let oldest = seen.top();
        let taken = Shared::new(oldest.wrapping_add(STEP), seen.split());
        // ORDERING: success Acquire, pairs with Release in publish, offer and settle (S1): the
        // slot, and its item, are visible.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let shared = &self.public.shared;
        if shared
            .compare_exchange(seen.0, taken.0, success, failure)
            .is_err()
        {
            return Steal::Busy;
        }
        let slot = self.slot(oldest);
        // ORDERING: Relaxed: the Acquire above precedes.
        let word = slot.load(Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in room (S2): the slot was read before it is
        // refilled.
        slot.store(ptr::null_mut(), Ordering::Release);
        if seen.public() == 1 {
            // Other thieves may follow: the owner's next push publishes for them.
            self.starve();
        }
        // SAFETY: the index was public, and moving top past it transferred the item to this thread;
        // the slot is not refilled before it is null.
        Steal::Taken(unsafe { T::from_word(word) })
    }

    /// Makes the owner's next push that observes this publish. Called by a thief that found
    /// nothing.
    #[inline]
    pub fn starve(&self) {
        let limit = &self.public.limit;
        // ORDERING: Relaxed: a hint; spares the owner's copy of the line. (Loom explores fewer
        // schedules after a load.)
        if cfg!(tautline_loom) || limit.load(Ordering::Relaxed) != LOW {
            // ORDERING: Release, pairs with Acquire in admit (S6); an exchange, so that it
            // continues another thief's release.
            limit.swap(LOW, Ordering::Release);
        }
    }

    /// Whether there is something to steal, settled against every publication: a publication that
    /// this does not observe is made by an owner that observes what the caller did before.
    #[inline]
    pub fn look(&self) -> bool {
        // ORDERING: AcqRel, pairs with AcqRel in publish and offer (S3, S4): the second of the two
        // in the order of this word observes what the other thread did before. On x86-64 LLVM emits
        // a locked fence and a load instead, which suffice because each offer is a locked update.
        let seen = self.public.shared.fetch_add(0, Ordering::AcqRel);
        Shared(seen).public() > 0
    }

    /// Returns the number of public items; a hint.
    ///
    /// ```
    /// # use core::num::NonZeroUsize;
    /// # use tautline_core::deque::SplitDeque;
    /// let deque = SplitDeque::<NonZeroUsize, 8>::new();
    /// let owner = deque.owner().unwrap();
    /// owner.push_public(NonZeroUsize::MIN).unwrap();
    /// assert_eq!(deque.public(), 1);
    /// ```
    #[inline]
    pub fn public(&self) -> usize {
        // ORDERING: Relaxed: a hint.
        self.shared(Ordering::Relaxed).public()
    }

    /// Whether there are private items; a hint. Reads a line that the owner writes often.
    #[inline]
    pub fn has_private(&self) -> bool {
        self.private() > 0
    }

    /// Returns the number of private items; a hint. Reads the same line.
    #[inline]
    pub fn private(&self) -> usize {
        // ORDERING: Relaxed: a hint.
        let seen = self.shared(Ordering::Relaxed);
        let public = if seen.is_requested() {
            seen.top()
        } else {
            seen.split()
        };
        // ORDERING: Relaxed: a hint.
        ahead(public, self.own.bottom.load(Ordering::Relaxed) as Index).max(0) as usize
    }
}

impl<T: NonNullWord, const N: usize> Default for SplitDeque<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: NonNullWord, const N: usize> Drop for SplitDeque<T, N> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the deque.
        let mut index = self.shared(Ordering::Relaxed).top();
        // ORDERING: Relaxed: as for shared.
        let bottom = self.own.bottom.load(Ordering::Relaxed) as Index;
        while index != bottom {
            // ORDERING: Relaxed: as for shared.
            let word = self.slot(index).load(Ordering::Relaxed);
            // SAFETY: items in top..bottom were pushed and not taken.
            drop(unsafe { T::from_word(word) });
            index = index.wrapping_add(STEP);
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

/// A thief's end of a deque, with the oldest public items.
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

impl<T: NonNullWord, const N: usize> ThiefEnd<T> for Thief<'_, T, N> {
    fn steal(&self) -> Steal<T> {
        let stolen = self.0.steal();
        if matches!(stolen, Steal::Empty) {
            self.0.starve();
        }
        stolen
    }

    fn len(&self) -> usize {
        self.0.public()
    }
}
