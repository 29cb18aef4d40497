//! Spawned tasks: a closure in a block of the spawning worker, or on the heap.

use super::{Header, Kind, Task};
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::cx::Cx;
use crate::task::pool::TaskScope;
use crate::task::worker::{Block, Worker};
use alloc::boxed::Box;
use core::ptr::NonNull;

/// A spawned task, in a block or on the heap.
#[repr(C)]
pub(in crate::task) struct Spawned<P: Host, F> {
    header: Header<P>,
    body: F,
}

impl<'s, 'e: 's, P: Host, F: FnOnce(&mut Cx<'s, 'e, P>) + Send> Spawned<P, F> {
    const IN_BLOCK: Kind<P> = Kind::queued(Self::run_in_block);
    const BOXED: Kind<P> = Kind::queued(Self::run_boxed);

    /// Creates a task of `scope`, which already counts it. The calling thread must hold the seat of
    /// `on`.
    #[inline]
    pub(crate) fn task_on(on: &Worker<P>, scope: &'s TaskScope<P>, body: F) -> Task<P> {
        if const { !Block::fits::<Self>() } {
            return Self::task(scope, body);
        }
        // SAFETY: the calling thread holds the seat.
        let Some(block) = (unsafe { on.blocks.take() }) else {
            return Self::task(scope, body);
        };
        let header = Header::new(&Self::IN_BLOCK, scope.around());
        // SAFETY: the block was taken just now, and the task fits. It stays there until it is run;
        // the header is its first field.
        unsafe {
            let task = Block::space(block).cast::<Self>();
            task.write(Self { header, body });
            Task::new(task.cast())
        }
    }

    /// Creates the same on the heap. Called by any thread.
    #[inline]
    pub(crate) fn task(scope: &'s TaskScope<P>, body: F) -> Task<P> {
        let header = Header::new(&Self::BOXED, scope.around());
        let task = NonNull::from(Box::leak(Box::new(Self { header, body })));
        // SAFETY: on the heap until it is run; the header is the first field.
        unsafe { Task::new(task.cast()) }
    }

    unsafe fn run_in_block(header: NonNull<Header<P>>, on: &Worker<P>, _from: WorkerId) {
        let space = header.cast::<Self>();
        // SAFETY: the task was written in `task_on`, and is run once.
        let task = unsafe { space.read() };
        // SAFETY: the space is in a block of a worker of this pool, and was read for the last time.
        // The calling thread holds the seat.
        unsafe {
            let block = Block::around(space.cast());
            on.blocks.give(block, |home| &on.pool().worker(home).blocks);
        }
        task.run(on);
    }

    unsafe fn run_boxed(header: NonNull<Header<P>>, on: &Worker<P>, _from: WorkerId) {
        // SAFETY: came from Box::leak in `task`, and is run once.
        let task = unsafe { Box::from_raw(header.cast::<Self>().as_ptr()) };
        task.run(on);
    }

    /// Runs the body. The caller frees the memory of the task, before or after.
    #[inline(always)]
    fn run(self, on: &Worker<P>) {
        // SAFETY: this is no fork; the scope outlives its tasks; 's is its lifetime.
        let scope: &'s TaskScope<P> = unsafe { self.header.own_scope().as_ref() };
        Cx::run_in(on, scope, self.body);
        // SAFETY: the share that was taken when the task was created.
        unsafe { TaskScope::leave_on(NonNull::from(scope), on.id()) };
    }
}
