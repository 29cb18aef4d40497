//! Tasks as the deques see them: one word that leads to a header.

use super::scope::{Cause, Scope};
use super::worker::Worker;
use super::Cx;
use crate::deque::{NonNullWord, Word};
use crate::finish::{Counter, End};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::sync::UnsafeCell;
use alloc::boxed::Box;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

/// Runs the task behind the header, on this worker; it was taken from the deque of that one.
pub(super) type Run<P> = unsafe fn(NonNull<Header<P>>, &Worker<P>, WorkerId);

/// What every task begins with.
#[repr(C)]
pub(super) struct Header<P: Host> {
    run: Run<P>,
    pub scope: NonNull<Scope<P>>,
}

impl<P: Host> Header<P> {
    pub fn new(run: Run<P>, scope: &Scope<P>) -> Self {
        Self {
            run,
            scope: NonNull::from(scope),
        }
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
        // SAFETY: whoever has the task runs it, once: it is given up here.
        unsafe { (self.0.as_ref().run)(self.0, on, from) }
    }
}

/// The second half of a fork, on the stack of the one who forked.
#[repr(C)]
pub(super) struct Fork<P: Host, B, R> {
    header: Header<P>,
    done: Counter,
    body: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<Result<R, P::Payload>>>,
}

impl<'s, 'e: 's, P: Host, B, R> Fork<P, B, R>
where
    B: FnOnce(&mut Cx<'s, 'e, P>) -> R + Send,
    R: Send,
{
    #[inline(always)]
    pub fn new(scope: &'s Scope<P>, body: B) -> Self {
        Self {
            header: Header::new(Self::run, scope),
            done: Counter::new(),
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
        if fork.done.end() == End::Wake {
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
    pub fn done(&self) -> &Counter {
        &self.done
    }

    /// The body, to be run or dropped.
    ///
    /// # Safety
    /// By one who has the task, once.
    #[inline(always)]
    pub unsafe fn take(&self) -> B {
        // SAFETY: the caller is the only one.
        self.body.with_mut(|b| unsafe { ManuallyDrop::take(&mut *b) })
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
    /// A task of `scope`, which has entered it.
    #[inline]
    pub fn task(scope: &'s Scope<P>, body: F) -> Task<P> {
        let header = Header::new(Self::run, scope);
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
