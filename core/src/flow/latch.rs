//! The word of a cell: empty, with a list of its waiters, or full.
//!
//! # Algorithm
//! The data-driven futures of Chatterjee 2013 (section 3.2.2): a waiter puts itself in front of the
//! list by compare-and-swap (lock-free); the put takes the whole list by one swap that makes the
//! word full for ever, and releases the waiters in it. What differs: there a second put is an
//! undetected error of the program. Here a put first claims the word by its lowest bit, so of two
//! racing puts one fails before it has accessed the value. Futures wait by the wakers next to the
//! word: the first one rewrites the word after it has made them, so the put finds them.
//!
//! # Words
//! `word`: the node registered last, or null, plus [`CLAIMED`] from the claim of a put on; then
//! [`FULL`] for ever. Written by waiters and by the put. `wakers`: set once, by the first future
//! that has to wait. `Link::next`: written by the thread that registers the node, before the node
//! is in the list; read by the put.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | E1 | `fill` swaps `word` | `is_full` loads it | the value | `v5_put_register` |
//! | E2 | `register_link` puts a node into `word`, `publish` rewrites it | `fill` swaps `word` | the node, and everything before its registration; the wakers | `v5_put_register`, `future_put` |
//! | E3 | `set_wakers` sets `wakers` | `wakers`, a failed `set_wakers` | the lock and the list that it guards | `futures_share` |
//!
//! All writes of `word` are read-modify-writes, so the release of each registration is continued by
//! those after it, the claim included (E2).
//!
//! # Proved
//! By loom (`verify/tests/flow.rs`): each waiter is released once and sees the value; one of two
//! puts succeeds.

#[cfg(feature = "alloc")]
use super::wait::wakers::Wakers;
use crate::sync::{AtomicPtr, Ordering, UnsafeCell};
#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::ptr::{self, NonNull};

/// Set by the put that may write the value: no other put may.
const CLAIMED: usize = 1;
/// The value is written. No node has this address: nodes are aligned to 4.
const FULL: usize = 2 | CLAIMED;

/// The end of the wait of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The cell is full.
    Released,
    /// The cell was dropped empty.
    Dropped,
}

/// The head of a node, by which lists of waiters hold it.
#[repr(C, align(4))]
pub struct Link {
    next: UnsafeCell<*mut Link>,
    finish: unsafe fn(NonNull<Link>, End),
}

impl Link {
    /// Creates the head of a node. `finish` is called once, when the node's wait ends.
    ///
    /// `finish` takes the node over: nothing accesses it afterwards.
    #[cfg(not(tautline_loom))]
    pub const fn new(finish: unsafe fn(NonNull<Link>, End)) -> Self {
        Self {
            next: UnsafeCell::new(ptr::null_mut()),
            finish,
        }
    }

    /// Creates the head of a node: not `const`, since loom's constructors are not.
    #[cfg(tautline_loom)]
    pub fn new(finish: unsafe fn(NonNull<Link>, End)) -> Self {
        Self {
            next: UnsafeCell::new(ptr::null_mut()),
            finish,
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// The state of a cell, without its value: what waiters register with.
pub struct Latch {
    word: AtomicPtr<Link>,
    /// The wakers of waiting futures; null until the first one waits.
    #[cfg(feature = "alloc")]
    wakers: AtomicPtr<Wakers>,
}

// SAFETY: `register_link` requires that nodes may be finished on any thread; `Wakers` is Send and
// Sync.
unsafe impl Send for Latch {}
// SAFETY: the words are atomic, `register_link` requires that nodes may be finished on any thread,
// and `Wakers` is Sync.
unsafe impl Sync for Latch {}

impl Latch {
    /// Creates an empty cell without waiters.
    #[cfg(not(tautline_loom))]
    pub(super) const fn new() -> Self {
        Self {
            word: AtomicPtr::new(ptr::null_mut()),
            #[cfg(feature = "alloc")]
            wakers: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Creates an empty cell: not `const`, since loom's constructors are not.
    #[cfg(tautline_loom)]
    pub(super) fn new() -> Self {
        Self {
            word: AtomicPtr::new(ptr::null_mut()),
            #[cfg(feature = "alloc")]
            wakers: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether the cell is full. If so, the value is visible to this thread.
    #[inline]
    pub fn is_full(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in fill (E1): the value is visible.
        self.word.load(Ordering::Acquire).addr() == FULL
    }

    /// Claims the right to write the value. Returns true to exactly one caller.
    pub(super) fn claim(&self) -> bool {
        // The first guess is a cell without waiters. A load would cost more, and would hide from
        // loom, which records one access per word, that a get may precede the claim.
        let mut seen = ptr::null_mut::<Link>();
        while seen.addr() & CLAIMED == 0 {
            let claimed = seen.map_addr(|address| address | CLAIMED);
            // ORDERING: Relaxed both ways: it publishes and reads nothing; as a read-modify-write
            // it continues the releases of the registrations before it (E2).
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            let set = self
                .word
                .compare_exchange_weak(seen, claimed, success, failure);
            match set {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Makes the word full. Returns the waiters.
    ///
    /// Called once, after a successful [`claim`](Self::claim) and after the value was written.
    pub(super) fn fill(&self) -> Waiters {
        let full = ptr::without_provenance_mut(FULL);
        // ORDERING: AcqRel: Release pairs with Acquire in is_full (E1): the value is written.
        // Acquire pairs with Release in register_link and publish (E2): the nodes and the wakers
        // are visible.
        let list = self.word.swap(full, Ordering::AcqRel);
        Waiters {
            nodes: Chain::of(list, End::Released),
            #[cfg(feature = "alloc")]
            wakers: self.shared_wakers(),
        }
    }

    /// Makes the caller's earlier writes visible to the put that fills the cell. Returns false if
    /// the cell is full.
    #[cfg(feature = "alloc")]
    pub(super) fn publish(&self) -> bool {
        // ORDERING: Relaxed: as in register_link.
        let mut seen = self.word.load(Ordering::Relaxed);
        while seen.addr() != FULL {
            let word = &self.word;
            // ORDERING: Release, pairs with AcqRel in fill (E2): the wakers are set before the word
            // is rewritten. ORDERING: failure Relaxed: as the load above.
            match word.compare_exchange_weak(seen, seen, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Pushes a node to the list. Returns false if the cell is full: then the caller owns the node
    /// again. If this returns true, the cell may have been put and freed already, hence no `&self`,
    /// which would assert that it is alive until then.
    ///
    /// # Safety
    /// The caller must own the node that `link` begins, and not access it until its `finish` is
    /// called, which may happen on any thread, once, at any time until this cell is put or dropped.
    /// The cell must be alive until the node is registered.
    pub unsafe fn register_link(this: NonNull<Self>, link: NonNull<Link>) -> bool {
        // SAFETY: the cell is alive until the node is registered, which the exchange below does
        // last; only the word is accessed.
        let word = unsafe { &(*this.as_ptr()).word };
        // ORDERING: Relaxed: a caller that gets false reads the value only after is_full.
        let mut seen = word.load(Ordering::Relaxed);
        while seen.addr() != FULL {
            let rest = seen.map_addr(|address| address & !CLAIMED);
            // SAFETY: the caller owns the node until it is in the list.
            unsafe { link.as_ref() }
                .next
                // SAFETY: the node is not in the list yet, so no other thread accesses `next`.
                .with_mut(|next| unsafe { *next = rest });
            let node = link.as_ptr();
            let node = node.map_addr(|address| address | (seen.addr() & CLAIMED));
            // ORDERING: Release, pairs with AcqRel in fill (E2): the node is written before it is
            // in the list. ORDERING: failure Relaxed: as the load above.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            match word.compare_exchange_weak(seen, node, success, failure) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Returns the wakers of this cell, if they were set.
    #[cfg(feature = "alloc")]
    pub(super) fn wakers(&self) -> Option<&Wakers> {
        // ORDERING: Acquire, pairs with Release in set_wakers (E3): the wakers were made by another
        // future.
        let wakers = self.wakers.load(Ordering::Acquire);
        // SAFETY: set once, from an `Arc`, which the drop of the latch gives up.
        unsafe { wakers.as_ref() }
    }

    /// Returns the wakers of this cell, if they were set, for longer than the cell.
    #[cfg(feature = "alloc")]
    pub(super) fn shared_wakers(&self) -> Option<Arc<Wakers>> {
        self.wakers().map(|wakers| {
            let wakers = ptr::from_ref(wakers);
            // SAFETY: from the `Arc` in `set_wakers`, which the latch keeps; one more reference is
            // counted for the result.
            unsafe {
                Arc::increment_strong_count(wakers);
                Arc::from_raw(wakers)
            }
        })
    }

    /// Sets the wakers of this cell. If another future was first, returns its wakers as the error.
    #[cfg(feature = "alloc")]
    pub(super) fn set_wakers(&self, wakers: Wakers) -> Result<&Wakers, &Wakers> {
        let new = Arc::into_raw(Arc::new(wakers)).cast_mut();
        let empty = ptr::null_mut();
        // ORDERING: success Release, pairs with Acquire in wakers (E3): the lock is written before
        // it can be found. ORDERING: failure Acquire, pairs with Release here (E3): the wakers were
        // made by another future.
        let (success, failure) = (Ordering::Release, Ordering::Acquire);
        match self.wakers.compare_exchange(empty, new, success, failure) {
            // SAFETY: set just now; the latch keeps them until its drop.
            Ok(_) => Ok(unsafe { &*new }),
            Err(first) => {
                // SAFETY: from the `Arc` above; not published.
                drop(unsafe { Arc::from_raw(new) });
                // SAFETY: set once, from an `Arc`, which the drop of the latch gives up.
                Err(unsafe { &*first })
            }
        }
    }

    /// Gives up the wakers of a latch that is being dropped.
    #[cfg(feature = "alloc")]
    fn drop_wakers(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the latch.
        let wakers = self.wakers.load(Ordering::Relaxed);
        if !wakers.is_null() {
            // SAFETY: from the `Arc` in `set_wakers`; no future waits for a cell that is being
            // dropped.
            drop(unsafe { Arc::from_raw(wakers) });
        }
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the latch.
        let word = self.word.load(Ordering::Relaxed);
        if word.addr() != FULL {
            Chain::of(word, End::Dropped).finish();
        }
        #[cfg(feature = "alloc")]
        self.drop_wakers();
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.is_full();
        f.debug_struct("Latch").field("full", &full).finish()
    }
}

/// The waiters of a cell that was filled, until they are released. They do not refer to the cell,
/// which may be dropped before.
#[must_use = "dropped, it releases them"]
pub struct Waiters {
    nodes: Chain,
    #[cfg(feature = "alloc")]
    wakers: Option<Arc<Wakers>>,
}

impl Waiters {
    /// Returns the futures that wait with these wakers.
    #[cfg(feature = "alloc")]
    pub(super) fn of(wakers: Arc<Wakers>) -> Self {
        Self {
            nodes: Chain::of(ptr::null_mut(), End::Released),
            wakers: Some(wakers),
        }
    }

    /// Releases them, on this thread: nodes, the one registered last first, then futures.
    ///
    /// # Panics
    /// If one of them panics. It is released then; the next call releases those that are left, as
    /// does the drop.
    pub fn release(&mut self) {
        self.nodes.finish();
        #[cfg(feature = "alloc")]
        while self
            .wakers
            .as_ref()
            .is_some_and(|wakers| wakers.wake_next())
        {}
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        /// Releases those that a panic has left.
        struct Rest<'a>(&'a mut Waiters);

        impl Drop for Rest<'_> {
            fn drop(&mut self) {
                self.0.release();
            }
        }

        Rest(self).0.release();
    }
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").finish_non_exhaustive()
    }
}

/// Nodes taken out of a word. All of them are finished, even if finishing one of them panics.
struct Chain {
    next: *mut Link,
    end: End,
}

impl Chain {
    fn of(word: *mut Link, end: End) -> Self {
        let next = word.map_addr(|address| address & !CLAIMED);
        Self { next, end }
    }

    fn finish(&mut self) {
        while let Some(link) = NonNull::new(self.next) {
            // SAFETY: the node was in the list, so it is initialized; the list was taken, so this
            // thread owns the node.
            let node = unsafe { link.as_ref() };
            // SAFETY: this thread owns the node. Read before `finish`, which may free it.
            self.next = node.next.with(|next| unsafe { *next });
            let finish = node.finish;
            // SAFETY: the node is out of the list; this is the one call that the caller of
            // register_link allowed.
            unsafe { finish(link, self.end) };
        }
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.finish();
    }
}
