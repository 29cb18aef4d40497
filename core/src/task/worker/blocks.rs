//! Memory of spawned tasks: blocks of one size that return to the worker that made them.
//!
//! # Algorithm
//! A stolen task is made by one thread and freed by another. A general allocator then moves its own
//! lines between the two with every such task. Here each worker makes its blocks itself and
//! recycles them. The block of a task that ends on the worker that made it returns to that worker's
//! own list, without an atomic access. Other workers gather the blocks of one home, link up to
//! [`BATCH`] of them and push the chain onto the home's `returned`, by one compare-and-swap. The
//! home takes all of `returned` by one exchange once its own list is empty: a push compares with
//! the first block of the list but never reads it, so another list with the same first block (ABA)
//! is harmless.
//!
//! The home is stored in the block, since the deque that a task was stolen from need not be its
//! maker's: a wait passes on a stolen task that it must not run, and a worker that leaves its seat
//! passes on its tasks.
//!
//! A worker makes at most [`LIMIT`] blocks, one slab at a time, and keeps them until the pool is
//! dropped: that bounds the memory that remains after a burst of tasks. Tasks beyond them, and
//! those that are too large, are boxes. Slabs are freed by their maker, so it does not matter where
//! a block was when the pool was dropped: in a list, or in another worker's incomplete batch, where
//! up to `BATCH - 1` of a home's blocks stay until that worker frees more of them, or a block of
//! another home.
//!
//! # Words
//! `returned`: the first block of the list of returned blocks, null if the list is empty. Other
//! workers push chains onto it; the home takes the whole list. `next` of a block: written by the
//! worker that owns the block. `home`: constant.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | U1 | `push` changes `returned` | `refill` empties it | the links of the chain, and the last reads of its blocks | `blocks_return` |

use crate::id::WorkerId;
use crate::sync::{AtomicPtr, CacheLine, CachePadded, Ordering, UnsafeCell};
use alloc::boxed::Box;
use core::cell::Cell;
use core::fmt;
use core::mem::{MaybeUninit, offset_of};
use core::ptr::{self, NonNull};

/// Bytes for a task in a block: with the two words before it, the block is two cache lines, of
/// which a small task touches one. Processors that fetch lines in pairs then share none between two
/// tasks.
#[cfg(not(tautline_loom))]
const SPACE: usize = 112;
/// Loom's words are larger.
#[cfg(tautline_loom)]
const SPACE: usize = 240;

/// Blocks that a worker makes at once.
const SLAB: usize = if cfg!(tautline_loom) { 4 } else { 64 };

/// Blocks that a worker makes at most.
const LIMIT: usize = if cfg!(tautline_loom) { 4 } else { 4096 };

/// Blocks that are returned to their home at once.
const BATCH: usize = if cfg!(tautline_loom) { 2 } else { 16 };

/// The part of a block that holds the task.
#[repr(C, align(16))]
struct Space([MaybeUninit<u8>; SPACE]);

/// A block for one task.
#[repr(C, align(128))]
pub struct Block {
    /// While the block is free: the next one of its list.
    next: UnsafeCell<*mut Self>,
    home: WorkerId,
    space: Space,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("home", &self.home).finish()
    }
}

impl Block {
    /// Whether a `T` fits into a block.
    pub(in crate::task) const fn fits<T>() -> bool {
        size_of::<T>() <= SPACE && align_of::<T>() <= align_of::<Space>()
    }

    /// Returns the space of a block, for a type that [`fits`](Self::fits).
    ///
    /// # Safety
    /// The caller must own the block, from [`Blocks::take`].
    #[inline(always)]
    pub(in crate::task) unsafe fn space(block: NonNull<Self>) -> NonNull<()> {
        // SAFETY: the block is allocated, and the offset is inside it.
        unsafe { block.byte_add(offset_of!(Self, space)).cast() }
    }

    /// Returns the block around a space.
    ///
    /// # Safety
    /// `space` must come from [`space`](Self::space).
    #[inline(always)]
    pub(in crate::task) unsafe fn around(space: NonNull<()>) -> NonNull<Self> {
        // SAFETY: the space is in a block, at that offset.
        unsafe { space.byte_sub(offset_of!(Self, space)).cast() }
    }

    /// Links a free block to the next one of its list.
    ///
    /// # Safety
    /// The caller must own the block.
    #[inline(always)]
    unsafe fn link(block: NonNull<Self>, next: *mut Self) {
        // SAFETY: blocks are freed with their home; a worker accesses only the links of blocks that
        // it owns.
        unsafe { &(*block.as_ptr()).next }.with_mut(|n| unsafe { *n = next });
    }

    /// Returns the next block of a list of free blocks.
    ///
    /// # Safety
    /// The caller must own the list.
    #[inline(always)]
    unsafe fn next(block: NonNull<Self>) -> *mut Self {
        // SAFETY: as in `link`.
        unsafe { &(*block.as_ptr()).next }.with(|n| unsafe { *n })
    }
}

/// Blocks that were made at once.
struct Slab {
    before: *mut Slab,
    blocks: [Block; SLAB],
}

/// A chain of another home's blocks.
#[derive(Clone, Copy)]
struct Batch {
    home: WorkerId,
    first: NonNull<Block>,
    last: NonNull<Block>,
    count: usize,
}

/// The blocks of one worker.
pub struct Blocks {
    own: CacheLine<Own>,
    returned: CachePadded<AtomicPtr<Block>>,
}

/// The part that only the holder of the worker's seat accesses.
struct Own {
    id: WorkerId,
    free: Cell<*mut Block>,
    slabs: Cell<*mut Slab>,
    made: Cell<usize>,
    /// Blocks of another home that have not been returned yet.
    batch: Cell<Option<Batch>>,
}

// SAFETY: one thread at a time accesses `own`, as `take` and `give` require of their callers.
unsafe impl Sync for Blocks {}
// SAFETY: blocks are not tied to a thread.
unsafe impl Send for Blocks {}

impl Blocks {
    /// Creates the blocks of worker `id`. Allocates none yet.
    pub fn new(id: WorkerId) -> Self {
        Self {
            own: CacheLine(Own {
                id,
                free: Cell::new(ptr::null_mut()),
                slabs: Cell::new(ptr::null_mut()),
                made: Cell::new(0),
                batch: Cell::new(None),
            }),
            returned: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Takes a block. Returns `None` if none is free and the limit is reached.
    ///
    /// # Safety
    /// The caller must act as the worker: no two calls of this and of [`give`](Self::give) may
    /// overlap, and each must happen-before the next one.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<Block>> {
        let own = &self.own;
        let first = NonNull::new(own.free.get()).or_else(|| self.refill())?;
        // SAFETY: the worker owns the list, and the caller acts as the worker.
        own.free.set(unsafe { Block::next(first) });
        Some(first)
    }

    /// Returns a block from this worker to its home, which `find` looks up by its number.
    ///
    /// # Safety
    /// As for [`take`](Self::take). The block must come from `take` of this worker or of one that
    /// `find` returns, and must not be accessed any more. `find` must return the worker that was
    /// made with that number.
    #[inline]
    pub unsafe fn give<'a>(&self, block: NonNull<Block>, find: impl Fn(WorkerId) -> &'a Self) {
        let own = &self.own;
        // SAFETY: the caller owns the block; its home is constant.
        let home = unsafe { (*block.as_ptr()).home };
        if home == own.id {
            // SAFETY: the caller gives up the block.
            unsafe { Block::link(block, own.free.get()) };
            return own.free.set(block.as_ptr());
        }
        let batch = match own.batch.get() {
            Some(batch) if batch.home == home => {
                // SAFETY: the caller gives up the block.
                unsafe { Block::link(block, batch.first.as_ptr()) };
                let (first, count) = (block, batch.count + 1);
                Batch {
                    first,
                    count,
                    ..batch
                }
            }
            other => {
                if let Some(batch) = other {
                    // SAFETY: the batch consists of that home's blocks, and is replaced below.
                    unsafe { find(batch.home).push(batch) };
                }
                let (first, last, count) = (block, block, 1);
                Batch {
                    home,
                    first,
                    last,
                    count,
                }
            }
        };
        let is_full = batch.count == BATCH;
        own.batch.set((!is_full).then_some(batch));
        if is_full {
            // SAFETY: the batch consists of that home's blocks, and was removed just now.
            unsafe { find(home).push(batch) };
        }
    }

    /// Returns a batch to this worker, its home. Called by any thread.
    ///
    /// # Safety
    /// The caller must own the batch, which consists of this worker's blocks, and not access it
    /// afterwards.
    #[cold]
    #[inline(never)]
    unsafe fn push(&self, batch: Batch) {
        let returned = &self.returned;
        // A guess, which the compare-and-swap checks: a load first would fetch the line twice.
        let mut seen = ptr::null_mut();
        loop {
            // SAFETY: the caller owns the batch until the compare-and-swap has succeeded.
            unsafe { Block::link(batch.last, seen) };
            // ORDERING: success Release, pairs with Acquire in refill (U1): the blocks have been
            // read, and are linked; as an update it also continues the releases of the batches
            // below it.
            // ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            match returned.compare_exchange_weak(seen, batch.first.as_ptr(), success, failure) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Returns a list of free blocks: the returned ones if there are any, else those of a new slab.
    /// Returns `None` if no block was returned and the limit is reached.
    #[cold]
    #[inline(never)]
    fn refill(&self) -> Option<NonNull<Block>> {
        // ORDERING: Relaxed: a hint, which spares the exchange.
        if self.returned.load(Ordering::Relaxed).is_null() {
            return self.make();
        }
        // ORDERING: Acquire, pairs with Release in push (U1): all accesses to the blocks by other
        // workers happen-before their reuse.
        NonNull::new(self.returned.swap(ptr::null_mut(), Ordering::Acquire))
    }

    /// Makes a slab, and returns the list of its blocks. `None` if the limit is reached.
    fn make(&self) -> Option<NonNull<Block>> {
        let own = &self.own;
        if own.made.get() == LIMIT {
            return None;
        }
        own.made.set(own.made.get() + SLAB);
        // Initialized in place: a slab is too large for the stack of a deep task.
        let slab = Box::into_raw(Box::<Slab>::new_uninit()).cast::<Slab>();
        let mut list = ptr::null_mut();
        for index in (0..SLAB).rev() {
            // SAFETY: inside the slab, which was allocated just now; its space needs no value.
            unsafe {
                let block = (&raw mut (*slab).blocks).cast::<Block>().add(index);
                (&raw mut (*block).next).write(UnsafeCell::new(list));
                (&raw mut (*block).home).write(own.id);
                list = block;
            }
        }
        // SAFETY: the slab was allocated above.
        unsafe { (&raw mut (*slab).before).write(own.slabs.replace(slab)) };
        NonNull::new(list)
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        let mut slab = self.own.slabs.get();
        while !slab.is_null() {
            // SAFETY: the slab comes from a box in `make`, and is freed only here. `&mut self`
            // implies that no thread owns a block of it, and links in other workers' batches are
            // not read any more.
            slab = unsafe { Box::from_raw(slab) }.before;
        }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").finish_non_exhaustive()
    }
}
