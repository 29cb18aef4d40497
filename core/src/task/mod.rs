//! Tasks inside a node: fork and join, scopes with spawned tasks, and the workers that run them.
//!
//! # Algorithm
//! Habanero's async and finish (Chatterjee 2013, 4.1) in help-first order over work stealing; a two-way fork is
//! work-first. Forks live on the stack of the one who forks, in a [split deque](crate::deque::split).
#![allow(unreachable_pub, reason = "the module is being divided anew")]

mod cx;
mod future;
mod job;
mod phased;
mod pool;
mod raid;
mod scope;
mod stack;
mod worker;

pub use cx::Cx;
pub use future::TaskCx;
#[doc(hidden)]
pub use job::{Block, Blocks};
pub use phased::{Member, Phased, Request};
pub use pool::{Idle, Pool, Seat};

use crate::deque::split::Index;
use crate::finish::{Counter, Reason};
use crate::port::Host;
use core::mem;
use scope::Scope;

/// What a worker does while it waits for the tasks of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Runs any task: the most parallel. A lock held over the wait may be asked for by what it runs.
    #[default]
    Help,
    /// Runs only tasks of the scope that are still its own, and those inside it: safe while a lock is held
    /// that those do not ask for.
    Own,
    /// As [`Own`](Self::Own), but gives the processor back at once when there is none of them left.
    Park,
}

/// A finish that was cancelled: its result would be partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// Why.
    pub reason: Reason,
}

impl core::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "cancelled: {}", self.reason.name())
    }
}

impl core::error::Error for Cancelled {}

/// Where a task waits that was bound to a place from outside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// In a deque of the worker that bound it, which the place has for every worker.
    #[default]
    Deque,
    /// In the place's one inbox: fewer deques, where such tasks are rare.
    Inbox,
}

/// What a worker can wait for.
trait Awaited {
    /// It has come. Acquire.
    fn is_done(&self) -> bool;

    /// Makes sure that whoever makes it done wakes the worker that waits, from now on. False if it has come
    /// already. That worker only.
    fn sleep(&self) -> bool;
}

impl Awaited for Counter {
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
        // A panic out of a destructor that unwinding has called aborts. Loom reports what it has found by a panic in a wait,
        // and nothing runs on after that.
        if !cfg!(any(tautline_loom, tautline_shuttle)) {
            panic!(
                "a panic of the machine inside a wait: other threads may use the frames that it would unwind"
            );
        }
    }
}

/// Calls `act`, out of which no panic must come, since frames below are in use by other threads until it has returned.
#[inline(always)]
fn no_unwind<R>(act: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind;
    let result = act();
    mem::forget(guard);
    result
}

/// What a waiting worker may run: anything, or, as the `scope` of the waiting task says, only own tasks from `base` on that
/// are inside it.
struct Help<'x, P: Host> {
    scope: &'x Scope<P>,
    base: Index,
}

impl<'x, P: Host> Help<'x, P> {
    /// As the scope of the waiting task says.
    fn of(scope: &'x Scope<P>, base: Index) -> Self {
        Self { scope, base }
    }

    /// The scope, if only what is inside may run.
    fn inside(&self) -> Option<&'x Scope<P>> {
        (self.scope.wait != Wait::Help).then_some(self.scope)
    }
}
