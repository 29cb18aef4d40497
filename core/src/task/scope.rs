//! What a scope knows of its tasks: how many are under way, and why it ended early if it did.
//!
//! # Words
//! `live`: see [`Counter`]. `own`: the owning worker's. `ended`: set once, by the first task that panics or cancels, under the lock of
//! `cause`; read by whoever is about to run a task. `number`: once, by whoever first asks.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | F1 | the last `end` | the owner's wait | everything every task did, `cause` too | `scope_*` in `verify/tests/task.rs` |

use super::Wait;
use super::job::Waiter;
use super::pool::Pool;
use super::worker::Worker;
use crate::finish::{Counter, End, Reason};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicBool, AtomicUsize, CacheLine, Guard, Lock, Ordering};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::mem;
use core::num::NonZero;
use core::ptr::{self, NonNull};
use core::task::Waker;

/// Why a scope ended before all its tasks had run.
#[derive(Debug)]
pub(super) enum Cause<X> {
    /// A task panicked.
    Panic(X),
    /// Somebody cancelled it.
    Cancelled(Reason),
}

/// Drops what nobody gets, where a panic of that drop would be one too many.
pub(super) fn discard<P: Host, T>(port: &P, value: T) {
    if let Err(payload) = port.catch(|| drop(value)) {
        core::mem::forget(payload);
    }
}

/// Wakes what may be anybody's code: its panic must not reach those whose scope it is not.
fn wake<P: Host>(port: &P, waker: Waker) {
    if let Err(payload) = port.catch(|| waker.wake()) {
        discard(port, payload);
    }
}

/// Who is told that the last task has ended.
pub(super) enum Owner {
    /// The worker that waits for it.
    Worker(WorkerId),
    /// A future that waits for it; the scope is in an `Arc`, of which its tasks together hold a share, and another
    /// one of the scope around it.
    Future(Lock<Await>),
}

/// Whether a future waits for a scope.
pub(super) enum Await {
    /// It has not asked yet.
    Nobody,
    /// It has, and wants to be woken.
    Somebody(Waker),
    /// It was dropped.
    Gone,
}

/// Where a member is kept that is in no queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(NonZero<u32>);

/// Members of one kind, by number, and which numbers are free.
struct Kept<T> {
    all: Vec<Option<T>>,
    free: Vec<Number>,
}

impl<T> Kept<T> {
    const fn new() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
        }
    }

    fn keep(&mut self, member: T) -> Number {
        if let Some(number) = self.free.pop() {
            self.all[number.index()] = Some(member);
            return number;
        }
        self.all.push(Some(member));
        let last = u32::try_from(self.all.len()).ok().and_then(NonZero::new);
        Number(last.expect("at most 2^32 members of a scope are in no queue"))
    }

    fn forget(&mut self, number: Number) -> Option<T> {
        self.free.push(number);
        self.all[number.index()].take()
    }
}

impl Number {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    fn of(index: usize) -> Self {
        // It was given for this index before.
        Self(NonZero::new(index as u32 + 1).expect("one more than an index"))
    }
}

/// The members that are in no queue, and must hear of it if their scope ends early.
struct Members<P: Host> {
    /// Futures that are suspended.
    suspended: Kept<Waker>,
    /// Tasks that wait for a cell.
    waiting: Kept<NonNull<Waiter<P>>>,
}

/// One scope. Its tasks lead here by pointer: it outlives them, since its owner waits.
pub(super) struct Scope<P: Host> {
    /// Written by workers that end stolen tasks, so on a line of its own: they also read what the owner does not write.
    live: CacheLine<Counter>,
    owner: Owner,
    /// On a line of its own, since the owner writes it at every spawn. The owning worker's: by how many tasks it has let in more than it has seen off; none: it counts as all do.
    own: CacheLine<Cell<Option<isize>>>,
    ended: AtomicBool,
    cause: Lock<Option<Cause<P::Payload>>>,
    /// Who is at work when this scope is opened; it outlives this one.
    parent: Option<NonNull<Scope<P>>>,
    /// The outermost scope around this one; none: this one.
    root: Option<NonNull<Scope<P>>>,
    /// Of this scope and of all inside it, if it is a root.
    members: Lock<Members<P>>,
    pool: NonNull<Pool<P>>,
    /// 0: none yet.
    number: AtomicUsize,
    pub wait: Wait,
    /// A cancellation from outside reaches the tasks of this scope.
    pub cancellable: bool,
}

// SAFETY: payloads and callbacks are Send and behind locks, counters are atomic, `own` is touched by one thread, pointers lead to what
// outlives the scope and is Sync.
unsafe impl<P: Host> Sync for Scope<P> {}
// SAFETY: as above.
unsafe impl<P: Host> Send for Scope<P> {}

impl<P: Host> Scope<P> {
    pub fn new(pool: &Pool<P>, parent: Option<&Self>, owner: Owner, wait: Wait) -> Self {
        let (live, own) = match owner {
            Owner::Worker(_) => (Counter::reserved(), Some(0)),
            Owner::Future(_) => (Counter::new(), None),
        };
        Self {
            live: CacheLine(live),
            owner,
            own: CacheLine(Cell::new(own)),
            ended: AtomicBool::new(false),
            cause: Lock::new(None),
            parent: parent.map(NonNull::from),
            root: parent.map(|p| NonNull::from(p.root())),
            members: Lock::new(Members {
                suspended: Kept::new(),
                waiting: Kept::new(),
            }),
            pool: NonNull::from(pool),
            number: AtomicUsize::new(0),
            wait,
            cancellable: false,
        }
    }

    /// An end of the scope around it is one of this scope too.
    pub fn cancellable(mut self) -> Self {
        self.cancellable = true;
        self
    }

    fn root(&self) -> &Self {
        // SAFETY: a scope around this one.
        self.root.map_or(self, |r| unsafe { r.as_ref() })
    }

    pub fn counter(&self) -> &Counter {
        &self.live
    }

    pub fn pool(&self) -> &Pool<P> {
        // SAFETY: a pool outlives its scopes: whoever drops it waits for all who are in it.
        unsafe { self.pool.as_ref() }
    }

    /// No other scope of the pool has the same, before or after.
    pub fn number(&self) -> usize {
        // ORDERING: Relaxed: it changes once, and nothing else is read by it.
        let number = self.number.load(Ordering::Relaxed);
        if number != 0 {
            return number;
        }
        let new = self.pool().number_scope();
        // ORDERING: Relaxed, on failure too: as above.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let kept = self.number.compare_exchange(0, new, yes, no);
        kept.map_or_else(|first| first, |_| new)
    }

    pub fn parent(&self) -> Option<&Self> {
        // SAFETY: the parent's owner is inside this scope's opening call, or holds this scope's share.
        self.parent.map(|p| unsafe { p.as_ref() })
    }

    /// One more task, before it can be seen by anybody else.
    #[inline]
    pub fn enter(&self) {
        self.live.spawn();
    }

    /// The same, by a task on that worker.
    #[inline]
    pub fn enter_on(&self, on: &Worker<P>) {
        match self.own_count(on) {
            Some(own) => self.own.set(Some(own + 1)),
            None => self.live.spawn(),
        }
    }

    /// How many tasks that worker counts by itself, if it owns the scope.
    #[inline]
    fn own_count(&self, on: &Worker<P>) -> Option<isize> {
        match self.owner {
            Owner::Worker(owner) if owner == on.id() => self.own.get(),
            _ => None,
        }
    }

    /// As [`leave`](Self::leave), by a task on that worker.
    ///
    /// # Safety
    /// As [`leave`](Self::leave).
    #[inline]
    pub unsafe fn leave_on(scope: NonNull<Self>, on: &Worker<P>) {
        // SAFETY: alive until the share is given up.
        let this = unsafe { scope.as_ref() };
        match this.own_count(on) {
            Some(own) => this.own.set(Some(own - 1)),
            // SAFETY: promised by the caller.
            None => unsafe { Self::leave(scope) },
        }
    }

    /// Whether all tasks have ended, as far as the owner can tell without an effort. The owner, after the body.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.own
            .get()
            .is_some_and(|own| self.live.would_settle(own))
    }

    /// From now on the owner counts as all do. True if all tasks have ended. The owner, once, after the body.
    pub fn settle(&self) -> bool {
        self.own.take().is_none_or(|own| self.live.settle(own))
    }

    /// A task of `scope` has ended. The scope may be gone when this returns.
    ///
    /// # Safety
    /// `scope` is alive, and the caller has one share of it, which it gives up.
    pub unsafe fn leave(scope: NonNull<Self>) {
        // SAFETY: alive until the share is given up, below.
        let this = unsafe { scope.as_ref() };
        // What is needed after that.
        let (pool, parent) = (this.pool, this.parent);
        match this.owner {
            Owner::Worker(owner) => {
                if this.live.end() == End::Wake {
                    // SAFETY: this worker is in the pool.
                    let pool = unsafe { pool.as_ref() };
                    pool.port().unpark(owner);
                }
            }
            Owner::Future(ref owner) => {
                if this.live.end() == End::More {
                    return;
                }
                let owner = mem::replace(&mut *owner.lock(this.pool().port()), Await::Nobody);
                if let Await::Gone = owner {
                    this.pass_on();
                }
                // SAFETY: the tasks' share of the Arc, given up by the last of them.
                drop(unsafe { Arc::from_raw(scope.as_ptr()) });
                if let Await::Somebody(waker) = owner {
                    // SAFETY: this worker, or visitor, is in the pool.
                    let pool = unsafe { pool.as_ref() };
                    wake(pool.port(), waker);
                }
                if let Some(parent) = parent {
                    // SAFETY: the tasks' share of the scope around it.
                    unsafe { Self::leave(parent) };
                }
            }
        }
    }

    /// A share of a scope that async code has opened, for one who is in it.
    pub fn share(&self) -> Option<Arc<Self>> {
        if matches!(self.owner, Owner::Worker(_)) {
            return None;
        }
        self.enter();
        // SAFETY: such a scope is in an Arc, of which its tasks, the caller one of them, have a share.
        unsafe {
            Arc::increment_strong_count(self);
            Some(Arc::from_raw(self))
        }
    }

    /// Cancels the innermost finish from here on; false if there is none.
    pub fn cancel(&self, reason: Reason) -> bool {
        let mut scope = Some(self);
        while let Some(this) = scope {
            if this.cancellable {
                this.fail(Cause::Cancelled(reason));
                return true;
            }
            scope = this.parent();
        }
        false
    }

    /// Whether all tasks have ended; else `waker` is called when they have.
    pub fn poll(&self, waker: &Waker) -> bool {
        if let Owner::Future(slot) = &self.owner {
            let waker = Await::Somebody(waker.clone());
            let before = mem::replace(&mut *slot.lock(self.pool().port()), waker);
            // Not under the lock: it may be anybody's code.
            drop(before);
        }
        self.live.is_done()
    }

    /// The future that waits for it is dropped.
    pub fn abandon(&self) {
        let Owner::Future(slot) = &self.owner else {
            return;
        };
        let before = mem::replace(&mut *slot.lock(self.pool().port()), Await::Gone);
        // Not under the lock: it may be anybody's code.
        drop(before);
        // Else the last task finds out.
        if self.live.is_done() {
            self.pass_on();
        }
    }

    /// Gives a panic that nobody waits for to the scope around it.
    fn pass_on(&self) {
        let cause = self.cause.lock(self.pool().port()).take();
        if let (Some(cause @ Cause::Panic(_)), Some(parent)) = (cause, self.parent()) {
            parent.fail(cause);
        }
    }

    /// Keeps the waker of a suspended future, in case the scope ends early.
    pub fn keep_suspended(&self, waker: Waker) -> Number {
        self.members().suspended.keep(waker)
    }

    /// Lets go of it.
    pub fn forget_suspended(&self, number: Number) {
        let waker = self.members().suspended.forget(number);
        // Not under the lock: it may be anybody's code.
        drop(waker);
    }

    /// Keeps a task that waits for a cell, in case the scope ends early.
    pub fn keep_waiting(&self, waiter: NonNull<Waiter<P>>) -> Number {
        self.members().waiting.keep(waiter)
    }

    /// Lets go of one that is on its way to a queue.
    pub fn forget_waiting(&self, number: Number) {
        self.members().waiting.forget(number);
    }

    fn members(&self) -> Guard<'_, Members<P>> {
        self.root().members.lock(self.pool().port())
    }

    /// Tells the members that are in no queue that their scope has ended early: futures are woken, tasks that wait for a
    /// cell are emptied.
    pub fn end_members(&self) {
        let (mut futures, mut waiting) = (Vec::<Waker>::new(), Vec::new());
        {
            let mut members = self.members();
            futures.extend(members.suspended.all.iter().flatten().cloned());
            let Kept { all, free } = &mut members.waiting;
            for (index, kept) in all.iter_mut().enumerate() {
                // SAFETY: kept until it is on its way to a queue.
                if let Some(waiter) = kept.take_if(|w| unsafe { Waiter::try_forsake(*w) }) {
                    waiting.push(waiter);
                    free.push(Number::of(index));
                }
            }
        }
        let port = self.pool().port();
        futures.into_iter().for_each(|waker| wake(port, waker));
        for waiter in waiting {
            // SAFETY: given to us, above.
            unsafe { Waiter::forsake(waiter) };
        }
    }

    /// Ends the scope early; only the first cause counts.
    pub fn fail(&self, cause: Cause<P::Payload>) {
        let mut slot = self.cause.lock(self.pool().port());
        if slot.is_none() {
            *slot = Some(cause);
            // ORDERING: Release, pairs with Acquire in has_ended: who drops a task sees why.
            self.ended.store(true, Ordering::Release);
            drop(slot);
            self.end_members();
        } else {
            drop(slot);
            discard(self.pool().port(), cause);
        }
    }

    /// Ends the scope early, since its body panics: that is its cause.
    pub fn give_up(&self) {
        // ORDERING: Release, pairs with Acquire in has_ended.
        self.ended.store(true, Ordering::Release);
        self.end_members();
    }

    /// Whether tasks that have not begun shall be dropped.
    #[inline]
    pub fn has_ended(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in fail.
        self.ended.load(Ordering::Acquire) || (self.cancellable && self.outer_has_ended())
    }

    /// Whether one around it has ended early, however many that cannot be cancelled lie in between.
    #[inline]
    fn outer_has_ended(&self) -> bool {
        let mut scope = self.parent();
        while let Some(this) = scope {
            // ORDERING: Acquire, pairs with Release in fail.
            if this.ended.load(Ordering::Acquire) {
                return true;
            }
            scope = this.parent();
        }
        false
    }

    /// The reason why this scope, or one around it, was cancelled.
    pub fn reason(&self) -> Option<Reason> {
        let mut scope = Some(self);
        while let Some(this) = scope {
            // ORDERING: Relaxed: set under the lock of the cause, which is taken next.
            let ended = this.ended.load(Ordering::Relaxed);
            if let Some(reason) = ended.then(|| this.own_reason()).flatten() {
                return Some(reason);
            }
            scope = this.parent();
        }
        None
    }

    fn own_reason(&self) -> Option<Reason> {
        match &*self.cause.lock(self.pool().port()) {
            Some(Cause::Cancelled(reason)) => Some(*reason),
            _ => None,
        }
    }

    /// Why it ended early. After the wait.
    pub fn take_cause(&self) -> Option<Cause<P::Payload>> {
        // ORDERING: Relaxed: the wait for the last task came before (F1).
        if self.ended.load(Ordering::Relaxed) {
            return self.cause.lock(self.pool().port()).take();
        }
        let outer = self.cancellable && self.outer_has_ended();
        outer.then(|| Cause::Cancelled(self.reason().unwrap_or(Reason::GivenUp)))
    }

    /// Whether this scope is `other` or was opened inside it.
    pub fn is_inside(&self, other: &Self) -> bool {
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
