//! The owner's end: pushes and pops, private unless a thief has requested items.

use super::{Index, LOW, NonNullWord, STEP, Shared, SplitDeque, ahead};
use crate::deque::{Full, OwnerEnd};
use crate::port::{Fence, Relax, Spin};
use crate::sync::{Ordering, light_fence};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

/// The owner's end of a deque, with the newest items.
///
/// Can be sent to another thread, but not shared.
pub struct Owner<'a, T: NonNullWord, const N: usize> {
    end: End<'a, T, N>,
    one_thread: PhantomData<Cell<()>>,
}

impl<'a, T: NonNullWord, const N: usize> Owner<'a, T, N> {
    pub(super) fn new(deque: &'a SplitDeque<T, N>) -> Self {
        Self {
            end: End { deque },
            one_thread: PhantomData,
        }
    }

    /// Adds the newest item, or returns it if there are `N - 1` already. It stays private unless a
    /// thief has found nothing.
    #[inline]
    pub fn push(&self, item: T) -> Result<Pushed, Full<T>> {
        self.end.push(item, &Light)
    }

    /// Adds the newest item and publishes it and all older ones, or returns it if there are `N - 1`
    /// already.
    #[inline]
    pub fn push_public(&self, item: T) -> Result<(), Full<T>> {
        self.end.push_public(item)
    }

    /// Takes the newest item. Publishes the others if a thief has requested them.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        self.end.pop(&Light, || ())
    }

    /// As [`push`](Self::push), with the light half of the fence of `port`: for models that show
    /// which cases require it.
    #[doc(hidden)]
    pub fn push_with(&self, item: T, port: &(impl Fence + Relax)) -> Result<Pushed, Full<T>> {
        self.end.push(item, port)
    }

    /// As [`pop`](Self::pop), with the light half of `fence`.
    #[doc(hidden)]
    pub fn pop_with(&self, fence: &impl Fence) -> Option<T> {
        self.end.pop(fence, || ())
    }

    /// Publishes all items.
    pub fn publish(&self) {
        _ = self.end.publish();
    }

    /// Returns the maximum number of items: thieves may be taking some.
    #[inline]
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// Whether there is no item left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: NonNullWord, const N: usize> OwnerEnd<T> for Owner<'_, T, N> {
    fn push(&self, item: T) -> Result<(), Full<T>> {
        self.end.push(item, &Light).map(|_| ())
    }

    fn pop(&self) -> Option<T> {
        self.end.pop(&Light, || ())
    }

    fn len(&self) -> usize {
        self.end.len()
    }
}

impl<T: NonNullWord, const N: usize> Drop for Owner<'_, T, N> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in SplitDeque::owner (split.S5): the next owner
        // observes what this one did.
        self.end.deque.owned.store(false, Ordering::Release);
    }
}

impl<T: NonNullWord, const N: usize> fmt::Debug for Owner<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("len", &self.len()).finish()
    }
}

/// The fence of an owner that is not a pool's worker.
struct Light;

// SAFETY: it has no heavy fence. The fence that a thief must execute instead is an obligation of
// `Request::settle`.
unsafe impl Fence for Light {
    #[inline(always)]
    fn light_fence(&self) {
        // ORDERING: SeqCst, as in the trait.
        light_fence();
    }

    fn heavy_fence(&self) -> bool {
        false
    }
}

impl Relax for Light {
    fn relax(&self, turn: u32) {
        Spin.relax(turn);
    }
}

/// The effect of a push on thieves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pushed {
    /// The public part is unchanged.
    Private,
    /// The public part was empty and has items now.
    Published,
}

/// The owner's end, for code whose thread is known to be the owner.
pub(crate) struct End<'a, T: NonNullWord, const N: usize> {
    deque: &'a SplitDeque<T, N>,
}

impl<T: NonNullWord, const N: usize> Clone for End<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: NonNullWord, const N: usize> Copy for End<'_, T, N> {}

impl<'a, T: NonNullWord, const N: usize> End<'a, T, N> {
    /// Creates the owner's end, without a claim.
    ///
    /// # Safety
    /// The caller must be the only active owner: all owners are on this thread, and what they did
    /// is visible.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) unsafe fn of(deque: &'a SplitDeque<T, N>) -> Self {
        Self { deque }
    }

    /// Returns the index of the next item.
    #[inline(always)]
    pub(crate) fn bottom(self) -> Index {
        // ORDERING: Relaxed: only the owner writes it.
        self.deque.own.bottom.load(Ordering::Relaxed) as Index
    }

    #[inline(always)]
    fn set_bottom(self, bottom: Index) {
        // ORDERING: Relaxed: publishes no item; fences order it where it is lowered (split.S8).
        self.deque
            .own
            .bottom
            .store(bottom as usize, Ordering::Relaxed);
    }

    /// Stores an item in a free slot.
    #[inline(always)]
    fn put(self, index: Index, item: T) {
        let deque = self.deque;
        // ORDERING: Relaxed: published by `bottom` (split.S7) or by the change of `shared`
        // (split.S1).
        deque.slot(index).store(item.into_word(), Ordering::Relaxed);
        let bottom = index.wrapping_add(STEP) as usize;
        // ORDERING: Release, pairs with Acquire in settle (split.S7): the slot is written before a
        // thief includes it.
        deque.own.bottom.store(bottom, Ordering::Release);
    }

    /// Removes the item that [`put`](Self::put) stored at `index`.
    ///
    /// # Safety
    /// The caller must have moved `bottom` or `split` so that the item is neither in the deque nor
    /// a thief's.
    #[inline(always)]
    unsafe fn take(self, index: Index) -> T {
        // ORDERING: Relaxed: the owner wrote the slot itself.
        let word = self.deque.slot(index).load(Ordering::Relaxed);
        // SAFETY: pushed, and not taken, as the caller ensures.
        unsafe { T::from_word(word) }
    }

    /// Adds the newest item, or returns it if there are `N - 1` already. It stays private unless a
    /// thief has found nothing.
    #[inline(always)]
    pub(crate) fn push(self, item: T, port: &(impl Fence + Relax)) -> Result<Pushed, Full<T>> {
        let index = self.bottom();
        if self.push_private(index, item, port) {
            return Ok(Pushed::Private);
        }
        match self.admit(index, port) {
            Some(pushed) => Ok(pushed),
            // SAFETY: `admit` has removed it from the deque.
            None => Err(Full(unsafe { self.take(index) })),
        }
    }

    /// Adds the newest item, at `bottom`, into the slot that is always free. Returns false if
    /// [`admit`](Self::admit) must be called before the next push.
    #[inline(always)]
    pub(crate) fn push_private(self, bottom: Index, item: T, fence: &impl Fence) -> bool {
        self.put(bottom, item);
        // ORDERING: between the write of `bottom` and the read of `limit` (split.S8): if a thief
        // lowers the limit, fences and does not observe the item, the lowered limit is observed
        // here.
        fence.light_fence();
        // ORDERING: Relaxed: a limit that was lowered without a fence is observed by a later push.
        // Where indices wrap, the limit is too low for a while, and never too high: then each push
        // takes the slow path.
        self.deque.public.limit.load(Ordering::Relaxed) as Index > bottom
    }

    /// Makes room for the next push, after a push at `index` that reached the limit, and publishes
    /// half of the private items if thieves find nothing. If there is no room, removes the item and
    /// returns `None`.
    #[inline]
    pub(crate) fn admit(self, index: Index, port: &(impl Fence + Relax)) -> Option<Pushed> {
        let limit = self.room();
        if limit as Index == index {
            if self.lower_private(index, port) || self.reclaim(index, || ()) {
                return None;
            }
            self.wait_for_room(port);
            return Some(Pushed::Private);
        }
        // ORDERING: Acquire, pairs with Release in request and starve (split.S6): if this raises a
        // limit that a request lowered, the request is observed below. A limit that is lowered
        // later stays low.
        self.deque.public.limit.swap(limit, Ordering::Acquire);
        Some(self.move_split(|seen| {
            let private = self.bottom().wrapping_sub(seen.top()) / STEP;
            let half = seen.top().wrapping_add(private.div_ceil(2) * STEP);
            (seen.public() == 0).then_some(half)
        }))
    }

    /// Publishes all items.
    #[cold]
    #[inline(never)]
    pub(crate) fn publish(self) -> Pushed {
        let bottom = self.bottom();
        self.move_split(|seen| {
            let shown = !seen.is_requested() && seen.split() == bottom;
            (!shown && seen.top() != bottom).then_some(bottom)
        })
    }

    /// Moves `split` to the result of `to`, and ends a request, unless that is `None`.
    fn move_split(self, to: impl Fn(Shared) -> Option<Index>) -> Pushed {
        let deque = self.deque;
        // ORDERING: Relaxed: a guess, which the compare-and-swap checks.
        let mut seen = deque.shared(Ordering::Relaxed);
        while let Some(split) = to(seen) {
            let moved = Shared::new(seen.top(), split);
            // ORDERING: success AcqRel, pairs with Acquire in steal (split.S1): the slots are
            // written before they are offered; and with AcqRel in look (split.S3, split.S4).
            // ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            let shared = &deque.public.shared;
            match shared.compare_exchange_weak(seen.0, moved.0, success, failure) {
                Ok(_) => {
                    deque.own.split.set(split);
                    return Pushed::Published;
                }
                Err(now) => seen = Shared(now),
            }
        }
        Pushed::Private
    }

    /// Adds the newest item and publishes it and all older ones, or returns it if there are `N - 1`
    /// already.
    #[inline]
    pub(crate) fn push_public(self, item: T) -> Result<(), Full<T>> {
        let index = self.bottom();
        // ORDERING: Relaxed: the following code publishes in any case.
        let limit = self.deque.public.limit.load(Ordering::Relaxed);
        if limit <= index as usize && !self.make_room() {
            return Err(Full(item));
        }
        if self.deque.own.split.get() == index {
            self.offer(index, item);
        } else {
            self.put(index, item);
            _ = self.publish();
        }
        Ok(())
    }

    /// Returns the limit of pushes, given the slots that thieves have read: the index of the next
    /// item, if there is no room for another one after it.
    fn room(self) -> usize {
        let deque = self.deque;
        // ORDERING: Relaxed: the slots themselves show whether they were read (split.S2).
        let top = deque.shared(Ordering::Relaxed).top();
        let mut clean = deque.own.clean.get();
        while clean != top {
            // ORDERING: Acquire, pairs with Release in steal (split.S2): the thief has read the
            // slot.
            if !deque.slot(clean).load(Ordering::Acquire).is_null() {
                break;
            }
            clean = clean.wrapping_add(STEP);
        }
        deque.own.clean.set(clean);
        clean.wrapping_add((N - 1) as Index * STEP) as usize
    }

    /// Waits until the slot of the next push is free. Thieves have emptied a full deque, the newest
    /// item included, while one of them has yet to read the slot that it won, which may be that
    /// one.
    #[cold]
    #[inline(never)]
    fn wait_for_room(self, relax: &impl Relax) {
        let mut turn: u32 = 0;
        while ahead(self.bottom(), self.room() as Index) < 0 {
            relax.relax(turn);
            turn = turn.saturating_add(1);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(self) -> bool {
        let limit = self.room();
        // ORDERING: Relaxed: the push that follows publishes, so that no request is left
        // unanswered.
        self.deque.public.limit.swap(limit, Ordering::Relaxed);
        limit as Index != self.bottom()
    }

    /// Publishes the item at `index`, which becomes the newest, where all older ones are public.
    #[inline(always)]
    fn offer(self, index: Index, item: T) {
        let (deque, next) = (self.deque, index.wrapping_add(STEP));
        // ORDERING: Relaxed: published by the change of `shared` below (split.S1).
        deque.slot(index).store(item.into_word(), Ordering::Relaxed);
        // No request can be settled until `bottom` has passed `split`, so `split` is unchanged, or,
        // if the addition finds a request, beyond that.
        let one = Shared::new(0, STEP).0;
        // ORDERING: AcqRel, pairs with Acquire in steal (split.S1): the slot is written before it
        // is offered; and with AcqRel in look (split.S3, split.S4).
        let before = Shared(deque.public.shared.fetch_add(one, Ordering::AcqRel));
        if before.is_requested() {
            self.end_request(Shared::new(before.top(), next));
        }
        deque.own.split.set(next);
        self.set_bottom(next);
    }

    /// Ends a request whose word the owner has changed: no other thread changes it any more.
    #[cold]
    #[inline(never)]
    fn end_request(self, to: Shared) {
        // ORDERING: Acquire, pairs with AcqRel in look (split.S3, split.S4). The item is released
        // by the preceding change, whose release an exchange continues (split.S1).
        self.deque.public.shared.swap(to.0, Ordering::Acquire);
    }

    /// Takes the newest item. Calls `published` if that has published older ones, for a thief that
    /// has requested them.
    #[inline]
    pub(crate) fn pop(self, fence: &impl Fence, published: impl FnOnce()) -> Option<T> {
        let newest = self.bottom().wrapping_sub(STEP);
        let mine = self.lower_private(newest, fence) || self.reclaim(newest, published);
        // SAFETY: pushed, and removed from the deque by the code above.
        mine.then(|| unsafe { self.take(newest) })
    }

    /// Removes the item at `index`, if it is the newest and private.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn retract_private(self, index: Index, fence: &impl Fence) -> bool {
        // Computed from the loaded values, so that the caller keeps one register for all of this.
        let above = self.bottom();
        if above.wrapping_sub(STEP) != index {
            return false;
        }
        let private = self.lower_private(index, fence);
        if !private {
            self.set_bottom(above);
        }
        private
    }

    /// Lowers `bottom` to `index`, by one item. Returns false if that item is not private; then
    /// [`reclaim`](Self::reclaim) or the old `bottom` must follow.
    #[inline(always)]
    fn lower_private(self, index: Index, fence: &impl Fence) -> bool {
        self.set_bottom(index);
        // ORDERING: between the write of `bottom` and the read of `shared` (split.S8): either this
        // observes the request of a thief, or the thief, once it has fenced, observes that the item
        // was removed.
        fence.light_fence();
        // ORDERING: Relaxed: a public item is removed by a compare-and-swap.
        let split = self.deque.shared(Ordering::Relaxed).split();
        ahead(split, index) >= 0
    }

    /// Reclaims the newest item, at `index`, to which `bottom` has been lowered, unless a thief has
    /// it; then raises `bottom` again. Calls `published` if that has published older items.
    #[cold]
    #[inline(never)]
    fn reclaim(self, index: Index, published: impl FnOnce()) -> bool {
        let deque = self.deque;
        // ORDERING: Relaxed: a guess, which the compare-and-swap checks.
        let mut seen = deque.shared(Ordering::Relaxed);
        while ahead(index, seen.top()) <= 0 {
            let kept = Shared::new(seen.top(), index);
            // ORDERING: success AcqRel, as in move_split: it offers the older items if they were
            // requested, and continues the releases before it if they are public (split.S1).
            // ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            let shared = &deque.public.shared;
            match shared.compare_exchange_weak(seen.0, kept.0, success, failure) {
                Ok(_) => {
                    deque.own.split.set(index);
                    if seen.is_requested() && seen.top() != index {
                        published();
                    } else if seen.is_requested() {
                        // No item is left to answer with, so the next push answers.
                        // ORDERING: Relaxed: the owner itself reads it; it continues a thief's
                        // release (split.S6).
                        deque.public.limit.swap(LOW, Ordering::Relaxed);
                    }
                    return true;
                }
                Err(now) => seen = Shared(now),
            }
        }
        self.set_bottom(index.wrapping_add(STEP));
        false
    }

    /// Whether there are items at `index` or above, regardless of thieves.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn reaches(self, index: Index) -> bool {
        ahead(index, self.bottom()) > 0
    }

    /// Returns an index that all present items, and those pushed later, are above.
    #[cfg(feature = "alloc")]
    pub(crate) fn below_all(self) -> Index {
        self.bottom().wrapping_sub((N + 1) as Index * STEP)
    }

    /// Returns the maximum number of items: thieves may be taking some.
    #[inline]
    fn len(self) -> usize {
        // ORDERING: Relaxed: a hint.
        let top = self.deque.shared(Ordering::Relaxed).top();
        (self.bottom().wrapping_sub(top) / STEP) as usize
    }
}
