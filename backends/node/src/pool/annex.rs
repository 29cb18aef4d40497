//! Pools of one seat for callers that find no free seat.
//!
//! Such a caller must not wait for a seat: the callers that hold the seats may be waiting for it,
//! in their bodies. Nor can its body run on a worker: all of them may be blocked in the same way,
//! and the body need not be `Send`. So it gets a pool of its own, in which it is the only worker.

use super::port::{Node, is_worker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tautline_core::WorkerId;
use tautline_core::port::Thread;
use tautline_core::task::{Cx, Outside, Pool};

/// The number of unused pools that are kept for later callers, about 150 KiB each.
const KEPT: usize = 16;

/// The body that a caller runs.
pub(super) type Body<'b, 'e> = &'b mut dyn for<'s> FnMut(&mut Cx<'s, 'e, Node>);

/// The pools of callers without a seat.
pub(super) struct Annexes {
    outside: Outside,
    pools: Mutex<Pools>,
}

#[derive(Default)]
struct Pools {
    used: Vec<Arc<Pool<Node>>>,
    free: Vec<Arc<Pool<Node>>>,
}

impl Annexes {
    pub(super) fn new(outside: Outside) -> Self {
        Self {
            outside,
            pools: Mutex::default(),
        }
    }

    /// Runs `body` inside the running task of the calling thread, and returns true, if that task
    /// runs in one of these pools.
    pub(super) fn run_inside(&self, body: Body<'_, '_>) -> bool {
        if !is_worker() {
            return false;
        }
        let here = |pool: &&Arc<Pool<Node>>| pool.port().current().is_some();
        let pool = self.pools().used.iter().find(here).cloned();
        pool.is_some_and(|pool| pool.run_inside(body).is_ok())
    }

    /// Runs `body` and its tasks on the calling thread, with the settings of `main`.
    pub(super) fn run(&self, main: &Pool<Node>, body: Body<'_, '_>) {
        let pool = self.take().unwrap_or_else(|| self.build(main));
        self.pools().used.push(Arc::clone(&pool));
        let taken = Taken {
            annexes: self,
            pool,
        };
        let run = taken.pool.with_seat(WorkerId(0), |seat| seat.run(body));
        run.expect("a pool has one caller")
    }

    fn take(&self) -> Option<Arc<Pool<Node>>> {
        self.pools().free.pop()
    }

    fn build(&self, main: &Pool<Node>) -> Arc<Pool<Node>> {
        let pool = Pool::on(
            Node::new(1, None),
            main.tree().clone(),
            vec![0],
            self.outside,
        );
        let pool = pool.with_phasers(main.phasers());
        Arc::new(pool.with_balancing(*main.balancing()))
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        // Nothing panics while it is locked.
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pool that a caller uses, until its run has ended, also by a panic.
struct Taken<'a> {
    annexes: &'a Annexes,
    pool: Arc<Pool<Node>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut pools = self.annexes.pools();
        let mut used = pools.used.iter();
        let at = used.position(|pool| Arc::ptr_eq(pool, &self.pool));
        let pool = pools
            .used
            .swap_remove(at.expect("listed when it was taken"));
        if pools.free.len() < KEPT {
            pools.free.push(pool);
        }
    }
}
