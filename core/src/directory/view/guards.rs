//! The nodes that views protect, and those that wait to be reclaimed.
//!
//! # Algorithm
//! Hazard pointers (Michael 2004) with an asymmetric fence. A reader stores the node in a slot of
//! its seat, executes the light half, and loads the word of the copy again. A thread that has
//! replaced a node puts it into a list; sometimes one takes the lists, executes the heavy half, and
//! gives up the nodes that no slot has.
//!
//! # Words
//! `taken`: set by the thread that claims the seat, cleared by it once it has dropped the seat and
//! the views. `slots`: written by the thread that has the seat, read by threads that reclaim.
//! `used`: of the thread that has the seat. `retired`: each list under its lock. `is_due`: a hint,
//! set by threads that retire nodes, cleared by those that reclaim.
//!
//! # Orderings
//! | id | one side | the other side | what becomes visible | model |
//! |---|---|---|---|---|
//! | GU1 | `protect` stores a slot, then fences (light) and loads the word of the copy | a node is replaced there, then `reclaim` fences (heavy) and loads the slots | of the two stores one: the word without the node, or the slot | `directory_view_retired` in `verify/tests/directory.rs` |
//! | GU2 | `protect`, `clear` store a slot | `reclaim` loads it | that the node that was in the slot before is no longer read | `directory_view_retired` |
//! | GU3 | `drop` of a seat, or of its last view, clears `taken` | `seat` sets it | `slots` and `used`, to the next thread that has the seat | `directory_seats` |

use super::node::Retired;
use crate::port::{Fence, Spin};
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Lock, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::{fmt, ptr};

/// Slots of a seat. The last one is used while a reference is counted.
const SLOTS: usize = 8;
/// The slots of views.
const VIEWS: usize = SLOTS - 1;
/// In `used`: the seat was not dropped.
const OWNED: usize = 1 << SLOTS;
/// Retired nodes of a list with which it is due, beside twice those that were kept the last time.
const DUE: usize = 256;
/// Lists of retired nodes: threads that write different copies mostly use different ones.
const LISTS: usize = if cfg!(tautline_loom) { 1 } else { 8 };

/// The protected nodes of all threads that read copies, and the nodes that are to be reclaimed.
///
/// The copies of a rank share one. A thread that reads boxed copies has a [`Seat`].
pub struct Guards<P> {
    port: P,
    seats: Box<[CachePadded<Slots>]>,
    retired: [CachePadded<Lock<List>>; LISTS],
    is_due: AtomicBool,
}

/// Retired nodes.
struct List {
    nodes: Vec<Retired>,
    /// With as many, it is time to reclaim.
    due: usize,
}

/// Nodes that no view has any more: dropped, they are freed.
#[derive(Debug)]
pub struct Reclaimed {
    /// Each runs the destructor of its value when it is dropped.
    pub nodes: Vec<Retired>,
    /// The number of retired nodes that were kept.
    pub left: usize,
}

struct Slots {
    slots: [AtomicPtr<()>; SLOTS],
    /// The slots that views have, a bit each, and [`OWNED`].
    used: AtomicUsize,
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
                used: AtomicUsize::new(0),
                taken: AtomicBool::new(false),
            })
        };
        let list = |_| {
            let nodes = Vec::new();
            CachePadded::new(Lock::new(List { nodes, due: DUE }))
        };
        Self {
            port,
            seats: (0..seats).map(slots).collect(),
            retired: core::array::from_fn(list),
            is_due: AtomicBool::new(false),
        }
    }

    /// Claims the seat of this number. Returns `None` if there is no such seat, or a thread has it
    /// or a view of it.
    pub fn seat(&self, number: usize) -> Option<Seat<'_, P>> {
        let slots = self.seats.get(number)?;
        // ORDERING: success Acquire, pairs with Release in Slots::set (GU3): no slot is used.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let claim = slots.taken.compare_exchange(false, true, success, failure);
        claim.ok().map(|_| {
            slots.set(OWNED);
            Seat {
                guards: self,
                slots,
                of_thread: PhantomData,
            }
        })
    }

    /// Returns the number of seats.
    pub fn seats(&self) -> usize {
        self.seats.len()
    }

    /// Whether it is time to [reclaim](Self::reclaim).
    #[inline]
    pub fn is_due(&self) -> bool {
        // ORDERING: Relaxed: a hint, on which no access depends.
        self.is_due.load(Ordering::Relaxed)
    }

    /// Returns the retired nodes that no view has, to be dropped.
    ///
    /// Called now and then by threads that change copies; may take microseconds, for the heavy
    /// fence. While the machine cannot execute it, all nodes remain.
    pub fn reclaim(&self) -> Reclaimed {
        // ORDERING: Relaxed: a hint.
        self.is_due.store(false, Ordering::Relaxed);
        let mut nodes = Vec::new();
        for list in &self.retired {
            nodes.append(&mut list.lock(&Spin).nodes);
        }
        // ORDERING: SeqCst, pairs with the light fence in protect (GU1): a read whose slot is not
        // found below observes that its node was replaced.
        if nodes.is_empty() || !self.port.heavy_fence() {
            let left = self.keep(nodes);
            let nodes = Vec::new();
            return Reclaimed { nodes, left };
        }
        let slots = self.seats.iter().flat_map(|seat| &seat.slots);
        // ORDERING: Acquire, pairs with Release in protect and clear (GU2): the views that had this
        // slot before have ended.
        let load = |slot: &AtomicPtr<()>| slot.load(Ordering::Acquire).addr();
        let mut held: Vec<usize> = slots.map(load).filter(|address| *address != 0).collect();
        held.sort_unstable();
        let is_held = |retired: &mut Retired| held.binary_search(&retired.address()).is_ok();
        let kept: Vec<Retired> = nodes.extract_if(.., is_held).collect();
        let left = self.keep(kept);
        Reclaimed { nodes, left }
    }

    /// Puts nodes back into a list. Returns their number.
    fn keep(&self, nodes: Vec<Retired>) -> usize {
        let left = nodes.len();
        for list in &self.retired {
            // More than half of the next ones are in no slot, so a scan pays for itself.
            list.lock(&Spin).due = DUE + 2 * left;
        }
        self.retired[0].lock(&Spin).nodes.extend(nodes);
        left
    }

    /// Takes over a node that was replaced in the copy at this address.
    pub(super) fn retire(&self, node: Retired, copy: usize) {
        let list = &self.retired[copy / 256 % LISTS];
        let mut list = list.lock(&Spin);
        list.nodes.push(node);
        if list.nodes.len() >= list.due {
            // ORDERING: Relaxed: a hint.
            self.is_due.store(true, Ordering::Relaxed);
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

/// The right of a thread to protect nodes. Once it is dropped, and the views with it, another
/// thread may claim it.
///
/// It stays at its thread, as its views do:
///
/// ```compile_fail,E0277
/// # use tautline_core::{directory::Seat, port::Fence};
/// fn sent<T: Send>() {}
/// fn seats<P: Fence + Sync>() {
///     sent::<Seat<'static, P>>();
/// }
/// ```
pub struct Seat<'g, P> {
    guards: &'g Guards<P>,
    slots: &'g Slots,
    /// Neither `Send` nor `Sync`.
    of_thread: PhantomData<*mut ()>,
}

/// A slot of a seat with a node in it, of this thread. Dropped, it is empty.
#[derive(Debug)]
pub(super) struct Held<'g> {
    slots: &'g Slots,
    at: usize,
    /// Neither `Send` nor `Sync`.
    of_thread: PhantomData<*mut ()>,
}

impl Slots {
    #[inline(always)]
    fn used(&self) -> usize {
        // ORDERING: Relaxed: written by this thread, which has the seat.
        self.used.load(Ordering::Relaxed)
    }

    /// Sets the used slots. Without any, of a seat that was dropped, the seat is free.
    #[inline(always)]
    fn set(&self, used: usize) {
        // ORDERING: Relaxed: of this thread; published by the release below (GU3).
        self.used.store(used, Ordering::Relaxed);
        if used == 0 {
            // ORDERING: Release, pairs with Acquire in Guards::seat (GU3): no slot is used.
            self.taken.store(false, Ordering::Release);
        }
    }
}

impl<'g, P: Fence> Seat<'g, P> {
    /// Whether the seat is one of `guards`.
    #[inline(always)]
    pub(super) fn is_of(&self, guards: &Guards<P>) -> bool {
        ptr::eq(self.guards, guards)
    }

    /// Takes a slot. The flag is whether it is to be kept; the last slot is for a short time only.
    #[inline]
    pub(super) fn slot(&self) -> (Held<'g>, bool) {
        let used = self.slots.used();
        let at = used.trailing_ones() as usize;
        self.slots.set(used | 1 << at);
        let held = Held {
            slots: self.slots,
            at,
            of_thread: PhantomData,
        };
        // The last bit is not set between calls.
        (held, at < VIEWS)
    }

    /// Stores a node in a slot. If a load after this call finds that the copy has the node, then it
    /// is not reclaimed until the slot is cleared, or has another one.
    #[inline(always)]
    pub(super) fn protect(&self, held: &Held<'_>, node: *mut ()) {
        // ORDERING: Release, pairs with Acquire in reclaim (GU2): the view that had the slot
        // before has ended.
        held.slot().store(node, Ordering::Release);
        // ORDERING: SeqCst, pairs with the heavy fence in reclaim (GU1): the slot is stored before
        // the word is loaded again.
        self.guards.port.light_fence();
    }
}

impl Held<'_> {
    #[inline(always)]
    fn slot(&self) -> &AtomicPtr<()> {
        &self.slots.slots[self.at % SLOTS]
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in reclaim (GU2): the node is no longer read.
        self.slot().store(ptr::null_mut(), Ordering::Release);
        self.slots.set(self.slots.used() & !(1 << self.at));
    }
}

impl<P> Drop for Seat<'_, P> {
    fn drop(&mut self) {
        self.slots.set(self.slots.used() & !OWNED);
    }
}

impl<P> fmt::Debug for Seat<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let views = (self.slots.used() & !OWNED).count_ones();
        f.debug_struct("Seat")
            .field("views", &views)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").finish_non_exhaustive()
    }
}
