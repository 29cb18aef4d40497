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

use super::Cx;
use super::scope::{Cause, Scope};
use super::worker::{Awaited, Worker};
use crate::deque::{NonNullWord, Word};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::sync::{AtomicPtr, Ordering, UnsafeCell};
use alloc::boxed::Box;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::{self, NonNull};

/// What can be done with a task.
#[repr(align(8))]
pub(super) struct Kind<P: Host> {
    /// Runs the task behind the header, on this worker; it was taken from the deque of that one.
    pub run: unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId),
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

    /// A fork that is not done: a hint, for one who can do without.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        // ORDERING: Relaxed: nothing is read on its account.
        !self.kind.load(Ordering::Relaxed).is_null()
    }

    /// The fork is done. True if its owner sleeps: then it must be woken; else it may be gone by now.
    fn end(&self) -> bool {
        // ORDERING: AcqRel, pairs with Acquire in is_done and sleep (K1): the result is written before.
        let before = self.kind.swap(ptr::null_mut(), Ordering::AcqRel);
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

/// A task that is ready to run, and must be run once.
pub(super) struct Task<P: Host>(NonNull<Header<P>>);

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

    /// The scope that it belongs to.
    pub fn scope(&self) -> &Scope<P> {
        // SAFETY: the task is there until it is run, and its scope outlives it.
        unsafe { self.0.as_ref().scope.as_ref() }
    }

    /// Whether it is the one that `word` stands for.
    pub fn is(&self, word: *mut ()) -> bool {
        self.0.as_ptr().cast() == word
    }

    #[inline]
    pub fn run(self, on: &Worker<P>, from: WorkerId) {
        // SAFETY: the task is there until it is run, or, a fork, done.
        // ORDERING: Relaxed: written before the task was pushed; the last bit aside.
        let kind = unsafe { self.0.as_ref() }.kind.load(Ordering::Relaxed);
        // SAFETY: kinds are static; whoever has the task runs it, once: it is given up here.
        unsafe { ((*kind.map_addr(|a| a & !ASLEEP)).run)(self.0, on, from) }
    }
}

/// The second half of a fork, on the stack of the one who forked.
#[repr(C)]
pub(super) struct Fork<P: Host, B, R> {
    header: Header<P>,
    body: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<Result<R, P::Payload>>>,
}

impl<'s, 'e: 's, P: Host, B, R> Fork<P, B, R>
where
    B: FnOnce(&mut Cx<'s, 'e, P>) -> R + Send,
    R: Send,
{
    const KIND: Kind<P> = Kind { run: Self::run };

    #[inline(always)]
    pub fn new(scope: &'s Scope<P>, body: B) -> Self {
        Self {
            header: Header::new(&Self::KIND, scope),
            body: UnsafeCell::new(ManuallyDrop::new(body)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Somebody else's turn to run it: catches its panic, leaves the result, tells the owner.
    unsafe fn run(header: NonNull<Header<P>>, on: &Worker<P>, from: WorkerId) {
        // SAFETY: the header is the first field of a fork, which stays until it is done.
        let fork = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: the scope outlives its forks; 's is its lifetime.
        let scope: &'s Scope<P> = unsafe { header.as_ref().scope.as_ref() };
        // SAFETY: only the one who runs the task takes the body.
        let body = unsafe { fork.take() };
        let port = on.pool().port();
        let result = port.catch(|| body(&mut Cx::new(on, scope)));
        // SAFETY: the owner reads only after the end, below.
        fork.result.with_mut(|r| unsafe { (*r).write(result) });
        // After the end the fork may be gone.
        if fork.header.end() {
            port.unpark(PlaceId::HOME, from);
        }
    }
}

impl<P: Host, B, R> Fork<P, B, R> {
    /// The word that stands for it.
    #[inline(always)]
    pub fn word(&self) -> *mut () {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// What is known to thieves.
    ///
    /// # Safety
    /// The fork stays where it is until it has been taken back or is done.
    #[inline(always)]
    pub unsafe fn task(&self) -> Task<P> {
        // SAFETY: the header is the first field; the caller promises the rest.
        unsafe { Task::new(NonNull::from(self).cast()) }
    }

    #[inline(always)]
    pub fn header(&self) -> &Header<P> {
        &self.header
    }

    /// The body, to be run or dropped.
    ///
    /// # Safety
    /// By one who has the task, once.
    #[inline(always)]
    pub unsafe fn take(&self) -> B {
        // SAFETY: the caller is the only one.
        self.body
            .with_mut(|b| unsafe { ManuallyDrop::take(&mut *b) })
    }

    /// What somebody else's run of it gave.
    ///
    /// # Safety
    /// It is done; once.
    pub unsafe fn take_result(&self) -> Result<R, P::Payload> {
        // SAFETY: written before it was done.
        self.result.with_mut(|r| unsafe { (*r).assume_init_read() })
    }
}

/// A spawned task, on the heap.
#[repr(C)]
pub(super) struct Spawned<P: Host, F> {
    header: Header<P>,
    body: F,
}

impl<'s, 'e: 's, P: Host, F: FnOnce(&mut Cx<'s, 'e, P>) + Send> Spawned<P, F> {
    const KIND: Kind<P> = Kind { run: Self::run };

    /// A task of `scope`, which has entered it.
    #[inline]
    pub fn task(scope: &'s Scope<P>, body: F) -> Task<P> {
        let header = Header::new(&Self::KIND, scope);
        let task = NonNull::from(Box::leak(Box::new(Self { header, body })));
        // SAFETY: on the heap until it is run; the header is the first field.
        unsafe { Task::new(task.cast()) }
    }

    unsafe fn run(header: NonNull<Header<P>>, on: &Worker<P>, _from: WorkerId) {
        // SAFETY: came from Box::leak in `task`, and is run once.
        let task = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        // SAFETY: the scope outlives its tasks; 's is its lifetime.
        let scope: &'s Scope<P> = unsafe { task.header.scope.as_ref() };
        on.run_in(scope, task.body);
        // SAFETY: the share that was taken when the task was made.
        unsafe { Scope::leave(NonNull::from(scope)) };
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
            port.catch(|| body(&mut Cx::new(self, scope)))
        };
        if let Err(payload) = outcome {
            scope.fail(Cause::Panic(payload));
        }
    }
}
