//! What is around a task: its scope, and the loops of which it is a part.
//!
//! A task that is spawned joins a scope, and is part of the loops in which that scope was opened. A fork may be made in a loop
//! inside of the scope; it ends before the body of that loop does, so it refers to a value in the loop's frame.

use super::{Scope, ScopePool};
use crate::taper::Trail;
use core::mem::offset_of;
use core::ptr::NonNull;

/// The scope and the loops around a task.
pub(in crate::task) struct Around<S: ScopePool> {
    /// `None` in the field of a scope: it is that scope.
    scope: Option<NonNull<Scope<S>>>,
    trail: Trail,
}

impl<S: ScopePool> Around<S> {
    /// Creates what is around the body of a loop in `scope`.
    pub(in crate::task) fn of_loop(scope: &Scope<S>, trail: Trail) -> Self {
        Self {
            scope: Some(NonNull::from(scope)),
            trail,
        }
    }

    /// Creates the field of a scope that was opened in the loops of `trail`.
    pub(super) const fn of_scope(trail: Trail) -> Self {
        Self { scope: None, trail }
    }

    pub(in crate::task) fn trail(&self) -> Trail {
        self.trail
    }

    /// Returns the scope.
    ///
    /// # Safety
    /// `this` must be alive, and come from [`Scope::around`] or [`Around::of_loop`].
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
    /// Returns the loops in which this scope was opened.
    pub(in crate::task) fn trail(&self) -> Trail {
        self.around.trail
    }

    /// Returns what is around the tasks of this scope.
    #[inline(always)]
    pub(in crate::task) fn around(&self) -> NonNull<Around<S>> {
        // SAFETY: the offset is that of a field. The pointer is one to the scope, so that the scope can be reached from it.
        unsafe {
            NonNull::from(self)
                .byte_add(offset_of!(Self, around))
                .cast()
        }
    }
}
