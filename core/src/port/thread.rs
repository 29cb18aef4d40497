//! The thread that a task finds itself on.

use crate::id::WorkerId;

/// Who runs here, and on which stack.
///
/// Called from any thread; must not block and not call back, [`on_more_stack`](Self::on_more_stack)
/// excepted; orders nothing.
pub trait Thread {
    /// The worker that the calling thread is, if it is one of this port's.
    fn here(&self) -> Option<WorkerId>;

    /// Tells that the calling thread is that worker from now on, or none.
    fn be(&self, worker: Option<WorkerId>);

    /// The lowest address that calls on this thread may safely reach, in bytes. Provided: no limit known.
    fn stack_floor(&self) -> usize {
        0
    }

    /// Calls `body` where there is stack left. Provided: on the stack that there is.
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        body();
    }
}
