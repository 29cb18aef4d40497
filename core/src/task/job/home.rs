//! The scope of a future that is a task, as its metadata.

use crate::port::Host;
use crate::task::pool::TaskScope;
use async_task::Runnable;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// The scope that a future is a member of.
pub(super) struct Home<P: Host> {
    pub scope: NonNull<TaskScope<P>>,
}

impl<P: Host> Clone for Home<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Host> Copy for Home<P> {}

// SAFETY: a scope is Sync, and outlives the future.
unsafe impl<P: Host> Send for Home<P> {}
// SAFETY: a scope is Sync, and outlives the future.
unsafe impl<P: Host> Sync for Home<P> {}

/// A future that is ready to be polled.
pub(super) type Resumable<P> = Runnable<Home<P>>;

/// Returns the scope of a future that is a task.
///
/// # Safety
/// The caller must have `future` from [`Resumable::into_raw`] and not have run it.
pub(super) unsafe fn scope_of<P: Host>(future: NonNull<()>) -> NonNull<TaskScope<P>> {
    // SAFETY: the future was not run, as the caller ensures, and is not dropped here.
    let future = ManuallyDrop::new(unsafe { Resumable::<P>::from_raw(future) });
    future.metadata().scope
}
