//! Queueing tasks from any thread, and waking workers for them.

use super::Pool;
use crate::hierarchy::Domain;
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::Ordering;
use crate::task::job::Task;
use crate::task::worker::Worker;
use core::ptr::NonNull;

impl<P: Host> Pool<P> {
    /// Gives a task to the worker of the calling thread, by `own`, or to the pool if there is none.
    fn give(task: Task<P>, own: impl FnOnce(&Worker<P>, Task<P>)) {
        let pool = NonNull::from(task.scope().pool());
        // SAFETY: the task keeps the pool until it is queued.
        let here = unsafe { pool.as_ref() }.port.current();
        match here {
            // SAFETY: the worker's seat keeps the pool.
            Some(worker) => own(unsafe { pool.as_ref() }.worker(worker), task),
            // SAFETY: the task keeps the pool until it is queued.
            None => unsafe { Self::inject_from(pool, task) },
        }
    }

    /// Queues a task: as the newest of the calling thread if that is a worker, else in the pool's
    /// queue.
    pub(in crate::task) fn schedule(task: Task<P>) {
        Self::give(task, Worker::offer);
    }

    /// As [`schedule`](Self::schedule), but after all other tasks: for a future that was woken
    /// while it was polled. The continuation of a fork is queued as usual.
    pub(in crate::task) fn schedule_last(task: Task<P>) {
        Self::give(task, |worker, task| {
            if worker.has_next() {
                worker.offer(task);
            } else {
                worker.pool().inject(task);
            }
        });
    }

    /// As [`schedule`](Self::schedule), but the task runs as soon as the running one ends or
    /// suspends.
    pub(in crate::task) fn schedule_next(task: Task<P>) {
        Self::give(task, Worker::set_next);
    }

    /// Queues a task in the pool's queue.
    pub(in crate::task) fn inject(&self, task: Task<P>) {
        // SAFETY: the caller borrows the pool.
        unsafe { Self::inject_from(NonNull::from(self), task) };
    }

    /// As [`inject`](Self::inject), called by any thread.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    unsafe fn inject_from(pool: NonNull<Self>, task: Task<P>) {
        let inject = |pool: &Self| {
            pool.injected.push(task, &pool.port);
            if pool.idle.wanted() {
                pool.wake_one(|_| true);
            }
            // A worker on standby may wait for this task, and the others may be busy for long.
            pool.call(|_| true);
        };
        // SAFETY: the task keeps the pool until it is queued, or the caller does.
        unsafe { Self::visit(pool, inject) };
    }

    /// Calls `act`, which may end the last task that keeps the pool, and accesses the pool after
    /// that.
    ///
    /// # Safety
    /// As for [`visit`](Self::visit).
    pub(in crate::task) unsafe fn keep(pool: NonNull<Self>, act: impl FnOnce()) {
        // SAFETY: the caller has a task or a share that keeps the pool.
        let here = unsafe { pool.as_ref() }.port.current();
        match here {
            // The worker's seat keeps the pool.
            Some(_) => act(),
            // SAFETY: the caller has a task or a share that keeps the pool.
            None => unsafe { Self::visit(pool, |_| act()) },
        }
    }

    /// Calls `give`, which gives a task away and accesses the pool after that: until then, the task
    /// keeps the pool. The pool may be freed when this returns, hence no `&self`, which would
    /// assert that it is alive until then.
    ///
    /// # Safety
    /// The caller must have a task or a share of a scope that keeps the pool until `give` gives it
    /// away, or keep the pool for longer.
    unsafe fn visit(pool: NonNull<Self>, give: impl FnOnce(&Self)) {
        // SAFETY: the pool is alive as the caller ensures, and from here on because its drop waits
        // for the visit.
        let visitors = unsafe { &(*pool.as_ptr()).visitors };
        // ORDERING: Relaxed: published by the queue to the worker that runs the task, after which
        // the pool may be dropped.
        visitors.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the visit keeps the pool.
        give(unsafe { pool.as_ref() });
        // ORDERING: Release, pairs with Acquire in drop (`pool.H3`): the visitor's last access.
        visitors.fetch_sub(1, Ordering::Release);
    }

    /// Returns whether a worker is below `domain`.
    fn is_below(&self, worker: WorkerId, domain: Domain) -> bool {
        self.tree
            .subtree(domain)
            .contains(&self.positions[worker.index()])
    }

    /// Queues a task that is bound to a domain: only workers below that run it, or the only worker
    /// that there is.
    pub(in crate::task) fn bind(&self, domain: Domain, task: Task<P>) {
        if domain == Domain::ROOT || self.seats() == 1 {
            return Self::schedule(task);
        }
        let bind = |pool: &Self| {
            let here = pool.port.current();
            let from = here.map(|w| (w.index(), pool.is_below(w, domain)));
            pool.affinity.push(domain, from, task, &pool.port);
            pool.wake_one(|worker| pool.is_below(worker, domain));
            pool.call(|worker| pool.is_below(worker, domain));
        };
        // SAFETY: the caller borrows the pool.
        unsafe { Self::visit(NonNull::from(self), bind) };
    }

    /// Wakes a sleeper that `may_run` the task which was pushed, if there is one.
    fn wake_one(&self, may_run: impl Fn(WorkerId) -> bool) {
        let mut workers = self.workers.iter().map(|w| w.id());
        if let Some(worker) = workers.find(|w| may_run(*w) && self.idle.claim(*w)) {
            self.port.unpark(worker);
        }
    }

    /// Unparks the workers on standby that `may_run` the task which was pushed.
    fn call(&self, may_run: impl Fn(WorkerId) -> bool) {
        let workers = self.workers.iter().filter(|w| may_run(w.id()));
        for worker in workers.filter(|w| w.is_on_standby()) {
            self.port.unpark(worker.id());
        }
    }

    /// Wakes the sleeper that is nearest to a worker, if there is one.
    #[cold]
    pub(in crate::task) fn wake(&self, near: WorkerId) {
        let mut others = self.victims[near.index()].nearest();
        if let Some(worker) = others.find(|w| self.idle.claim(*w)) {
            self.port.unpark(worker);
        }
    }

    /// Wakes all workers.
    pub(super) fn wake_all(&self) {
        for worker in &self.workers {
            self.idle.claim(worker.id());
            self.port.unpark(worker.id());
        }
    }
}
