//! Tasks as the deques see them: one word that leads to a header.
//!
//! # Words
//! `kind`: what the task is; a fork's also says how far it is, to save a store a fork: null once it is done,
//! its last bit set while its owner sleeps.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | K1 | `end` | `is_done`, `sleep` | the result of a fork | `join_*` in `verify/tests/task.rs` |

mod blocks;
mod fork;
mod future;
mod spawned;
mod waiting;

pub use blocks::{Block, Blocks};
pub(super) use fork::Fork;
pub(super) use future::spawn_future;
pub(super) use spawned::Spawned;
pub(super) use waiting::{Waiter, Waiting, start_any};

use super::scope::{Cause, Scope};
use super::worker::Worker;
use super::{Awaited, Cx};
use crate::deque::{NonNullWord, Word};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicPtr, Ordering};
use core::ptr::{self, NonNull};
use future::Resumable;

/// What can be done with a task.
#[repr(align(8))]
pub(super) struct Kind<P: Host> {
    /// Runs the task behind the header, on this worker; it was taken from the deque of that one.
    pub run: unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId),
    /// Drops the body of one that waits for a cell, and leaves the scope.
    pub forsake: unsafe fn(NonNull<Header<P>>),
}

impl<P: Host> Kind<P> {
    /// One that is queued as soon as it is made.
    const fn queued(run: unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId)) -> Self {
        Self {
            run,
            forsake: |_| unreachable!("it waits for no cell"),
        }
    }
}

const ASLEEP: usize = 1;

/// What every task begins with.
#[repr(C)]
pub(super) struct Header<P: Host> {
    kind: AtomicPtr<Kind<P>>,
    scope: NonNull<Scope<P>>,
}

impl<P: Host> Header<P> {
    #[inline(always)]
    pub fn new(kind: &'static Kind<P>, scope: &Scope<P>) -> Self {
        Self {
            kind: AtomicPtr::new(ptr::from_ref(kind).cast_mut()),
            scope: NonNull::from(scope),
        }
    }

    /// What the task is. Not of a fork that is done.
    fn kind(&self) -> &'static Kind<P> {
        // ORDERING: Relaxed: written before the task was pushed; the last bit aside.
        let kind = self.kind.load(Ordering::Relaxed);
        // SAFETY: kinds are static.
        unsafe { &*kind.map_addr(|a| a & !ASLEEP) }
    }

    /// A fork that is not done: a hint, for one who can do without.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        // ORDERING: Relaxed: nothing is read on its account.
        !self.kind.load(Ordering::Relaxed).is_null()
    }

    /// The fork is done. True if its owner sleeps: then it must be woken. The owner may have freed the fork by the time this
    /// returns, hence no `&self`, which would claim that it is there until then.
    ///
    /// # Safety
    /// The caller must have run the fork, whose header this is, and have written its result; once.
    unsafe fn end(this: NonNull<Self>) -> bool {
        // SAFETY: a fork stays until it is done, which the exchange below makes it; only the word is accessed.
        let kind = unsafe { &(*this.as_ptr()).kind };
        // ORDERING: AcqRel, pairs with Acquire in is_done and sleep (K1): the result is written before.
        let before = kind.swap(ptr::null_mut(), Ordering::AcqRel);
        before.addr() & ASLEEP != 0
    }
}

impl<P: Host> Awaited for Header<P> {
    fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (K1).
        self.kind.load(Ordering::Acquire).is_null()
    }

    fn sleep(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (K1), if that came first.
        let kind = self.kind.load(Ordering::Acquire);
        let asleep = kind.map_addr(|a| a | ASLEEP);
        // ORDERING: success Relaxed: only the owner writes it before the end, which sees the bit.
        // ORDERING: failure Acquire, as above.
        let (yes, no) = (Ordering::Relaxed, Ordering::Acquire);
        !kind.is_null() && self.kind.compare_exchange(kind, asleep, yes, no).is_ok()
    }
}

/// A task that is ready to run, and must be run once: a header, or, marked by the last bit, a future whose turn it is.
pub(super) struct Task<P: Host>(NonNull<Header<P>>);

const FUTURE: usize = 1;

// SAFETY: what a task captures is Send: that is asked where it is made.
unsafe impl<P: Host> Send for Task<P> {}

// SAFETY: the pointer itself is the word.
unsafe impl<P: Host> Word for Task<P> {
    #[inline(always)]
    fn into_word(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: *mut ()) -> Self {
        // SAFETY: the word came from a pointer that is not null.
        Self(unsafe { NonNull::new_unchecked(word.cast()) })
    }
}

// SAFETY: the pointer is not null.
unsafe impl<P: Host> NonNullWord for Task<P> {}

impl<P: Host> Task<P> {
    /// # Safety
    /// `header` begins a task that stays until it is run, which the receiver does once.
    #[inline(always)]
    pub unsafe fn new(header: NonNull<Header<P>>) -> Self {
        Self(header)
    }

    fn of_future(future: Resumable<P>) -> Self {
        Self(future.into_raw().cast().map_addr(|a| a | FUTURE))
    }

    /// The future, if it is one.
    fn future(&self) -> Option<NonNull<()>> {
        let is_one = self.0.addr().get() & FUTURE != 0;
        // SAFETY: the address without its last bit was that of a future, which is not null.
        is_one.then(|| unsafe {
            let future = self.0.as_ptr().map_addr(|a| a & !FUTURE);
            NonNull::new_unchecked(future.cast())
        })
    }

    /// The scope that it belongs to.
    pub fn scope(&self) -> &Scope<P> {
        match self.future() {
            // SAFETY: the future is there until it is run, and its scope outlives it.
            Some(future) => unsafe { future::scope_of(future).as_ref() },
            // SAFETY: as above.
            None => unsafe { self.0.as_ref().scope.as_ref() },
        }
    }

    /// Whether it is the one that `word` stands for.
    pub fn is(&self, word: *mut ()) -> bool {
        self.0.as_ptr().cast() == word
    }

    /// Runs it, and what it has set to run next.
    #[inline]
    pub fn run(self, on: &Worker<P>, from: WorkerId) {
        self.run_turn(on, from);
        _ = on.run_next();
    }

    #[inline]
    pub fn run_turn(self, on: &Worker<P>, from: WorkerId) {
        if let Some(future) = self.future() {
            let _isolation = on.isolate(self.scope().wait);
            // SAFETY: the one turn that this task is.
            unsafe { Resumable::<P>::from_raw(future) }.run();
            return;
        }
        // SAFETY: the task is there until it is run, or, a fork, done.
        let kind = unsafe { self.0.as_ref() }.kind();
        // SAFETY: whoever has the task runs it, once: it is given up here.
        unsafe { (kind.run)(self.0, on, from) }
    }
}

impl<P: Host> Worker<P> {
    /// Runs what a task of `scope` does, unless the scope has ended: then it is only dropped.
    #[inline]
    pub(super) fn run_in<'s, 'e: 's>(
        &self,
        scope: &'s Scope<P>,
        body: impl FnOnce(&mut Cx<'s, 'e, P>),
    ) {
        let port = self.pool().port();
        let outcome = if scope.has_ended() {
            port.catch(|| drop(body))
        } else {
            port.catch(|| {
                let _isolation = self.isolate(scope.wait);
                body(&mut Cx::new(self, scope))
            })
        };
        if let Err(payload) = outcome {
            scope.fail(Cause::Panic(payload));
        }
    }
}
