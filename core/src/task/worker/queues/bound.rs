//! Tasks that are bound to a domain above the worker.

use super::Queue;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::job::Task;
use crate::task::pool::TaskScope;
use crate::task::wait::Wait;
use crate::task::worker::Worker;

/// The queues of the domains between the worker's leaf and the root.
pub(in crate::task::worker) struct Bound;

impl<P: Host> Queue<P> for Bound {
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        let (pool, seat) = (on.pool(), on.id.index());
        if pool.is_flat() {
            return None;
        }
        let take = |domain| pool.affinity.take(domain, seat, pool.port());
        Some((pool.path(on.id).find_map(take)?, on.id))
    }

    fn is_settled_empty(on: &Worker<P>) -> bool {
        let pool = on.pool();
        let mut path = pool.path(on.id);
        !path.any(|domain| pool.affinity.has_tasks(domain))
    }

    #[cold]
    fn take_called(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> Option<Task<P>> {
        let (pool, seat) = (on.pool(), on.id.index());
        let (port, affinity) = (pool.port(), &pool.affinity);
        let take = |domain| match wait {
            None => affinity.take(domain, seat, port),
            Some(scope) => affinity.take_wanted(domain, seat, port, may_run_in(scope)),
        };
        pool.path(on.id).find_map(take)
    }

    fn is_settled_uncalled(on: &Worker<P>, wait: Option<&TaskScope<P>>) -> bool {
        let (pool, affinity) = (on.pool(), &on.pool().affinity);
        let has_tasks = |domain| match wait {
            None => affinity.has_tasks(domain),
            Some(scope) => affinity.has_wanted_tasks(domain, pool.port(), may_run_in(scope)),
        };
        !pool.path(on.id).any(has_tasks)
    }
}

/// Returns which tasks a wait in a task of `scope` may run.
fn may_run_in<P: Host>(scope: &TaskScope<P>) -> impl Fn(&Task<P>) -> bool {
    |task| scope.wait == Wait::Help || task.scope().is_inside(scope)
}
