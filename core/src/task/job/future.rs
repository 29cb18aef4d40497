//! Futures as tasks: each turn of one is a task; suspended, it is nowhere but with those who will wake it.
//!
//! The state machine between polls and wake-ups is the crate `async-task`.

use super::Task;
use crate::port::Host;
use crate::task::pool::Pool;
use crate::task::scope::{Cause, Number, Scope};
use async_task::{Builder, Runnable, ScheduleInfo, WithInfo};
use core::future::Future;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// Where a future belongs.
pub(super) struct Home<P: Host> {
    scope: NonNull<Scope<P>>,
}

impl<P: Host> Clone for Home<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Host> Copy for Home<P> {}

// SAFETY: a scope is Sync, and outlives the future.
unsafe impl<P: Host> Send for Home<P> {}
// SAFETY: as above.
unsafe impl<P: Host> Sync for Home<P> {}

/// A future whose turn it is.
pub(super) type Resumable<P> = Runnable<Home<P>>;

/// The scope of a future that is a task.
///
/// # Safety
/// `future` came from [`Resumable::into_raw`] and has not been run.
pub(super) unsafe fn scope_of<P: Host>(future: NonNull<()>) -> NonNull<Scope<P>> {
    // SAFETY: promised by the caller; not dropped here.
    let future = core::mem::ManuallyDrop::new(unsafe { Resumable::<P>::from_raw(future) });
    future.metadata().scope
}

/// A task of `scope`, which it has entered, that runs `future`; one allocation. It is to be scheduled.
pub(in crate::task) fn spawn_future<'s, P: Host>(
    scope: &'s Scope<P>,
    future: impl Future<Output = ()> + Send + 's,
) -> Task<P> {
    let home = Home {
        scope: NonNull::from(scope),
    };
    let member = Member {
        future: Some(future),
        home,
        suspended: None,
    };
    let schedule = WithInfo(move |future: Resumable<P>, info: ScheduleInfo| {
        let task = Task::of_future(future);
        if info.woken_while_running {
            Pool::schedule_last(task);
        } else {
            Pool::schedule(task);
        }
    });
    // SAFETY: the future is dropped before its scope is left, so before 's ends; it is Send; the schedule function is Send and
    // Sync and is called only before; wakers that are left over never reach either.
    let (future, handle) = unsafe {
        Builder::new()
            .metadata(home)
            .spawn_unchecked(|_| member, schedule)
    };
    handle.detach();
    Task::of_future(future)
}

/// A future as a member of a scope: its panic is the scope's, it ends when the scope has ended, and it leaves the scope when
/// it is done or dropped.
struct Member<P: Host, F> {
    future: Option<F>,
    home: Home<P>,
    /// Known to the scope as one to be woken if the scope ends early.
    suspended: Option<Number>,
}

impl<P: Host, F: Future<Output = ()>> Future for Member<P, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned with `self`: it is dropped in place, never moved.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: the scope waits for its members.
        let scope = unsafe { this.home.scope.as_ref() };
        if scope.has_ended() {
            return Poll::Ready(());
        }
        let Some(future) = &mut this.future else {
            return Poll::Ready(());
        };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(future) };
        match scope.pool().port().catch(|| future.poll(cx)) {
            Ok(Poll::Pending) => {
                if this.suspended.is_none() {
                    this.suspended = Some(scope.keep_suspended(cx.waker().clone()));
                }
                if scope.has_ended() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
            Ok(Poll::Ready(())) => Poll::Ready(()),
            Err(payload) => {
                scope.fail(Cause::Panic(payload));
                Poll::Ready(())
            }
        }
    }
}

impl<P: Host, F> Drop for Member<P, F> {
    fn drop(&mut self) {
        // SAFETY: the share that was taken when the task was made.
        let scope = unsafe { self.home.scope.as_ref() };
        let future = &mut self.future;
        if let Err(payload) = scope.pool().port().catch(|| *future = None) {
            scope.fail(Cause::Panic(payload));
        }
        if let Some(suspended) = self.suspended.take() {
            scope.forget_suspended(suspended);
        }
        // SAFETY: as above.
        unsafe { Scope::leave(self.home.scope) };
    }
}
