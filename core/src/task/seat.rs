//! Seats: how a thread becomes a worker and runs tasks.

use super::cx::Cx;
use super::pool::Pool;
use super::worker::Worker;
use crate::id::WorkerId;
use crate::port::Host;
use crate::watch::State;
use core::marker::PhantomData;

/// A thread's membership among the workers of a pool, lent by [`Pool::with_seat`].
///
/// It is not `Send`:
///
/// ```compile_fail,E0277
/// fn sent<T: Send>() {}
/// fn any<P: tautline_core::port::Host>() {
///     sent::<tautline_core::task::Seat<'static, P>>();
/// }
/// ```
pub struct Seat<'p, P: Host> {
    worker: &'p Worker<P>,
    one_thread: PhantomData<*mut ()>,
}

impl<P: Host> Seat<'_, P> {
    /// Runs tasks until the pool is closed. Is on standby while the pool wants fewer workers.
    pub fn attend(&self) {
        self.worker.attend();
    }

    /// Runs `body` as a task, and returns when it and all tasks spawned in it have ended.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R) -> R {
        self.worker.measure_stack();
        Cx::enter(self.worker, body)
    }
}

impl<P: Host> Drop for Seat<'_, P> {
    fn drop(&mut self) {
        self.worker.inject_all();
        self.worker.retire();
        // SAFETY: the calling thread holds this seat, and releases it next.
        unsafe { self.worker.pool().port().set_current(None) };
        self.worker.release();
    }
}

impl<P: Host> Pool<P> {
    /// Calls `body` with the seat of a worker, which the calling thread holds until `body` has
    /// returned. Returns `None`, and drops `body`, if there is no such seat, another thread holds
    /// it, or the calling thread already holds one of this pool.
    ///
    /// A seat is only lent. A task that runs on it cannot release it:
    /// ```compile_fail,E0507
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| seat.run(|_| drop(*seat)));
    /// }
    /// ```
    /// It cannot be forgotten,
    /// ```compile_fail,E0507
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| std::mem::forget(*seat));
    /// }
    /// ```
    /// nor kept longer than one that the thread acquired after it,
    /// ```compile_fail,E0521
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>, other: &Pool<P>) {
    ///     let mut kept = None;
    ///     other.with_seat(WorkerId(0), |_| pool.with_seat(WorkerId(0), |seat| kept = Some(seat)));
    /// }
    /// ```
    /// nor used by another thread:
    /// ```compile_fail,E0277
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| {
    ///         std::thread::scope(|s| _ = s.spawn(|| seat.run(|_| ())));
    ///     });
    /// }
    /// ```
    /// The pool cannot be moved while a seat exists:
    /// ```compile_fail,E0505
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| seat.run(|_| drop(pool)));
    /// }
    /// ```
    /// Without these errors it compiles:
    /// ```
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: Pool<P>) {
    ///     let ran = pool.with_seat(WorkerId(0), |seat| seat.run(|cx| cx.join(|_| 1, |_| 2)));
    ///     assert_eq!(ran, Some((1, 2)));
    ///     drop(pool);
    /// }
    /// ```
    pub fn with_seat<R>(
        &self,
        worker: WorkerId,
        body: impl FnOnce(&Seat<'_, P>) -> R,
    ) -> Option<R> {
        let worker = self.workers().get(worker.index())?;
        let free = self.port().current().is_none() && worker.acquire(self);
        free.then(|| {
            // SAFETY: the calling thread holds the seat, until the drop of `Seat` has reset this.
            unsafe { self.port().set_current(Some(worker.id())) };
            worker.enter(State::Computing);
            body(&Seat {
                worker,
                one_thread: PhantomData,
            })
        })
    }

    /// Runs `body` as a separate scope inside the running task of the calling thread, isolated if
    /// that task is, and returns when it and all tasks spawned in it have ended.
    ///
    /// # Errors
    /// If the calling thread is not a worker of this pool: returns `body`.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run_inside<'e, R, B>(&self, body: B) -> Result<R, B>
    where
        B: for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    {
        match self.port().current() {
            Some(worker) => Ok(Cx::enter(self.worker(worker), body)),
            None => Err(body),
        }
    }
}
