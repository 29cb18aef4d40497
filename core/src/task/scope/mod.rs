//! Scopes: the number of live tasks, and the abort of the scope with its cause.
//!
//! A scope is independent of workers and pools: it takes a [`WorkerId`], and its pool is a
//! [`ScopePool`].
//!
//! # Words
//! `live`: see [`Counter`]. `owner_count`: accessed by the owning worker only. `aborted`: set by
//! the first task that panics or cancels the scope, under the lock of `cause`, or by a panic of the
//! scope's body (`abort.J2`); read before a task is run. `id`: set once, by the first call of
//! [`Scope::id`]. `aborts`, `clear_at`: see `abort`.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | J1 | the last `end` of `live` | the owner's wait | everything that the tasks did, `cause` included | `scope_*` in `verify/tests/task.rs` |

mod abort;
mod around;
mod cause;
mod members;

pub(super) use around::Around;
pub use cause::Cancelled;
pub(super) use cause::{Cause, discard, wake};
pub(super) use members::MemberKey;

use super::wait::Wait;
use crate::finish::{Counter, End, Reason};
use crate::id::WorkerId;
use crate::port::{Host, Unpark, Unwind};
use crate::sync::{AtomicBool, AtomicUsize, CacheLine, Lock, Ordering};
use crate::watch::Site;
use alloc::sync::Arc;
use core::cell::Cell;
use core::mem;
use core::ptr::{self, NonNull};
use core::task::Waker;
use members::Members;

/// The pool of a scope.
///
/// # Safety
/// The implementor must outlive its scopes, as must the ports that it returns.
pub(super) unsafe trait ScopePool: Sync {
    /// The machine under the pool.
    type Port: Host;

    /// The head of a task that waits for a cell.
    type Waiting;

    /// Returns the machine under the pool.
    fn port(&self) -> &Self::Port;

    /// Returns a number that no other scope of the pool has, at least 1.
    fn new_scope_number(&self) -> usize;

    /// Claims a waiting task of an aborted scope, so that it is not made ready any more. Returns
    /// whether the caller must [`cancel`](Self::cancel) it.
    ///
    /// # Safety
    /// The caller must hold the lock of the members, of which `task` is one.
    unsafe fn claim(task: NonNull<Self::Waiting>) -> bool;

    /// Returns the call that made a task wait.
    ///
    /// # Safety
    /// The caller must hold the lock of the members, of which `task` is one.
    unsafe fn site(task: NonNull<Self::Waiting>) -> Site;

    /// Drops the body of a task and leaves its scope.
    ///
    /// # Safety
    /// The caller must have [claimed](Self::claim) the task, and call this once.
    unsafe fn cancel(task: NonNull<Self::Waiting>);
}

/// The payload of a panic in a pool `S`.
type Payload<S> = <<S as ScopePool>::Port as Unwind>::Payload;

/// Identifies a scope of a pool. A member of a scope never reaches another pool, as lifetimes
/// distinguish the scopes of different calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(usize);

/// The party to be notified of the end of the last task.
pub(super) enum Owner {
    /// The worker that waits for the scope.
    Worker(WorkerId),
    /// A future that waits for the scope, which is in an `Arc`. Its tasks together hold one
    /// reference to that, and one share of the parent scope.
    Future(Lock<Awaiter>),
}

/// The state of the future that waits for a scope.
pub(super) enum Awaiter {
    /// The future was not polled yet, or was woken.
    NotPolled,
    /// The future is to be woken.
    Waiting(Waker),
    /// The future was dropped.
    Dropped,
}

/// A scope. Its tasks refer to it by pointer: it outlives them, since its owner waits for them.
pub(super) struct Scope<S: ScopePool> {
    /// On a separate cache line from the fields that all workers read, since workers that end
    /// stolen tasks write it.
    live: CacheLine<Counter>,
    owner: Owner,
    /// Tasks spawned minus tasks finished on the owning worker, kept non-atomically. `None` once
    /// the owner uses the shared counter. On a separate cache line, since the owner writes it at
    /// every spawn.
    owner_count: CacheLine<Cell<Option<isize>>>,
    aborted: AtomicBool,
    /// In a root: the number of aborts of this scope and of all scopes inside it.
    aborts: AtomicUsize,
    /// The number of aborts at which this scope and all scopes around it were known to be clear.
    clear_at: AtomicUsize,
    cause: Lock<Option<Cause<Payload<S>>>>,
    /// The scope of the task that opened this one, which it outlives.
    parent: Option<NonNull<Scope<S>>>,
    /// The innermost finish around this scope.
    finish: Option<NonNull<Scope<S>>>,
    /// The outermost scope around this one; `None` if it is this one.
    root: Option<NonNull<Scope<S>>>,
    /// In a root: the members of this scope and of all scopes inside it.
    members: Lock<Members<S::Waiting>>,
    pool: NonNull<S>,
    around: Around<S>,
    /// 0 until the number is assigned.
    id: AtomicUsize,
    /// The owner's wait mode.
    pub wait: Wait,
    /// Whether an abort of the parent scope aborts this one.
    pub cancellable: bool,
}

// SAFETY: payloads and wakers are Send and guarded by locks, counters are atomic, only the owning
// worker's thread accesses `owner_count`, and the pointers lead to Sync values that outlive the
// scope.
unsafe impl<S: ScopePool> Sync for Scope<S> {}
// SAFETY: payloads and wakers are Send; the pointers lead to Sync values that outlive the scope.
unsafe impl<S: ScopePool> Send for Scope<S> {}

impl<S: ScopePool> Scope<S> {
    pub(super) fn new(pool: &S, parent: Option<&Self>, owner: Owner, wait: Wait) -> Self {
        let (live, count) = match owner {
            Owner::Worker(_) => (Counter::reserved(), Some(0)),
            Owner::Future(_) => (Counter::new(), None),
        };
        Self {
            live: CacheLine(live),
            owner,
            owner_count: CacheLine(Cell::new(count)),
            aborted: AtomicBool::new(false),
            aborts: AtomicUsize::new(0),
            clear_at: AtomicUsize::new(usize::MAX),
            cause: Lock::new(None),
            parent: parent.map(NonNull::from),
            finish: parent.and_then(|p| match p.cancellable {
                true => Some(NonNull::from(p)),
                false => p.finish,
            }),
            root: parent.map(|p| NonNull::from(p.root())),
            members: Lock::new(Members::new()),
            pool: NonNull::from(pool),
            around: Around::of_scope(0),
            id: AtomicUsize::new(0),
            wait,
            cancellable: false,
        }
    }

    /// Makes aborts of the parent scope abort this one too.
    pub(super) fn cancellable(mut self) -> Self {
        self.cancellable = true;
        self
    }

    /// Gives the tasks of this scope a mark.
    pub(super) fn marked(mut self, mark: u64) -> Self {
        self.around = Around::of_scope(mark);
        self
    }

    fn root(&self) -> &Self {
        // SAFETY: a scope around this one, which outlives it.
        self.root.map_or(self, |r| unsafe { r.as_ref() })
    }

    pub(super) fn counter(&self) -> &Counter {
        &self.live
    }

    pub(super) fn pool(&self) -> &S {
        // SAFETY: a pool outlives its scopes.
        unsafe { self.pool.as_ref() }
    }

    pub(super) fn port(&self) -> &S::Port {
        self.pool().port()
    }

    /// Returns the identity of this scope, which no other scope of the pool has, before or after.
    pub(super) fn id(&self) -> ScopeId {
        // ORDERING: Relaxed: the number is set once, and publishes nothing else.
        let id = self.id.load(Ordering::Relaxed);
        if id != 0 {
            return ScopeId(id);
        }
        let new = self.pool().new_scope_number();
        // ORDERING: Relaxed, on failure too: the number is set once, and publishes nothing else.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let set = self.id.compare_exchange(0, new, success, failure);
        ScopeId(set.map_or_else(|first| first, |_| new))
    }

    pub(super) fn parent(&self) -> Option<&Self> {
        // SAFETY: the parent's owner is inside the call that opened this scope, or this scope holds
        // a share of the parent.
        self.parent.map(|p| unsafe { p.as_ref() })
    }

    /// Returns the innermost finish around this scope: the scopes between cannot be cancelled.
    fn finish(&self) -> Option<&Self> {
        // SAFETY: a scope around this one, which outlives it.
        self.finish.map(|f| unsafe { f.as_ref() })
    }

    /// Counts one more task, before another thread can access it.
    #[inline]
    pub(super) fn enter(&self) {
        self.live.spawn();
    }

    /// As [`enter`](Self::enter), by a task that runs on worker `on`.
    #[inline]
    pub(super) fn enter_on(&self, on: WorkerId) {
        match self.count_of(on) {
            Some(count) => self.owner_count.set(Some(count + 1)),
            None => self.live.spawn(),
        }
    }

    /// Returns the owner's private count, if `on` is the owner and still uses it.
    #[inline]
    fn count_of(&self, on: WorkerId) -> Option<isize> {
        match self.owner {
            Owner::Worker(owner) if owner == on => self.owner_count.get(),
            _ => None,
        }
    }

    /// As [`leave`](Self::leave), by a task that runs on worker `on`.
    ///
    /// # Safety
    /// As for [`leave`](Self::leave).
    #[inline]
    pub(super) unsafe fn leave_on(scope: NonNull<Self>, on: WorkerId) {
        // SAFETY: the scope is alive until the share is given up.
        let this = unsafe { scope.as_ref() };
        match this.count_of(on) {
            Some(count) => this.owner_count.set(Some(count - 1)),
            // SAFETY: the caller has a share of the scope and gives it up.
            None => unsafe { Self::leave(scope) },
        }
    }

    /// Returns whether all tasks have ended, by one load; false if the owner uses the shared
    /// counter. Called by the owner after the body.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        let count = self.owner_count.get();
        count.is_some_and(|count| self.live.would_settle(count))
    }

    /// Makes the owner use the shared counter from now on. Returns whether all tasks have ended.
    /// Called by the owner once, after the body.
    pub(super) fn settle(&self) -> bool {
        let count = self.owner_count.take();
        count.is_none_or(|count| self.live.settle(count))
    }

    /// Counts the end of a task. The scope may be gone when this returns.
    ///
    /// # Safety
    /// The caller must have one share of `scope`, which it gives up.
    pub(super) unsafe fn leave(scope: NonNull<Self>) {
        // SAFETY: the scope is alive until the share is given up, below.
        let this = unsafe { scope.as_ref() };
        // Read before the share is given up.
        let (pool, parent) = (this.pool, this.parent);
        match this.owner {
            Owner::Worker(owner) => {
                if this.live.end() == End::Wake {
                    // SAFETY: the calling worker's seat, or its visit, keeps the pool.
                    let pool = unsafe { pool.as_ref() };
                    pool.port().unpark(owner);
                }
            }
            Owner::Future(ref owner) => {
                if this.live.end() == End::More {
                    return;
                }
                let owner = mem::replace(&mut *owner.lock(this.port()), Awaiter::NotPolled);
                if let Awaiter::Dropped = owner {
                    this.propagate_panic();
                }
                // SAFETY: the tasks' reference to the Arc, given up by the last of them.
                drop(unsafe { Arc::from_raw(scope.as_ptr()) });
                if let Awaiter::Waiting(waker) = owner {
                    // SAFETY: the calling worker's seat, or its visit, keeps the pool.
                    let pool = unsafe { pool.as_ref() };
                    wake(pool.port(), waker);
                }
                if let Some(parent) = parent {
                    // SAFETY: the tasks' share of the parent scope.
                    unsafe { Self::leave(parent) };
                }
            }
        }
    }

    /// Returns a share of a scope that async code has opened, for one of its tasks; `None` if a
    /// worker owns the scope.
    pub(super) fn share(&self) -> Option<Arc<Self>> {
        if matches!(self.owner, Owner::Worker(_)) {
            return None;
        }
        self.enter();
        // SAFETY: such a scope is in an Arc, to which its tasks, one of which is the caller, have a
        // reference.
        unsafe {
            Arc::increment_strong_count(self);
            Some(Arc::from_raw(self))
        }
    }

    /// Cancels the innermost finish that contains this scope. Returns false if there is none.
    pub(super) fn cancel(&self, reason: Reason) -> bool {
        let mut scope = Some(self);
        while let Some(this) = scope {
            if this.cancellable {
                this.abort(Cause::Cancelled(reason));
                return true;
            }
            scope = this.parent();
        }
        false
    }

    /// Returns whether all tasks have ended. If not, `waker` is woken when they have.
    pub(super) fn poll(&self, waker: &Waker) -> bool {
        if let Owner::Future(slot) = &self.owner {
            let waker = Awaiter::Waiting(waker.clone());
            let before = mem::replace(&mut *slot.lock(self.port()), waker);
            // Outside of the lock: dropping a waker may run any code.
            drop(before);
        }
        self.live.is_done()
    }

    /// Records that the future that waits for this scope was dropped.
    pub(super) fn abandon(&self) {
        let Owner::Future(slot) = &self.owner else {
            return;
        };
        let before = mem::replace(&mut *slot.lock(self.port()), Awaiter::Dropped);
        // Outside of the lock: dropping a waker may run any code.
        drop(before);
        // If a task is live, the last one does this.
        if self.live.is_done() {
            self.propagate_panic();
        }
    }

    /// Passes a panic to the parent scope, since no future waits for this one.
    fn propagate_panic(&self) {
        let cause = self.cause.lock(self.port()).take();
        if let (Some(cause @ Cause::Panic(_)), Some(parent)) = (cause, self.parent()) {
            parent.abort(cause);
        }
    }

    /// Returns whether this scope is `other` or was opened inside it.
    pub(super) fn is_inside(&self, other: &Self) -> bool {
        let mut scope = Some(self);
        while let Some(this) = scope {
            if ptr::eq(this, other) {
                return true;
            }
            scope = this.parent();
        }
        false
    }
}
