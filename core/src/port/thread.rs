//! The thread that a task finds itself on.

use crate::id::WorkerId;

/// Which worker runs here, and on which stack.
///
/// Called from any thread; must not block and not call back, [`on_more_stack`](Self::on_more_stack)
/// excepted; orders nothing. A port is shared by the pool and by the code that runs in it, so only the pool may
/// tell a thread what it is:
///
/// ```compile_fail,E0133
/// # use tautline_core::{WorkerId, port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.pool().port().be(Some(WorkerId(1)));
/// }
/// ```
///
/// Safe code cannot implement the trait either, since that would decide which worker a thread is:
///
/// ```compile_fail,E0200
/// # use tautline_core::{WorkerId, port::Thread};
/// struct Anywhere;
/// impl Thread for Anywhere {
///     fn here(&self) -> Option<WorkerId> {
///         Some(WorkerId(0))
///     }
///     unsafe fn be(&self, _: Option<WorkerId>) {}
/// }
/// ```
///
/// # Safety
/// The pool takes a thread for a worker on the word of its port: a worker's queues have one owner. The implementor must
/// ensure that
/// - `here` gives a worker only if the calling thread has been told by [`be`](Self::be), on this port, that it is that
///   worker, and not since that it is none;
/// - a call at an address from `stack_floor` on, on the calling thread's stack, does not run into memory beyond that
///   stack;
/// - `on_more_stack` calls `body` on the calling thread, if at all, and returns after `body` has;
/// - no method unwinds, except `on_more_stack` by a panic of `body`.
pub unsafe trait Thread {
    /// The worker that the calling thread is, if it is one of this port's.
    fn here(&self) -> Option<WorkerId>;

    /// Tells that the calling thread is that worker from now on, or none. Calls nest if the thread is a worker of
    /// other ports too.
    ///
    /// # Safety
    /// The caller must hold the seat of `worker` on the calling thread, or, for `None`, be about to give up the one that
    /// it holds.
    unsafe fn be(&self, worker: Option<WorkerId>);

    /// The lowest address that calls on this thread may safely reach, in bytes. Provided: no limit known.
    fn stack_floor(&self) -> usize {
        0
    }

    /// Calls `body`, once, where there is stack left; does not call it if there is no memory for that. Provided: on
    /// the stack that there is.
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        body();
    }
}
