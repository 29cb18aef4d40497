//! Wait modes, events that a worker can wait for, and frames that must not unwind.

use crate::finish::Counter;
use core::mem;

pub(super) use crate::watch::Awaits;

/// The mode in which a worker waits for the tasks of a scope.
///
/// ```
/// # use tautline_core::{port::Host, task::{Cx, Wait}};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>, lock: &std::sync::Mutex<u32>) {
/// let guard = lock.lock().unwrap();
/// cx.scope_with(Wait::Own, |cx| cx.spawn(|_| println!("a task that does not lock")));
/// drop(guard);
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Runs any task, for the most parallelism. If a lock is held during the wait, a task run by it
    /// may try to acquire that lock.
    #[default]
    Help,
    /// Runs only tasks of the waiting scope, and of scopes inside it, from the worker's own queues.
    /// Safe while a lock is held that these tasks do not acquire.
    Own,
    /// As [`Own`](Self::Own), but parks without spinning once none of these tasks is left.
    Park,
}

/// An event that a worker can wait for.
pub(super) trait Awaited {
    /// Returns the event that the worker awaits, as it is reported.
    fn awaits(&self) -> Awaits;

    /// Returns whether the event has happened. Acquire.
    fn is_done(&self) -> bool;

    /// Requests that the waiting worker is unparked when the event happens. Returns false if it has
    /// happened already. Called by that worker only.
    fn sleep(&self) -> bool;
}

impl Awaited for Counter {
    fn awaits(&self) -> Awaits {
        Awaits::Scope
    }

    fn is_done(&self) -> bool {
        self.is_done()
    }

    fn sleep(&self) -> bool {
        self.sleep()
    }
}

/// Aborts the process when it is dropped, which only unwinding does.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        // A panic out of a destructor during unwinding aborts. Loom reports its findings by a panic
        // in a wait, after which nothing continues.
        if !cfg!(any(tautline_loom, tautline_shuttle)) {
            panic!(
                "a port panicked inside a wait: other threads may access the frames that unwinding would free"
            );
        }
    }
}

/// Calls `act`, and aborts the process if it unwinds: other threads use the frames below until it
/// has returned.
#[inline(always)]
pub(super) fn no_unwind<R>(act: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind;
    let result = act();
    mem::forget(guard);
    result
}
