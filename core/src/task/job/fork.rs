//! Forks: two-way, on the stack of the one who forks.

use super::{Header, Kind, Task};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::UnsafeCell;
use crate::task::Cx;
use crate::task::scope::Scope;
use crate::task::worker::Worker;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;

/// The second half of a fork, on the stack of the one who forked.
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
        let result = port.catch(|| {
            let _isolation = on.isolate(scope.wait);
            body(&mut Cx::new(on, scope))
        });
        // SAFETY: the owner reads only after the end, below.
        fork.result.with_mut(|r| unsafe { (*r).write(result) });
        // SAFETY: run above, and the result is written. After the end the fork may be gone.
        if unsafe { Header::end(header) } {
            port.unpark(from);
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
