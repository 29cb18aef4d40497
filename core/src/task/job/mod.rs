//! Tasks as queues store them: one word that leads to a header.
//!
//! # Words
//! `kind`: the kind of the task. In a fork also its state, which saves a store per fork: null once
//! it is done; the lowest bit is set while its owner sleeps.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | K1 | `end` | `is_done`, `sleep` | the result of a fork | `join_*` in `verify/tests/task.rs` |

pub(super) mod any;
pub(super) mod fork;
pub(super) mod future;
mod home;
pub(super) mod spawned;
mod waiter;
pub(super) mod waiting;

use super::pool::{Pool, TaskScope};
use super::scope::Around;
use super::wait::{Awaited, Awaits};
use super::worker::Worker;
use crate::deque::{NonNullWord, Word};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{FreedPtr, Ordering};
use crate::watch::Site;
use core::ptr::{self, NonNull};
use home::{Resumable, scope_of};

/// The operations of a kind of task.
#[repr(align(8))]
pub(super) struct Kind<P: Host> {
    /// Runs the task on the given worker. It was taken from the deque of the worker with the given
    /// number.
    pub run: unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId),
    /// Claims a task that waits for a cell, if its scope was aborted, so that it is not made ready
    /// any more. Returns whether the caller must call `cancel`.
    pub claim: unsafe fn(NonNull<Header<P>>) -> bool,
    /// Returns the call that made a task wait for a cell.
    pub site: unsafe fn(NonNull<Header<P>>) -> Site,
    /// Drops the body of a claimed task, and leaves the scope.
    pub cancel: unsafe fn(NonNull<Header<P>>),
}

impl<P: Host> Kind<P> {
    /// Creates a kind that waits for no cell.
    const fn queued(run: unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId)) -> Self {
        Self {
            run,
            claim: |_| unreachable!("the task waits for no cell"),
            site: |_| unreachable!("the task waits for no cell"),
            cancel: |_| unreachable!("the task waits for no cell"),
        }
    }
}

const ASLEEP: usize = 1;

/// The first field of every task but futures.
#[repr(C)]
pub(super) struct Header<P: Host> {
    kind: FreedPtr<Kind<P>>,
    around: NonNull<Around<Pool<P>>>,
}

impl<P: Host> Header<P> {
    #[inline(always)]
    pub(super) fn new(kind: &'static Kind<P>, around: NonNull<Around<Pool<P>>>) -> Self {
        Self {
            kind: FreedPtr::new(ptr::from_ref(kind).cast_mut()),
            around,
        }
    }

    /// Returns the scope of a task that is no fork: what is around it is a field of the scope.
    ///
    /// # Safety
    /// The task must not be a fork.
    #[inline(always)]
    pub(super) unsafe fn own_scope(&self) -> NonNull<TaskScope<P>> {
        // SAFETY: tasks that are no forks are created with the field of their scope.
        unsafe { Around::own_scope(self.around) }
    }

    /// Returns the kind of the task, which must not be a fork that is done.
    fn kind(&self) -> &'static Kind<P> {
        // ORDERING: Relaxed: written before the task was pushed, except for the lowest bit.
        let kind = self.kind.load(Ordering::Relaxed);
        // SAFETY: kinds are static.
        unsafe { &*kind.map_addr(|a| a & !ASLEEP) }
    }

    /// Returns whether a fork is not done, as a hint.
    #[inline(always)]
    pub(super) fn is_pending(&self) -> bool {
        // ORDERING: Relaxed: a hint; nothing is read because of it.
        !self.kind.load(Ordering::Relaxed).is_null()
    }

    /// Marks a fork as done. Returns whether its owner sleeps and must be unparked. The owner may
    /// have freed the fork when this returns, hence no `&self`, which would assert that it is alive
    /// until then.
    ///
    /// # Safety
    /// The caller must have run the fork, of which `this` is the header, and written its result,
    /// and call this once.
    unsafe fn end(this: NonNull<Self>) -> bool {
        // SAFETY: a fork is alive until it is done, which the exchange below makes it; only the
        // word is accessed.
        let kind = unsafe { &(*this.as_ptr()).kind };
        // ORDERING: AcqRel, pairs with Acquire in is_done and sleep (K1): the result is written
        // before.
        let before = kind.swap(ptr::null_mut(), Ordering::AcqRel);
        before.addr() & ASLEEP != 0
    }

    /// Claims a waiting task, see [`Kind::claim`].
    ///
    /// # Safety
    /// The caller must hold the lock of the members of the task's scope, of which the task is one.
    pub(super) unsafe fn claim(this: NonNull<Self>) -> bool {
        // SAFETY: a member is alive, as the caller ensures.
        let kind = unsafe { this.as_ref() }.kind();
        // SAFETY: the caller holds the lock of the members.
        unsafe { (kind.claim)(this) }
    }

    /// Returns the call that made a waiting task wait.
    ///
    /// # Safety
    /// The caller must hold the lock of the members of the task's scope, of which the task is one.
    pub(super) unsafe fn waits_at(this: NonNull<Self>) -> Site {
        // SAFETY: a member is alive, as the caller ensures.
        let kind = unsafe { this.as_ref() }.kind();
        // SAFETY: the caller holds the lock of the members.
        unsafe { (kind.site)(this) }
    }

    /// Cancels a waiting task, see [`Kind::cancel`].
    ///
    /// # Safety
    /// The caller must have [claimed](Self::claim) the task, and call this once.
    pub(super) unsafe fn cancel(this: NonNull<Self>) {
        // SAFETY: a claimed task is alive until it is marked as empty, by the call below.
        let kind = unsafe { this.as_ref() }.kind();
        // SAFETY: the caller has claimed the task.
        unsafe { (kind.cancel)(this) }
    }
}

impl<P: Host> Awaited for Header<P> {
    fn awaits(&self) -> Awaits {
        Awaits::Fork
    }

    fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (K1).
        self.kind.load(Ordering::Acquire).is_null()
    }

    fn sleep(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (K1), if that precedes.
        let kind = self.kind.load(Ordering::Acquire);
        if kind.is_null() {
            return false;
        }
        let asleep = kind.map_addr(|a| a | ASLEEP);
        // ORDERING: success Relaxed: only the owner writes the word before the end, which observes
        // the bit. ORDERING: failure Acquire, pairs with AcqRel in end (K1): the fork has ended.
        let (success, failure) = (Ordering::Relaxed, Ordering::Acquire);
        let set = self.kind.compare_exchange(kind, asleep, success, failure);
        set.is_ok()
    }
}

/// A task that is ready to run, and must be run once: a header, or, marked by the lowest bit, a
/// future to be polled.
pub(super) struct Task<P: Host>(NonNull<Header<P>>);

const FUTURE: usize = 1;

// SAFETY: what a task captures is Send, as the functions that create tasks require.
unsafe impl<P: Host> Send for Task<P> {}

// SAFETY: the pointer itself is the word.
unsafe impl<P: Host> Word for Task<P> {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word comes from `into_word`, so it is not null.
        Self(unsafe { NonNull::new_unchecked(word.cast()) })
    }
}

// SAFETY: the pointer is not null.
unsafe impl<P: Host> NonNullWord for Task<P> {}

impl<P: Host> Task<P> {
    /// Creates the task that `header` begins.
    ///
    /// # Safety
    /// The caller must keep the task alive until it is run, and create it from this header once.
    #[inline(always)]
    pub(super) unsafe fn new(header: NonNull<Header<P>>) -> Self {
        Self(header)
    }

    fn of_future(future: Resumable<TaskScope<P>>) -> Self {
        Self(future.into_raw().cast().map_addr(|a| a | FUTURE))
    }

    /// Returns the future, if the task is a future.
    fn future(&self) -> Option<NonNull<()>> {
        let is_one = self.0.addr().get() & FUTURE != 0;
        // SAFETY: the address without its lowest bit is that of a future, which is not null.
        is_one.then(|| unsafe {
            let future = self.0.as_ptr().map_addr(|a| a & !FUTURE);
            NonNull::new_unchecked(future.cast())
        })
    }

    /// Returns the scope of the task.
    pub(super) fn scope(&self) -> &TaskScope<P> {
        match self.future() {
            // SAFETY: the future was not run, and its scope outlives it.
            Some(future) => unsafe { scope_of::<TaskScope<P>>(future).as_ref() },
            // SAFETY: the task was not run, and what is around it outlives it.
            None => unsafe { Around::scope(self.0.as_ref().around).as_ref() },
        }
    }

    /// Returns whether the task is the one of `word`.
    pub(super) fn is(&self, word: *mut ()) -> bool {
        self.0.as_ptr().cast() == word
    }

    /// Runs the task, and then the tasks that it has set to run next.
    #[inline]
    pub(super) fn run(self, on: &Worker<P>, from: WorkerId) {
        self.run_once(on, from);
        _ = on.run_next();
    }

    /// Runs the task only.
    #[inline]
    pub(super) fn run_once(self, on: &Worker<P>, from: WorkerId) {
        if let Some(future) = self.future() {
            let _isolation = on.isolate(self.scope().wait);
            // SAFETY: the task, which is one poll of the future, is run once.
            unsafe { Resumable::<TaskScope<P>>::from_raw(future) }.run();
            return;
        }
        // SAFETY: the task is alive until it is run or, if it is a fork, done.
        let kind = unsafe { self.0.as_ref() }.kind();
        // SAFETY: `self` owns the task, and is given up here.
        unsafe { (kind.run)(self.0, on, from) }
    }
}
