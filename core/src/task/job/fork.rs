//! Two-way forks, on the stack of the forking task.

use super::{Header, Kind, Task};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::UnsafeCell;
use crate::task::cx::Cx;
use crate::task::pool::Pool;
use crate::task::scope::Around;
use crate::task::worker::Worker;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

/// The second half of a fork, on the stack of the forking task.
#[repr(C)]
pub(in crate::task) struct Fork<P: Host, B, R> {
    header: Header<P>,
    body: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<Result<R, P::Payload>>>,
}

impl<'s, 'e: 's, P: Host, B, R> Fork<P, B, R>
where
    B: FnOnce(&mut Cx<'s, 'e, P>) -> R + Send,
    R: Send,
{
    const KIND: Kind<P> = Kind::queued(Self::run);

    #[inline(always)]
    pub(crate) fn new(around: NonNull<Around<Pool<P>>>, body: B) -> Self {
        Self {
            header: Header::new(&Self::KIND, around),
            body: UnsafeCell::new(ManuallyDrop::new(body)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Runs the fork on another worker than the owner: catches its panic, writes the result, and
    /// unparks the owner.
    unsafe fn run(header: NonNull<Header<P>>, on: &Worker<P>, from: WorkerId) {
        // SAFETY: the header is the first field of a fork, which is alive until it is done.
        let fork = unsafe { header.cast::<Self>().as_ref() };
        let around = fork.header.around;
        // SAFETY: a task is run once, and the owner does not take the body of a fork that another
        // worker runs.
        let body = unsafe { fork.take() };
        let port = on.pool().port();
        let result = port.catch(|| {
            // SAFETY: what is around a fork outlives it, and 's is the lifetime of the scope.
            let mut cx: Cx<'s, 'e, P> = unsafe { Cx::of_fork(on, around) };
            let _isolation = on.isolate(cx.inside().wait);
            body(&mut cx)
        });
        // SAFETY: the owner reads the result only after the end, below.
        fork.result.with_mut(|r| unsafe { (*r).write(result) });
        // SAFETY: the fork was run, and the result is written. After the end the fork may be freed.
        if unsafe { Header::end(header) } {
            port.unpark(from);
        }
    }
}

impl<P: Host, B, R> Fork<P, B, R> {
    /// Returns the word by which queues identify the fork.
    #[inline(always)]
    pub(crate) fn word(&self) -> *mut () {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// Returns the fork as a task.
    ///
    /// # Safety
    /// The caller must not move or free the fork until it was reclaimed or is done.
    #[inline(always)]
    pub(crate) unsafe fn task(&self) -> Task<P> {
        // SAFETY: the header is the first field, and the caller keeps the fork alive.
        unsafe { Task::new(NonNull::from(self).cast()) }
    }

    #[inline(always)]
    pub(crate) fn header(&self) -> &Header<P> {
        &self.header
    }

    /// Takes the body, to be run or dropped.
    ///
    /// # Safety
    /// The caller must own the task, and call this once.
    #[inline(always)]
    pub(crate) unsafe fn take(&self) -> B {
        // SAFETY: the caller owns the task, so no other thread accesses the body.
        self.body
            .with_mut(|b| unsafe { ManuallyDrop::take(&mut *b) })
    }

    /// Takes the result that another worker has written.
    ///
    /// # Safety
    /// The fork must be done, and the caller must call this once.
    pub(crate) unsafe fn take_result(&self) -> Result<R, P::Payload> {
        // SAFETY: the result was written before the fork was done.
        self.result.with_mut(|r| unsafe { (*r).assume_init_read() })
    }
}
