//! The scope of a future that is a task, as its metadata.

use async_task::Runnable;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// The scope, an `S`, of which a future is a member.
pub(super) struct Home<S> {
    pub scope: NonNull<S>,
}

impl<S> Clone for Home<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Home<S> {}

// SAFETY: the scope is Sync, and outlives the future.
unsafe impl<S: Sync> Send for Home<S> {}
// SAFETY: the scope is Sync, and outlives the future.
unsafe impl<S: Sync> Sync for Home<S> {}

/// A future that is ready to be polled.
pub(super) type Resumable<S> = Runnable<Home<S>>;

/// Returns the scope of a future that is a task.
///
/// # Safety
/// The caller must have `future` from [`Resumable::into_raw`] and not have run it.
pub(super) unsafe fn scope_of<S>(future: NonNull<()>) -> NonNull<S> {
    // SAFETY: the future was not run, as the caller ensures, and is not dropped here.
    let future = ManuallyDrop::new(unsafe { Resumable::<S>::from_raw(future) });
    future.metadata().scope
}
