//! The tasks of other workers.

use super::Queue;
use crate::deque::Steal;
use crate::id::WorkerId;
use crate::port::Host;
use crate::task::job::Task;
use crate::task::worker::Worker;

/// The deques of the other workers and their overflow, the nearest worker first.
pub(in crate::task::worker) struct Others;

impl<P: Host> Queue<P> for Others {
    fn take(on: &Worker<P>) -> Option<(Task<P>, WorkerId)> {
        let pool = on.pool();
        pool.port().assert_peers();
        for victim in pool.victims(on.id, &on.start) {
            let from = pool.worker(victim);
            loop {
                match from.tasks.steal() {
                    Steal::Taken(task) => return Some((task, victim)),
                    Steal::Busy => {}
                    Steal::Empty => break from.tasks.starve(),
                }
            }
            if let Some(task) = from.overflow.pop(pool.port()) {
                return Some((task, victim));
            }
        }
        None
    }

    /// Private tasks were published by a [raid](Worker::raid) before; forks that are pushed later
    /// are published, too.
    fn is_settled_empty(on: &Worker<P>) -> bool {
        let (workers, port) = (on.pool().workers(), on.pool().port());
        let is_empty = |w: &Worker<P>| w.overflow.is_settled_empty(port);
        workers
            .iter()
            .all(|w| (w.id == on.id || !w.tasks.look()) && is_empty(w))
    }
}
