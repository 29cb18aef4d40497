//! Blocking on a future, while helping with other tasks.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | V1 | `wake_by_ref` sets WOKEN | `reset` | what the waker's thread did before | `block_on_*` in `verify/tests/task.rs` |

use crate::id::WorkerId;
use crate::port::{Host, Spin};
use crate::sync::{AtomicUsize, Lock, Ordering};
use crate::task::cx::Cx;
use crate::task::pool::Pool;
use crate::task::wait::{Awaited, Awaits};
use alloc::sync::Arc;
use alloc::task::Wake;
use core::cell::Cell;
use core::future::Future;
use core::pin::pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll, Waker};

impl<P: Host> Cx<'_, '_, P> {
    /// Runs `future` to completion, and other tasks while it is suspended.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # use tautline_core::flow::Ddf;
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let cell = Ddf::new();
    /// cx.scope(|cx| {
    ///     cx.spawn(|_| cell.put(42).unwrap());
    ///     assert_eq!(cx.block_on(cell.wait()), &42);
    /// });
    /// # }
    /// ```
    ///
    /// # Panics
    /// With the panic of `future`; or if nothing can go on, and the port is to end such waits.
    #[track_caller]
    pub fn block_on<T: Future>(&mut self, future: T) -> T::Output {
        // What is awaited may be waiting in turn, to any depth.
        if self.at().is_below_floor(ptr::from_ref(&future).addr()) {
            let worker = self.at().pointer();
            // SAFETY: the task runs on this worker, whose seat is held while it runs.
            return unsafe { worker.as_ref() }.on_more_stack(|| self.block_here_on(future));
        }
        self.block_here_on(future)
    }

    fn block_here_on<T: Future>(&mut self, future: T) -> T::Output {
        let mut future = pin!(future);
        let signal = Arc::new(Signal::new(self.pool(), self.worker()));
        let waker = Waker::from(Arc::clone(&signal));
        let _silenced = Silenced(&signal);
        let asked = Asked::new(&signal, self.pool());
        loop {
            signal.reset();
            // Any task may be the one that the future waits for, also one that was spawned before
            // this wait.
            let base = self.at().own().below_all();
            let poll = match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending if asked.take_question() => {
                    let poll =
                        |waker: &Waker| future.as_mut().poll(&mut Context::from_waker(waker));
                    self.pool().probe(&waker, poll)
                }
                polled => polled,
            };
            let forked = self.at().run_next();
            if let Poll::Ready(output) = poll {
                return output;
            }
            if !forked && signal.is_done() {
                // The future was woken while it was polled: other tasks first.
                self.at().help_once(&self.help(base));
            }
            self.at().wait(&asked, self.help(base));
            if asked.is_ended() {
                self.pool().port().resume(self.pool().stalled_payload());
            }
        }
    }
}

/// The waker of a worker that blocks on a future.
struct Signal<P: Host> {
    state: AtomicUsize,
    worker: WorkerId,
    /// `None` once the worker has stopped waiting, since wakers may outlive the pool.
    pool: Lock<Option<NonNull<Pool<P>>>>,
}

const WOKEN: usize = 1;
const ASLEEP: usize = 2;

// SAFETY: the pool is Sync, and alive while the pointer, which is under the lock, is set.
unsafe impl<P: Host> Send for Signal<P> {}
// SAFETY: the pool is Sync, and alive while the pointer, which is under the lock, is set.
unsafe impl<P: Host> Sync for Signal<P> {}

impl<P: Host> Signal<P> {
    fn new(pool: &Pool<P>, worker: WorkerId) -> Self {
        Self {
            state: AtomicUsize::new(0),
            worker,
            pool: Lock::new(Some(NonNull::from(pool))),
        }
    }

    fn reset(&self) {
        // ORDERING: Acquire, pairs with Release in wake_by_ref (V1): the next poll sees what the
        // waker's thread did.
        self.state.swap(0, Ordering::Acquire);
    }
}

impl<P: Host> Signal<P> {
    fn is_done(&self) -> bool {
        // ORDERING: Relaxed: the reset before the next poll acquires (V1).
        self.state.load(Ordering::Relaxed) & WOKEN != 0
    }

    fn sleep(&self) -> bool {
        // ORDERING: Relaxed: of two read-modify-writes of one word, the second observes the first;
        // the reset acquires (V1).
        self.state.fetch_or(ASLEEP, Ordering::Relaxed) & WOKEN == 0
    }
}

impl<P: Host> Wake for Signal<P> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // ORDERING: Release, pairs with Acquire in reset (V1).
        if self.state.fetch_or(WOKEN, Ordering::Release) & ASLEEP == 0 {
            return;
        }
        if let Some(pool) = &*self.pool.lock(&Spin) {
            // SAFETY: the pool is alive while the pointer is set, which is under the lock.
            let pool = unsafe { pool.as_ref() };
            pool.port().unpark(self.worker);
        }
    }
}

/// The wait for a signal, which also ends for an inquiry, or if all waits are to end.
struct Asked<'a, P: Host> {
    signal: &'a Signal<P>,
    pool: &'a Pool<P>,
    round: usize,
    /// The inquiry that was answered last.
    answered: Cell<usize>,
}

impl<'a, P: Host> Asked<'a, P> {
    fn new(signal: &'a Signal<P>, pool: &'a Pool<P>) -> Self {
        Self {
            signal,
            pool,
            round: pool.stalls.round(),
            answered: Cell::new(0),
        }
    }

    /// Returns whether the future must answer an inquiry, for the first time.
    fn take_question(&self) -> bool {
        let asking = self.pool.stalls.asking();
        let is_new = asking != 0 && asking != self.answered.get();
        if is_new {
            self.answered.set(asking);
        }
        is_new
    }

    /// Returns whether all waits are to end.
    fn is_ended(&self) -> bool {
        self.pool.stalls.round() != self.round
    }
}

impl<P: Host> Drop for Asked<'_, P> {
    /// Takes a question of this worker back, since its wait has ended.
    fn drop(&mut self) {
        if self.pool.stalls.asking() != 0 {
            self.pool.wait_ended(self.signal.worker);
        }
    }
}

impl<P: Host> Awaited for Asked<'_, P> {
    fn awaits(&self) -> Awaits {
        Awaits::Future
    }

    fn is_done(&self) -> bool {
        let asking = self.pool.stalls.asking();
        self.signal.is_done() || self.is_ended() || asking != 0 && asking != self.answered.get()
    }

    fn sleep(&self) -> bool {
        self.signal.sleep()
    }
}

/// Clears the signal's pool when the worker stops waiting, by return or by panic.
struct Silenced<'a, P: Host>(&'a Signal<P>);

impl<P: Host> Drop for Silenced<'_, P> {
    fn drop(&mut self) {
        *self.0.pool.lock(&Spin) = None;
    }
}
