//! The queue of the pool: tasks from threads outside of it, and tasks that workers have passed on.

use super::Queue;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::job::Task;
use crate::task::pool::TaskScope;
use crate::task::worker::Worker;

/// The queue of the pool.
pub(in crate::task::worker) struct Injected;

impl<P: Host> Queue<P> for Injected {
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        let pool = on.pool();
        Some((pool.injected.pop(pool.port())?, on.id))
    }

    fn is_settled_empty(on: &Worker<P>) -> bool {
        let pool = on.pool();
        pool.injected.is_settled_empty(pool.port())
    }

    fn take_inside(on: &Worker<P>, scope: &TaskScope<P>) -> Option<Task<P>> {
        let pool = on.pool();
        let is_inside = |task: &Task<P>| task.scope().is_inside(scope);
        pool.injected.pop_newest(pool.port(), is_inside)
    }

    fn take_called(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> Option<Task<P>> {
        Self::take_inside(on, wait?)
    }

    fn is_settled_uncalled(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> bool {
        let pool = on.pool();
        wait.is_none_or(|scope| {
            let is_inside = |task: &Task<P>| task.scope().is_inside(scope);
            !pool.injected.holds(pool.port(), is_inside)
        })
    }

    fn has_waiting(on: &Worker<P>) -> bool {
        !on.pool().injected.is_empty()
    }
}
