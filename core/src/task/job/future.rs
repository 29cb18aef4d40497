//! Futures as tasks. Each poll is a task; while suspended, a future is referenced only by its
//! wakers and its scope.
//!
//! The state machine between polls and wake-ups is the crate `async-task`.

use super::Task;
use super::home::{Home, Resumable};
use crate::port::Host;
use crate::task::pool::{Pool, TaskScope};
use crate::task::scope::MemberKey;
use async_task::{Builder, ScheduleInfo, WithInfo};
use core::future::Future;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// Creates a task of `scope`, which already counts it, that runs `future`; one allocation. The
/// caller schedules it.
pub(in crate::task) fn spawn_future<'s, P: Host>(
    scope: &'s TaskScope<P>,
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
    let schedule = WithInfo(move |future: Resumable<TaskScope<P>>, info: ScheduleInfo| {
        let task = Task::of_future(future);
        if info.woken_while_running {
            Pool::schedule_last(task);
        } else {
            Pool::schedule(task);
        }
    });
    // SAFETY: the future is dropped before its scope is left, so before 's ends; it is Send; the
    // schedule function is Send and Sync, and is not called after that; remaining wakers access
    // neither.
    let (future, handle) = unsafe {
        Builder::new()
            .metadata(home)
            .spawn_unchecked(|_| member, schedule)
    };
    handle.detach();
    Task::of_future(future)
}

/// A future as a member of a scope: its panic aborts the scope, an abort of the scope cancels it,
/// and it leaves the scope when it is done or dropped.
struct Member<P: Host, F> {
    future: Option<F>,
    home: Home<TaskScope<P>>,
    /// The key among the members to be woken if the scope is aborted.
    suspended: Option<MemberKey>,
}

impl<P: Host, F: Future<Output = ()>> Future for Member<P, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned with `self`: it is dropped in place, never moved.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: a scope outlives its members.
        let scope = unsafe { this.home.scope.as_ref() };
        if scope.is_aborted() {
            return Poll::Ready(());
        }
        let Some(future) = &mut this.future else {
            return Poll::Ready(());
        };
        // SAFETY: `future` is pinned with `self`.
        let mut future = unsafe { Pin::new_unchecked(future) };
        let pool = scope.pool();
        let poll = || match future.as_mut().poll(cx) {
            Poll::Pending if pool.stalls.asking() != 0 => pool.probe(cx.waker(), |waker| {
                future.poll(&mut Context::from_waker(waker))
            }),
            polled => polled,
        };
        match scope.port().catch(poll) {
            Ok(Poll::Pending) => {
                if this.suspended.is_none() {
                    this.suspended = Some(scope.add_suspended(cx.waker().clone()));
                }
                if scope.is_aborted() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            }
            Ok(Poll::Ready(())) => Poll::Ready(()),
            Err(payload) => {
                scope.abort_by_task(payload);
                Poll::Ready(())
            }
        }
    }
}

impl<P: Host, F> Drop for Member<P, F> {
    fn drop(&mut self) {
        // SAFETY: the scope outlives the share that was taken when the task was created.
        let scope = unsafe { self.home.scope.as_ref() };
        let future = &mut self.future;
        if let Err(payload) = scope.port().catch(|| *future = None) {
            scope.abort_by_task(payload);
        }
        if let Some(suspended) = self.suspended.take() {
            scope.remove_suspended(suspended);
        }
        // SAFETY: the share that was taken when the task was created.
        unsafe { TaskScope::leave(self.home.scope) };
    }
}
