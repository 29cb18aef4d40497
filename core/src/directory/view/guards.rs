//! The nodes that views protect, and those that wait to be reclaimed.
//!
//! # Algorithm
//! Hazard pointers (Michael 2004) with an asymmetric fence. A reader stores the node in a slot of
//! its seat, executes the light half, and loads the word of the copy again. A thread that has
//! replaced a node puts it into a list; sometimes one takes the list, executes the heavy half, and
//! gives up the nodes that no slot has.
//!
//! # Words
//! `taken`: set by the thread that claims the seat, cleared when the seat is dropped. `slots`:
//! written by the thread that has the seat, read by threads that reclaim. `retired`: under its
//! lock.
//!
//! # Orderings
//! | id | one side | the other side | what becomes visible | model |
//! |---|---|---|---|---|
//! | GU1 | `protect` stores a slot, then fences (light) and loads the word of the copy | a node is replaced there, then `reclaim` fences (heavy) and loads the slots | of the two stores one: the word without the node, or the slot | `directory_view_retired` in `verify/tests/directory.rs` |
//! | GU2 | `protect`, `clear` store a slot | `reclaim` loads it | that the node that was in the slot before is no longer read | `directory_view_retired` |
//! | GU3 | `drop` of a seat clears `taken` | `seat` sets it | the slots, to the next thread that has the seat | `directory_seats` |

use super::node::Retired;
use crate::port::{Fence, Spin};
use crate::sync::{AtomicBool, AtomicPtr, CachePadded, Lock, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::{fmt, mem, ptr};

/// Slots of a seat. The last one is used while a reference is counted.
const SLOTS: usize = 8;
/// The slots of views.
const VIEWS: usize = SLOTS - 1;

/// The protected nodes of all threads that read copies, and the nodes that are to be reclaimed.
///
/// The copies of a rank share one. A thread that reads boxed copies has a [`Seat`].
pub struct Guards<P> {
    port: P,
    seats: Box<[CachePadded<Slots>]>,
    retired: Lock<Vec<Retired>>,
}

struct Slots {
    slots: [AtomicPtr<()>; SLOTS],
    taken: AtomicBool,
}

impl<P: Fence> Guards<P> {
    /// Creates guards for `seats` threads. Both halves of the fence are those of `port`.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new(port: P, seats: usize) -> Self {
        let slots = |_| {
            CachePadded::new(Slots {
                slots: core::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
                taken: AtomicBool::new(false),
            })
        };
        Self {
            port,
            seats: (0..seats).map(slots).collect(),
            retired: Lock::new(Vec::new()),
        }
    }

    /// Claims the seat of this number. Returns `None` if there is no such seat, or another thread
    /// has it.
    pub fn seat(&self, number: usize) -> Option<Seat<'_, P>> {
        let slots = self.seats.get(number)?;
        // ORDERING: success Acquire, pairs with Release in the drop of a seat (GU3): its slots are
        // empty. ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let claim = slots.taken.compare_exchange(false, true, success, failure);
        claim.ok().map(|_| Seat {
            guards: self,
            slots,
            used: Cell::new(0),
        })
    }

    /// Gives up the retired nodes that no view has. Returns the number of those that remain.
    ///
    /// Called now and then by threads that replace values; may take microseconds, for the heavy
    /// fence. While the machine cannot execute it, all nodes remain.
    pub fn reclaim(&self) -> usize {
        let mut all = mem::take(&mut *self.retired.lock(&Spin));
        // ORDERING: SeqCst, pairs with the light fence in protect (GU1): a read whose slot is not
        // found below observes that its node was replaced.
        if all.is_empty() || !self.port.heavy_fence() {
            return self.keep(all);
        }
        let slots = self.seats.iter().flat_map(|seat| &seat.slots);
        // ORDERING: Acquire, pairs with Release in protect and clear (GU2): the views that had this
        // slot before have ended.
        let load = |slot: &AtomicPtr<()>| slot.load(Ordering::Acquire).addr();
        let mut held: Vec<usize> = slots.map(load).filter(|address| *address != 0).collect();
        held.sort_unstable();
        let is_held = |retired: &mut Retired| held.binary_search(&retired.address()).is_ok();
        let kept: Vec<Retired> = all.extract_if(.., is_held).collect();
        let left = self.keep(kept);
        // Outside of the lock: destructors of values may retire others.
        drop(all);
        left
    }

    /// Puts nodes back into the list. Returns how many it has.
    fn keep(&self, nodes: Vec<Retired>) -> usize {
        let mut retired = self.retired.lock(&Spin);
        retired.extend(nodes);
        retired.len()
    }

    /// Takes over a node that was replaced, and reclaims if many are there.
    pub(super) fn retire(&self, node: Retired) {
        let mut retired = self.retired.lock(&Spin);
        retired.push(node);
        // At least half of them are in no slot, so a scan pays for itself.
        let is_due = retired.len() > 2 * SLOTS * self.seats.len().max(4);
        drop(retired);
        if is_due {
            self.reclaim();
        }
    }
}

impl<P> fmt::Debug for Guards<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guards")
            .field("seats", &self.seats.len())
            .finish_non_exhaustive()
    }
}

/// The right of one thread to protect nodes. Dropped, it is free for another one.
///
/// It may be sent, but not shared:
///
/// ```compile_fail,E0277
/// # use tautline_core::{directory::Seat, port::Fence};
/// fn shared<T: Sync>() {}
/// fn seats<P: Fence + Sync>() {
///     shared::<Seat<'static, P>>();
/// }
/// ```
pub struct Seat<'g, P> {
    guards: &'g Guards<P>,
    slots: &'g Slots,
    /// The slots that views have, a bit each.
    used: Cell<u8>,
}

/// A slot of a seat with a node in it. Dropped, it is empty.
#[derive(Debug)]
pub(super) struct Held<'s> {
    slot: &'s AtomicPtr<()>,
    used: &'s Cell<u8>,
    bit: u8,
}

impl<P: Fence> Seat<'_, P> {
    /// Whether the seat is one of `guards`.
    #[inline(always)]
    pub(super) fn is_of(&self, guards: &Guards<P>) -> bool {
        ptr::eq(self.guards, guards)
    }

    /// Takes a slot. The flag is whether it is to be kept; the last slot is for a short time only.
    #[inline]
    pub(super) fn slot(&self) -> (Held<'_>, bool) {
        let used = self.used.get();
        let at = used.trailing_ones() as usize;
        let bit = 1 << at;
        self.used.set(used | bit);
        let held = Held {
            // The last bit is not set between calls.
            slot: &self.slots.slots[at],
            used: &self.used,
            bit,
        };
        (held, at < VIEWS)
    }

    /// Stores a node in a slot. If a load after this call finds that the copy has the node, then it
    /// is not reclaimed until the slot is cleared, or has another one.
    #[inline(always)]
    pub(super) fn protect(&self, held: &Held<'_>, node: *mut ()) {
        // ORDERING: Release, pairs with Acquire in reclaim (GU2): the view that had the slot
        // before has ended.
        held.slot.store(node, Ordering::Release);
        // ORDERING: SeqCst, pairs with the heavy fence in reclaim (GU1): the slot is stored before
        // the word is loaded again.
        self.guards.port.light_fence();
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in reclaim (GU2): the node is no longer read.
        self.slot.store(ptr::null_mut(), Ordering::Release);
        self.used.set(self.used.get() & !self.bit);
    }
}

impl<P> Drop for Seat<'_, P> {
    fn drop(&mut self) {
        // Of views that were forgotten.
        for slot in &self.slots.slots {
            // ORDERING: Release, pairs with Acquire in reclaim (GU2): the node is no longer read.
            slot.store(ptr::null_mut(), Ordering::Release);
        }
        // ORDERING: Release, pairs with Acquire in Guards::seat (GU3): the slots are empty.
        self.slots.taken.store(false, Ordering::Release);
    }
}

impl<P> fmt::Debug for Seat<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let views = self.used.get().count_ones();
        f.debug_struct("Seat")
            .field("views", &views)
            .finish_non_exhaustive()
    }
}
