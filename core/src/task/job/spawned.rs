//! Spawned tasks: a closure on the heap.

use super::{Header, Kind, Task};
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::Cx;
use crate::task::scope::Scope;
use crate::task::worker::Worker;
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A spawned task, on the heap.
#[repr(C)]
pub(in crate::task) struct Spawned<P: Host, F> {
    header: Header<P>,
    body: F,
}

impl<'s, 'e: 's, P: Host, F: FnOnce(&mut Cx<'s, 'e, P>) + Send> Spawned<P, F> {
    const KIND: Kind<P> = Kind::queued(Self::run);

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
        unsafe { Scope::leave_on(NonNull::from(scope), on) };
    }
}
