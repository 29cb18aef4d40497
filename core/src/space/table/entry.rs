//! A named cell: the value of a key, and the count of its reads.
//!
//! # Algorithm
//! A cell with declared reads counts these and the put. Each of them ends once: a put after it has
//! filled the cell; a read when its [`Item`](super::Item) is dropped, when its value is moved out,
//! or when it is given up before. The last end retires the key and drops the value. So a value
//! whose reads were all cancelled is dropped by its put.
//!
//! At most as many reads begin as are declared, which the [shard](super::shard) ensures under its
//! lock. So no read begins or continues once the count is zero.
//!
//! # Words
//! `left`: reads and put that have not ended, if reads are declared. `cell`: see
//! [`latch`](crate::flow::Latch). The slot in it is written by the put before the latch is full,
//! read by reads that have not ended, and emptied by the only declared read or by the last end.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | NR1 | `end` decrements `left` | the `end` that reaches zero | the accesses of all reads to the value, before it is dropped | `space_last_read`, `space_take` |
//!
//! # Proved
//! By loom (`verify/tests/space.rs`): a value is dropped once, after its last read; the only read
//! gets the value; a cell may be freed while a task registers with it.

use super::hash::Hash;
use super::slot::Slot;
use crate::flow::{AlreadyFull, CellRef, Ddf, Waiters};
use crate::space::declared::Declared;
use crate::sync::{AtomicUsize, Ordering};
use alloc::sync::Arc;
use core::mem::{self, ManuallyDrop};

/// The most reads of a key that can be declared: one more counts the put.
const MOST: u32 = u32::MAX - 1;
/// The reason why a value is there.
const UNREAD: &str = "a value is there until its reads have ended";

/// The part of a table that refers to an entry with declared reads.
pub(super) trait Owner<V>: Send + Sync {
    /// Gives up an entry whose reads have all ended. Does nothing if the table has none.
    fn retire(&self, entry: &Arc<Entry<V>>);
}

/// A named cell.
pub(super) struct Entry<V> {
    /// Its slot is emptied by the last end, or by the drop of the entry.
    cell: Ddf<ManuallyDrop<Slot<V>>>,
    left: AtomicUsize,
    declared: Option<Declared>,
    /// The hash of the key.
    pub(super) hash: Hash,
    /// The part of the table, if reads are declared.
    owner: Option<Arc<dyn Owner<V>>>,
}

impl<V> Entry<V> {
    /// Creates an empty cell. Its `owner` is called if reads are declared.
    pub(super) fn new(
        declared: Option<Declared>,
        hash: Hash,
        owner: impl FnOnce() -> Arc<dyn Owner<V>>,
    ) -> Self {
        let declared = declared.map(|Declared { here, total }| Declared {
            here: here.min(MOST),
            total,
        });
        let here = declared.map_or(0, |declared| declared.here);
        Self {
            cell: Ddf::new(),
            left: AtomicUsize::new(here as usize + 1),
            declared,
            hash,
            owner: declared.map(|_| owner()),
        }
    }

    /// The reads that are declared.
    #[inline]
    pub(super) fn declared(&self) -> Option<Declared> {
        self.declared
    }

    /// Whether the only declared read may take the value.
    pub(super) fn may_be_taken(&self) -> bool {
        self.declared == Some(Declared { here: 1, total: 1 })
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.cell.is_full()
    }

    /// Fills the cell. The waiters are released by the first result, and the put ends with the
    /// second.
    ///
    /// # Errors
    /// If it was filled before: returns the value.
    pub(super) fn keep(this: Arc<Self>, value: V) -> Result<(Waiters, Share<V>), V> {
        match this.cell.fill(ManuallyDrop::new(Slot::new(value))) {
            Ok(waiters) => Ok((waiters, Share(this))),
            Err(AlreadyFull(slot)) => Err(ManuallyDrop::into_inner(slot).into_value()),
        }
    }

    /// Fills the cell without a value, unless it is full: the put does not come any more.
    pub(super) fn fail(this: Arc<Self>) -> Option<Waiters> {
        let empty = ManuallyDrop::new(Slot::empty());
        let waiters = this.cell.fill(empty).ok()?;
        drop(Share(this));
        Some(waiters)
    }

    /// Ends a read or the put; the last of them drops the value, with no lock held.
    fn end(this: &Arc<Self>) {
        // ORDERING: AcqRel: Release pairs with Acquire in the last end (NR1): its accesses to the
        // value come before the drop. Acquire pairs with Release in the ends before it (NR1).
        if let Some(owner) = &this.owner
            && this.left.fetch_sub(1, Ordering::AcqRel) == 1
        {
            owner.retire(this);
            if let Ok(slot) = this.cell.get() {
                // SAFETY: all declared reads and the put have ended, which happens before this, and
                // none begins: the shard admits as many as are declared.
                drop(unsafe { slot.take() });
            }
        }
    }
}

impl<V: Send + Sync + 'static> Entry<V> {
    /// Returns the state of the cell, with a share that keeps it alive.
    pub(super) fn latch<'a>(this: &Arc<Self>) -> CellRef<'a> {
        CellRef::shared(Arc::clone(this), |entry| entry.cell.latch())
    }
}

impl<V> Drop for Entry<V> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the entry. A swap
        // reads the last value in models, too, in which the count of the shares orders nothing.
        if mem::needs_drop::<V>()
            && self.left.swap(0, Ordering::Relaxed) > 0
            && let Ok(slot) = self.cell.get()
        {
            // SAFETY: `&mut self` is exclusive.
            drop(unsafe { slot.take() });
        }
    }
}

/// A read that has begun, or the put. Dropping it ends it.
pub(super) struct Share<V>(Arc<Entry<V>>);

impl<V> Share<V> {
    /// Begins a read that the table has admitted.
    pub(super) fn of(entry: Arc<Entry<V>>) -> Self {
        Self(entry)
    }

    pub(super) fn entry(&self) -> &Arc<Entry<V>> {
        &self.0
    }

    /// Whether the cell was filled without a value.
    ///
    /// # Safety
    /// The caller must ensure that no other share takes the value.
    pub(super) unsafe fn is_missing(&self) -> bool {
        let slot = self.0.cell.get();
        // SAFETY: nothing takes the value meanwhile: this share has not ended, and the caller
        // ensures it of the others.
        slot.is_ok_and(|slot| unsafe { slot.get() }.is_none())
    }

    /// Returns the value.
    ///
    /// # Safety
    /// The caller must ensure that this share is a read that does not take the value.
    ///
    /// # Panics
    /// If the cell is empty.
    #[inline]
    pub(super) unsafe fn value(&self) -> &V {
        let slot = self.0.cell.get().expect(UNREAD);
        // SAFETY: this read has not ended, so the last end is to come. If another read might take
        // the value, that would be the only one, which it is not.
        unsafe { slot.get() }.expect(UNREAD)
    }

    /// Moves the value out, and ends the read.
    ///
    /// # Safety
    /// The caller must ensure that this share is the only declared read.
    ///
    /// # Panics
    /// If the cell is empty.
    pub(super) unsafe fn take(self) -> V {
        let slot = self.0.cell.get().expect(UNREAD);
        // SAFETY: no other read exists, and this one has not ended, so neither has the last end
        // come, which is the only other access.
        unsafe { slot.take() }.expect(UNREAD)
    }
}

/// A further read, which ends on its own.
impl<V> Clone for Share<V> {
    fn clone(&self) -> Self {
        // ORDERING: Relaxed: this share has not ended, so the count stays above zero until the new
        // one ends.
        self.0.left.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl<V> Drop for Share<V> {
    fn drop(&mut self) {
        Entry::end(&self.0);
    }
}
