//! Aborting a scope, by a panic or a cancellation, and notifying its members that are in no queue.
//!
//! # Algorithm
//! A poll asks whether this scope or one around it was aborted. Scopes nest to any depth and loops
//! poll for each block, so a poll must not walk outwards. The root counts the aborts of its tree,
//! and each scope remembers the count at which it and all scopes around it were clear. A poll at
//! the same count is three loads; after an abort, one walk outwards ends at the first scope that is
//! known to be clear, and leaves the count in the scopes that it passes. Only once a scope around
//! is aborted does each poll walk to it, before the tasks inside end.
//!
//! # Words
//! `aborts`, in the root: the number of aborts in its tree; increased after `aborted` of the scope
//! was set. `clear_at`: a count such that none of the first `clear_at` aborts was of this scope or
//! of one around it, which is final; `usize::MAX` at first. An older count may overwrite a newer
//! one, which costs a walk.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | J2 | `abort`, `abort_by_body` set `aborted` | `is_aborted`, `is_outer_aborted` | what led to the abort | `scope_cancelled`, `scope_gives_up`, `scope_outer_cancelled` |
//! | J3 | `count_abort` increases `aborts` | `is_clear` | `aborted` of as many scopes | `scope_polled` |

use super::cause::{Cause, discard, wake};
use super::members::{MemberKey, Members};
use super::{Payload, Scope, ScopePool};
use crate::finish::Reason;
use crate::port::Unwind;
use crate::sync::{Guard, Ordering};
use crate::watch::{Site, Stall};
use alloc::vec::Vec;
use core::iter::successors;
use core::ptr::NonNull;
use core::task::Waker;

impl<S: ScopePool> Scope<S> {
    /// Registers the waker of a suspended future, to be woken if the scope is aborted.
    pub(crate) fn add_suspended(&self, waker: Waker) -> MemberKey {
        self.members().add_suspended(waker)
    }

    pub(crate) fn remove_suspended(&self, key: MemberKey) {
        let waker = self.members().remove_suspended(key);
        // Outside of the lock: dropping a waker may run any code.
        drop(waker);
    }

    /// Registers a task that waits for a cell, to be cancelled if the scope is aborted.
    pub(crate) fn add_waiting(&self, task: NonNull<S::Waiting>) -> MemberKey {
        self.members().add_waiting(task)
    }

    /// Removes a task that has become ready.
    pub(crate) fn remove_waiting(&self, key: MemberKey) {
        self.members().remove_waiting(key);
    }

    /// Registers a hold, which the call at `site` took.
    pub(crate) fn add_hold(&self, site: Site) {
        self.members().add_hold(site);
    }

    /// Removes a hold that is about to be released.
    pub(crate) fn remove_hold(&self, site: Site) {
        self.members().remove_hold(site);
    }

    fn members(&self) -> Guard<'_, Members<S::Waiting>> {
        self.root().members.lock(self.port())
    }

    /// Registers a waker for aborts of this scope and of those around it, which others wake, too.
    pub(crate) fn add_watch(&self, waker: Waker) -> MemberKey {
        self.members().add_watch(waker)
    }

    pub(crate) fn remove_watch(&self, key: MemberKey) {
        let waker = self.members().remove_watch(key);
        // Outside of the lock: dropping a waker may run any code.
        drop(waker);
    }

    /// Notifies the members that are in no queue of an abort: futures and watches are woken, and
    /// waiting tasks of aborted scopes are cancelled.
    pub(crate) fn notify_members(&self) {
        let (futures, waiting) = {
            let mut members = self.members();
            let futures = members.abort_wakers();
            // SAFETY: a member, under the lock of the members.
            let waiting = members.claim_waiting(|task| unsafe { S::claim(task) });
            (futures, waiting)
        };
        let port = self.port();
        futures.into_iter().for_each(|waker| wake(port, waker));
        for task in waiting {
            // SAFETY: claimed above.
            unsafe { S::cancel(task) };
        }
    }

    /// Returns the address of the outermost scope around this one, by which callers of the pool are
    /// distinguished.
    pub(crate) fn root_address(&self) -> usize {
        core::ptr::from_ref(self.root()).addr()
    }

    /// Wakes the suspended futures of this scope and of all scopes around it, which are polled once
    /// more.
    pub(crate) fn wake_suspended(&self) {
        let futures = self.members().wakers();
        let port = self.port();
        futures.into_iter().for_each(|waker| wake(port, waker));
    }

    /// Returns the number of suspended futures of this scope and of all scopes around it, and what
    /// else their end waits for: cells and holds, with the calls that wait for or took them.
    pub(crate) fn waits(&self) -> (usize, Vec<(&'static str, Site)>) {
        let members = self.members();
        // SAFETY: a member, under the lock of the members.
        let mut waits = members.waiting(|task| (Stall::CELL, unsafe { S::site(task) }));
        waits.extend(members.holds().map(|site| (Stall::HOLD, site)));
        (members.wakers().len(), waits)
    }

    /// Aborts the scope. Later causes are discarded.
    pub(crate) fn abort(&self, cause: Cause<Payload<S>>) {
        let mut slot = self.cause.lock(self.port());
        if slot.is_none() {
            *slot = Some(cause);
            // ORDERING: Release, pairs with Acquire in is_aborted (J2): a worker that drops a task
            // sees the cause.
            self.aborted.store(true, Ordering::Release);
            self.count_abort();
            drop(slot);
            self.notify_members();
        } else {
            drop(slot);
            discard(self.port(), cause);
        }
    }

    /// Aborts the scope because one of its tasks has unwound. A cancellation that unwinds ends at
    /// the finish.
    pub(crate) fn abort_by_task(&self, payload: Payload<S>) {
        let port = self.port();
        if self.cancellable && port.is_cancellation(&payload) && self.reason().is_some() {
            discard(port, payload);
        } else {
            self.abort(Cause::Panic(payload));
        }
    }

    /// Aborts the scope because of a panic of its body, which is the cause.
    pub(crate) fn abort_by_body(&self) {
        // ORDERING: Release, pairs with Acquire in is_aborted (J2): a worker that drops a task sees
        // what the body did.
        self.aborted.store(true, Ordering::Release);
        self.count_abort();
        self.notify_members();
    }

    /// Makes polls inside of this scope check `aborted`, which was set before.
    fn count_abort(&self) {
        // ORDERING: Release, pairs with Acquire in is_clear (J3): a poll that loads this count
        // observes `aborted`.
        self.root().aborts.fetch_add(1, Ordering::Release);
    }

    /// Returns whether neither this scope nor one around it was aborted.
    #[inline]
    fn is_clear(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in count_abort (J3): `aborted` of as many scopes is
        // visible.
        let aborts = self.root().aborts.load(Ordering::Acquire);
        // ORDERING: Relaxed: a count at which a scope is clear is final.
        self.clear_at.load(Ordering::Relaxed) == aborts || self.is_clear_at(aborts)
    }

    /// As [`is_clear`](Self::is_clear), by a walk outwards to the first scope that is known to be
    /// clear at `aborts`.
    #[cold]
    #[inline(never)]
    fn is_clear_at(&self, aborts: usize) -> bool {
        // ORDERING: Relaxed, as in is_clear.
        let is_unknown = |scope: &&Self| scope.clear_at.load(Ordering::Relaxed) != aborts;
        let unknown = || successors(Some(self), |scope| scope.parent()).take_while(is_unknown);
        // ORDERING: Relaxed: made visible by the count.
        if unknown().any(|scope| scope.aborted.load(Ordering::Relaxed)) {
            return false;
        }
        // ORDERING: Relaxed, as in is_clear.
        unknown().for_each(|scope| scope.clear_at.store(aborts, Ordering::Relaxed));
        true
    }

    /// Returns whether tasks that have not begun are to be dropped.
    #[inline]
    pub(crate) fn is_aborted(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in abort and abort_by_body (J2).
        self.aborted.load(Ordering::Acquire) || (self.cancellable && self.is_outer_aborted())
    }

    /// Returns whether a scope around this one was aborted, across scopes that cannot be cancelled.
    #[inline]
    fn is_outer_aborted(&self) -> bool {
        if self.is_clear() {
            return false;
        }
        let mut scope = self.parent();
        while let Some(this) = scope {
            // ORDERING: Acquire, pairs with Release in abort and abort_by_body (J2).
            if this.aborted.load(Ordering::Acquire) {
                return true;
            }
            scope = this.parent();
        }
        false
    }

    /// Returns the reason why this scope, or one around it, was cancelled.
    #[inline]
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self.is_clear() {
            true => None,
            false => self.innermost_reason(),
        }
    }

    #[cold]
    fn innermost_reason(&self) -> Option<Reason> {
        let mut scope = Some(self);
        while let Some(this) = scope {
            // ORDERING: Relaxed: set under the lock of the cause, which is acquired next.
            let aborted = this.aborted.load(Ordering::Relaxed);
            if let Some(reason) = aborted.then(|| this.own_reason()).flatten() {
                return Some(reason);
            }
            scope = this.finish();
        }
        None
    }

    fn own_reason(&self) -> Option<Reason> {
        match &*self.cause.lock(self.port()) {
            Some(Cause::Cancelled(reason)) => Some(*reason),
            _ => None,
        }
    }

    /// Takes the cause of an abort. Called after the wait.
    pub(crate) fn take_cause(&self) -> Option<Cause<Payload<S>>> {
        // ORDERING: Relaxed: the wait for the last task has acquired it (`scope.J1`).
        if self.aborted.load(Ordering::Relaxed) {
            return self.cause.lock(self.port()).take();
        }
        let outer = self.cancellable && self.is_outer_aborted();
        outer.then(|| Cause::Cancelled(self.reason().unwrap_or(Reason::GivenUp)))
    }
}
