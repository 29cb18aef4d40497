//! The scope around a task, and a mark.
//!
//! A mark is a word of a system above tasks, whose meaning is unknown here; 0 without one. A task
//! that is spawned joins a scope, and has the mark of the code in which that scope was opened. A
//! fork may be made in a region inside of the scope that has another mark; it ends before that
//! region does, so it refers to a value in the region's frame.

use super::{Scope, ScopePool};
use core::mem::offset_of;
use core::ptr::NonNull;

/// The scope and the mark of a task.
pub(in crate::task) struct Around<S: ScopePool> {
    /// `None` in the field of a scope: it is that scope.
    scope: Option<NonNull<Scope<S>>>,
    mark: u64,
}

impl<S: ScopePool> Around<S> {
    /// Creates the surroundings of a region in `scope`.
    pub(in crate::task) fn of_region(scope: &Scope<S>, mark: u64) -> Self {
        Self {
            scope: Some(NonNull::from(scope)),
            mark,
        }
    }

    /// Creates the field of a scope.
    pub(super) const fn of_scope(mark: u64) -> Self {
        Self { scope: None, mark }
    }

    pub(in crate::task) fn mark(&self) -> u64 {
        self.mark
    }

    /// Returns the scope.
    ///
    /// # Safety
    /// `this` must be alive, and come from [`Scope::around`] or [`Around::of_region`].
    #[inline]
    pub(in crate::task) unsafe fn scope(this: NonNull<Self>) -> NonNull<Scope<S>> {
        // SAFETY: alive, as the caller ensures.
        match unsafe { this.as_ref() }.scope {
            Some(scope) => scope,
            // SAFETY: without a pointer, it is the field of a scope.
            None => unsafe { Self::own_scope(this) },
        }
    }

    /// Returns the scope of which `this` is the field.
    ///
    /// # Safety
    /// `this` must come from [`Scope::around`].
    #[inline(always)]
    pub(in crate::task) unsafe fn own_scope(this: NonNull<Self>) -> NonNull<Scope<S>> {
        // SAFETY: the pointer was derived from one to the scope, which the subtraction restores.
        unsafe { this.byte_sub(offset_of!(Scope<S>, around)).cast() }
    }
}

impl<S: ScopePool> Scope<S> {
    /// Returns the mark of the tasks of this scope.
    pub(in crate::task) fn mark(&self) -> u64 {
        self.around.mark
    }

    /// Returns the surroundings of the tasks of this scope.
    #[inline(always)]
    pub(in crate::task) fn around(&self) -> NonNull<Around<S>> {
        // SAFETY: the offset is that of a field. The pointer is one to the scope, so that the scope
        // can be reached from it.
        unsafe {
            NonNull::from(self)
                .byte_add(offset_of!(Self, around))
                .cast()
        }
    }
}
