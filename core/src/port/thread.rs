//! The calling thread: its worker, its stack, and the panics of its calls.

use crate::id::WorkerId;

/// The worker that the calling thread acts as, and its stack.
///
/// Called from any thread; must not block and not call back, [`on_more_stack`](Self::on_more_stack)
/// excepted; orders nothing. A port is shared by the pool and by the code that runs in it, so only
/// the pool may set the worker of a thread:
///
/// ```compile_fail,E0133
/// # use tautline_core::{WorkerId, port::Host, task::Cx};
/// fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
///     cx.pool().port().set_current(Some(WorkerId(1)));
/// }
/// ```
///
/// Safe code cannot implement the trait either, since that would decide which worker a thread is:
///
/// ```compile_fail,E0200
/// # use tautline_core::{WorkerId, port::Thread};
/// struct Anywhere;
/// impl Thread for Anywhere {
///     fn current(&self) -> Option<WorkerId> {
///         Some(WorkerId(0))
///     }
///     unsafe fn set_current(&self, _: Option<WorkerId>) {}
/// }
/// ```
///
/// # Safety
/// The pool relies on its port for which worker a thread is: a worker's queues have one owner. The
/// implementor must ensure that
/// - `current` returns a worker only if the last [`set_current`](Self::set_current) on this port by
///   the calling thread set that worker;
/// - a call at an address from `stack_floor` on, on the calling thread's stack, does not run into
///   memory beyond that stack;
/// - `on_more_stack` calls `body` on the calling thread, if at all, and returns after `body` has;
/// - no method unwinds, except `on_more_stack` by a panic of `body`.
pub unsafe trait Thread {
    /// Returns the worker of this port that the calling thread acts as, if any.
    fn current(&self) -> Option<WorkerId>;

    /// Makes the calling thread act as `worker` from now on, or as no worker. Calls nest if the
    /// thread is a worker of other ports too.
    ///
    /// # Safety
    /// The caller must hold the seat of `worker` on the calling thread, or, for `None`, be about to
    /// release the seat that it holds.
    unsafe fn set_current(&self, worker: Option<WorkerId>);

    /// Returns the lowest address that calls on this thread may safely reach. Provided: 0, no known
    /// limit.
    fn stack_floor(&self) -> usize {
        0
    }

    /// Calls `body`, once, where enough stack is left. Does not call it if there is no memory for
    /// that. Provided: on the present stack.
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        body();
    }
}

/// Catches panics, so that they reach the owner of the scope in which they happened.
///
/// On a machine without unwinding, `catch` only calls `body`, and a panic ends the program.
///
/// # Safety
/// Frames that other threads access are left only by a return, which the pool ensures by catching
/// the panics of its callees. The implementor must ensure that `catch` does not unwind, whether
/// `body` panics or not.
pub unsafe trait Unwind {
    /// The payload of a panic.
    type Payload: Send + 'static;

    /// Calls `body`; returns its panic instead of propagating it.
    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload>;

    /// Resumes a panic that was caught, or unwinds with a [`cancellation`](Self::cancellation),
    /// without a report.
    fn resume(&self, payload: Self::Payload) -> !;

    /// Returns the payload with which a task whose finish was cancelled unwinds to it, which no
    /// panic hook reports. `None` on a machine without unwinding: loops of a cancelled finish then
    /// run to their ends. Provided: `None`.
    fn cancellation(&self) -> Option<Self::Payload> {
        None
    }

    /// Returns whether `payload` was made by [`cancellation`](Self::cancellation). Provided: false.
    fn is_cancellation(&self, payload: &Self::Payload) -> bool {
        let _ = payload;
        false
    }

    /// Returns the text of a panic, for another process, which its payload does not reach.
    /// Provided: none is known.
    fn text<'p>(&self, payload: &'p Self::Payload) -> Option<&'p str> {
        let _ = payload;
        None
    }
}
