//! The place of a value, out of which the last read moves it.

use crate::sync::UnsafeCell;

/// A value, until it is taken.
pub(super) struct Slot<V>(UnsafeCell<Option<V>>);

// SAFETY: the value is Send.
unsafe impl<V: Send> Send for Slot<V> {}
// SAFETY: threads share the value (V: Sync), and one of them may take it (V: Send).
unsafe impl<V: Send + Sync> Sync for Slot<V> {}

impl<V> Slot<V> {
    pub(super) fn new(value: V) -> Self {
        Self(UnsafeCell::new(Some(value)))
    }

    /// Creates the slot of a cell that has no value.
    pub(super) fn empty() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Returns the value of a slot that was not shared.
    ///
    /// # Panics
    /// If it was taken.
    pub(super) fn into_value(self) -> V {
        let value = self.0.into_inner();
        value.expect("a value is taken only from a shared slot")
    }

    /// Returns the value, unless it was taken.
    ///
    /// # Safety
    /// The caller must ensure that the value is not taken while the reference exists.
    #[inline]
    pub(super) unsafe fn get(&self) -> Option<&V> {
        // SAFETY: the only write is that of `take`, which does not come before the reference ends,
        // as the caller ensures.
        self.0.with(|value| unsafe { (*value).as_ref() })
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The caller must ensure that no reference to the value exists, and that no other thread
    /// accesses the slot during the call.
    pub(super) unsafe fn take(&self) -> Option<V> {
        // SAFETY: no other access, as the caller ensures.
        self.0.with_mut(|value| unsafe { (*value).take() })
    }
}
