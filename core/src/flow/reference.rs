//! References that keep a cell alive while a wait registers with it.

use super::latch::Latch;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

/// A share of what a cell is a part of.
pub(crate) type Owner = Arc<dyn Send + Sync>;

/// A reference to the state of a cell: a borrow, or a share of what the cell is a part of.
///
/// A wait registers with a cell while another thread may drop the inputs that own the cell, so it
/// keeps the cell alive by a reference of its own.
///
/// ```
/// # use std::sync::Arc;
/// # use tautline_core::flow::{CellRef, Ddf};
/// let entry = Arc::new((7, Ddf::<&str>::new()));
/// let cell = CellRef::shared(Arc::clone(&entry), |(_, cell)| cell.latch());
/// assert!(!cell.is_full());
/// entry.1.put("full").unwrap();
/// drop(entry);
/// assert!(cell.is_full());
/// ```
///
/// A borrow ends before its cell does:
///
/// ```compile_fail
/// # use tautline_core::flow::{CellRef, Ddf};
/// let cell = Ddf::<u32>::new();
/// let latch = CellRef::borrowed(cell.latch());
/// drop(cell);
/// assert!(!latch.is_full());
/// ```
///
/// A share keeps only cells that are a part of it:
///
/// ```compile_fail
/// # use std::sync::Arc;
/// # use tautline_core::flow::{CellRef, Ddf};
/// let cell = Ddf::<u32>::new();
/// let other = CellRef::shared(Arc::new(7), |_| cell.latch());
/// ```
///
/// Which thread drops the last share is open, so a share borrows nothing:
///
/// ```compile_fail
/// # use std::sync::Arc;
/// # use tautline_core::flow::{CellRef, Ddf};
/// fn share<'a>(entry: Arc<(Ddf<u32>, &'a str)>) -> CellRef<'a> {
///     CellRef::shared(entry, |(cell, _)| cell.latch())
/// }
/// ```
pub struct CellRef<'a> {
    latch: NonNull<Latch>,
    /// Keeps the latch alive if it is not borrowed.
    owner: Option<Owner>,
    borrow: PhantomData<&'a Latch>,
}

// SAFETY: a reference to a latch, which is Sync, and a share of an owner that is Send and Sync.
unsafe impl Send for CellRef<'_> {}
// SAFETY: gives out only references to the latch, which is Sync.
unsafe impl Sync for CellRef<'_> {}

// The owner is only dropped, and a latch stays valid if a waiter panics.
impl UnwindSafe for CellRef<'_> {}
impl RefUnwindSafe for CellRef<'_> {}

impl<'a> CellRef<'a> {
    /// Creates a reference to a borrowed cell.
    #[inline]
    pub const fn borrowed(latch: &'a Latch) -> Self {
        Self {
            latch: NonNull::from_ref(latch),
            owner: None,
            borrow: PhantomData,
        }
    }

    /// Creates a reference to the cell that `latch` finds in `owner`, which it keeps alive.
    #[inline]
    pub fn shared<T: Send + Sync + 'static>(
        owner: Arc<T>,
        latch: impl FnOnce(&T) -> &Latch,
    ) -> Self {
        // SAFETY: the owner borrows nothing.
        unsafe { Self::shared_scoped(owner, latch) }
    }

    /// As [`shared`](Self::shared), for an owner that borrows.
    ///
    /// # Safety
    /// The caller must ensure that dropping the owner accesses nothing that it borrows.
    pub(crate) unsafe fn shared_scoped<T: Send + Sync + 'a>(
        owner: Arc<T>,
        latch: impl FnOnce(&T) -> &Latch,
    ) -> Self {
        let latch = NonNull::from_ref(latch(&owner));
        let owner: Arc<dyn Send + Sync + 'a> = owner;
        // SAFETY: the types differ in a lifetime. The owner is only dropped, which accesses nothing
        // that it borrows, as the caller ensures.
        let owner = unsafe { mem::transmute::<Arc<dyn Send + Sync + 'a>, Owner>(owner) };
        Self {
            latch,
            owner: Some(owner),
            borrow: PhantomData,
        }
    }

    /// Returns a pointer to the latch, for a registration that may free it, and the share that
    /// keeps it alive until then.
    #[inline]
    pub(crate) fn into_parts(self) -> (NonNull<Latch>, Option<Owner>) {
        (self.latch, self.owner)
    }

    /// Returns the pointer alone, for a reference that is no share: a share is leaked.
    #[inline]
    pub(crate) fn into_borrowed(self) -> NonNull<Latch> {
        ManuallyDrop::new(self).latch
    }
}

impl Deref for CellRef<'_> {
    type Target = Latch;

    #[inline]
    fn deref(&self) -> &Latch {
        // SAFETY: the latch is borrowed for 'a, or a part of the owner: then the closure found it
        // by a shared reference, and the owner is neither moved nor borrowed mutably while this
        // share exists.
        unsafe { self.latch.as_ref() }
    }
}

impl fmt::Debug for CellRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellRef")
            .field("latch", &**self)
            .field("shared", &self.owner.is_some())
            .finish()
    }
}
