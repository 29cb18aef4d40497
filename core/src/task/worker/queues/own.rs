//! The worker's own tasks: its deque, and what did not fit into it.

use super::Queue;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::job::Task;
use crate::task::pool::TaskScope;
use crate::task::worker::Worker;

/// The deque, the newest task first.
pub(in crate::task::worker) struct Own;

impl<P: Host> Queue<P> for Own {
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        Some((on.pop()?, on.id))
    }

    /// Only the worker itself pushes, also after its last search: what its port does while it is
    /// [idle](crate::port::Park::idle) may wake futures.
    fn is_settled_empty(on: &Worker<P>) -> bool {
        !Self::has_waiting(on)
    }

    fn take_left(on: &Worker<P>) -> Option<Task<P>> {
        on.pop()
    }

    fn has_waiting(on: &Worker<P>) -> bool {
        on.tasks.public() > 0 || on.tasks.has_private()
    }
}

/// The overflow of the deque.
pub(in crate::task::worker) struct Overflow;

impl<P: Host> Queue<P> for Overflow {
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        Some((on.overflow.pop(on.pool().port())?, on.id))
    }

    /// [`Others`](super::Others) polls it, too.
    fn is_settled_empty(_: &Worker<P>) -> bool {
        true
    }

    fn take_inside(on: &Worker<P>, scope: &TaskScope<P>) -> Option<Task<P>> {
        let is_inside = |task: &Task<P>| task.scope().is_inside(scope);
        on.overflow.pop_newest(on.pool().port(), is_inside)
    }

    fn take_left(on: &Worker<P>) -> Option<Task<P>> {
        on.overflow.pop(on.pool().port())
    }

    fn has_waiting(on: &Worker<P>) -> bool {
        !on.overflow.is_empty()
    }
}
