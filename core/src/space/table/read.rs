//! Reads of named cells: inputs of tasks, and values.

use super::entry::{Entry, Share};
use crate::flow::{CellRef, Inputs, OneInput, WaitAll, wait_all};
use alloc::sync::Arc;
use core::fmt;
use core::future::IntoFuture;
use core::ops::Deref;

/// A read that waits for the value of a key, and becomes an [`Item`]: an input of a task, or
/// awaited as a future. Dropped before, it counts as a read that has ended.
#[must_use = "dropped, it counts as a read that has ended"]
pub struct Get<V>(Share<V>);

/// A read that waits for the value of a key, which it moves out: an input of a task, or awaited as
/// a future. Dropped before, it counts as a read that has ended, and the value is dropped.
#[must_use = "dropped, it drops the value"]
pub struct Take<V>(Share<V>);

/// The value of a key. Dropping it ends the read, and the last one that is declared drops the
/// value.
pub struct Item<V>(Share<V>);

/// The put of a value, which has not ended: the value stays, also without a read, until this is
/// dropped.
#[must_use = "dropped, it ends the put"]
pub struct Put<V>(Share<V>);

/// The reason why a wait ends without a value.
const MISSING: &str = "the space has ended before the value was put";

impl<V> Put<V> {
    /// Returns the put of a cell that is full.
    pub(super) fn of(share: Share<V>) -> Self {
        Self(share)
    }

    /// Returns the value, as a further read; `None` if the only declared read may take it.
    pub fn item(&self) -> Option<Item<V>> {
        let is_taken = self.0.entry().may_be_taken();
        (!is_taken).then(|| Item(self.0.clone()))
    }
}

impl<V> Item<V> {
    /// Returns the value of a cell that is full, whose reads are not declared.
    pub(super) fn of(entry: Arc<Entry<V>>) -> Self {
        Self(Share::of(entry))
    }
}

/// A further read of the same value.
impl<V> Clone for Item<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Get<V> {
    /// Begins a read that the table has admitted.
    pub(super) fn of(entry: Arc<Entry<V>>) -> Self {
        Self(Share::of(entry))
    }

    /// Returns whether the value is there.
    pub fn is_full(&self) -> bool {
        self.0.entry().is_full()
    }
}

impl<V> Take<V> {
    /// Begins the only declared read.
    ///
    /// # Safety
    /// The caller must ensure that no other read of the entry is admitted.
    pub(super) unsafe fn of(entry: Arc<Entry<V>>) -> Self {
        Self(Share::of(entry))
    }

    /// Returns whether the value is there.
    pub fn is_full(&self) -> bool {
        self.0.entry().is_full()
    }
}

impl<V> Deref for Item<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: from a `Get`, which is a read.
        unsafe { self.0.value() }
    }
}

// SAFETY: one cell, always the same. Nothing panics: the entry outlives a result of `latch_at`
// while the input exists.
unsafe impl<'a, V: Send + Sync + 'static> Inputs<'a> for Get<V> {
    type Values = Item<V>;

    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        (index == 0).then(|| Entry::latch(self.0.entry()))
    }

    #[inline]
    fn is_full_at(&self, index: usize) -> Option<bool> {
        (index == 0).then(|| Self::is_full(self))
    }

    #[inline]
    fn is_full(&self) -> bool {
        Self::is_full(self)
    }

    #[inline]
    fn is_missing(&self) -> bool {
        // SAFETY: this read does not take the value, so no other one does.
        unsafe { self.0.is_missing() }
    }

    #[inline]
    fn into_values(self) -> Item<V> {
        assert!(!Inputs::is_missing(&self), "{MISSING}");
        Item(self.0)
    }
}

// SAFETY: one cell.
unsafe impl<V: Send + Sync + 'static> OneInput<'_> for Get<V> {}

// SAFETY: one cell, always the same. Nothing panics: the end of the read finds the value moved out,
// and a policy does not panic.
unsafe impl<'a, V: Send + Sync + 'static> Inputs<'a> for Take<V> {
    type Values = V;

    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        (index == 0).then(|| Entry::latch(self.0.entry()))
    }

    #[inline]
    fn is_full_at(&self, index: usize) -> Option<bool> {
        (index == 0).then(|| Self::is_full(self))
    }

    #[inline]
    fn is_full(&self) -> bool {
        Self::is_full(self)
    }

    #[inline]
    fn is_missing(&self) -> bool {
        // SAFETY: the only declared read.
        unsafe { self.0.is_missing() }
    }

    #[inline]
    fn into_values(self) -> V {
        assert!(!Inputs::is_missing(&self), "{MISSING}");
        // SAFETY: the only declared read, as the caller of `of` has ensured.
        unsafe { self.0.take() }
    }
}

// SAFETY: one cell.
unsafe impl<V: Send + Sync + 'static> OneInput<'_> for Take<V> {}

impl<V: Send + Sync + 'static> IntoFuture for Get<V> {
    type Output = Item<V>;
    type IntoFuture = WaitAll<'static, Self>;

    #[track_caller]
    fn into_future(self) -> Self::IntoFuture {
        wait_all(self)
    }
}

impl<V: Send + Sync + 'static> IntoFuture for Take<V> {
    type Output = V;
    type IntoFuture = WaitAll<'static, Self>;

    #[track_caller]
    fn into_future(self) -> Self::IntoFuture {
        wait_all(self)
    }
}

impl<V> fmt::Debug for Get<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get")
            .field("full", &self.is_full())
            .finish()
    }
}

impl<V> fmt::Debug for Take<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Take")
            .field("full", &self.is_full())
            .finish()
    }
}

impl<V> fmt::Debug for Put<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Put").finish_non_exhaustive()
    }
}

impl<V: fmt::Debug> fmt::Debug for Item<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&**self).finish()
    }
}

impl<V: fmt::Display> fmt::Display for Item<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
