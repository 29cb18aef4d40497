//! A worker in a wait that may not end.

use super::Worker;
use crate::port::Host;
use crate::task::pool::TaskScope;
use crate::task::scope::Cause;
use core::ptr::NonNull;

/// A wait of a task.
pub(super) struct Frame<P: Host> {
    /// The scope of the task, which outlives the wait.
    scope: NonNull<TaskScope<P>>,
    /// The number of times that all waits were ended before this one.
    round: usize,
    /// Whether the worker is in no other wait.
    is_outermost: bool,
}

impl<P: Host> Clone for Frame<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Host> Copy for Frame<P> {}

impl<P: Host> Worker<P> {
    /// Calls `wait`, which waits in a task of `scope`.
    pub(super) fn in_wait<R>(&self, scope: &TaskScope<P>, wait: impl FnOnce() -> R) -> R {
        let stalls = &self.pool().stalls;
        let frame = Frame {
            scope: NonNull::from(scope),
            round: stalls.round(),
            is_outermost: self.waits.get().is_none(),
        };
        let outer = self.waits.replace(Some(frame));
        let result = wait();
        self.waits.set(outer);
        result
    }

    /// Returns whether the worker is in one wait at most.
    pub(super) fn is_outermost(&self) -> bool {
        self.waits.get().is_none_or(|frame| frame.is_outermost)
    }

    /// Parks; in a wait, for a limited time. Returns whether that has elapsed.
    pub(super) fn park(&self) -> bool {
        let port = self.pool().port();
        if self.waits.get().is_some() {
            return port.park_in_wait(self.id);
        }
        port.park(self.id);
        false
    }

    /// Returns whether the innermost wait is to end, though what it waits for has not happened.
    pub(super) fn is_to_end(&self) -> bool {
        let frame = self.waits.get();
        frame.is_some_and(|frame| frame.round != self.pool().stalls.round())
    }

    /// Returns whether this worker is to put a question to the tasks of its caller.
    pub(super) fn is_asked(&self) -> bool {
        let asking = self.pool().stalls.asking();
        asking != 0 && asking != self.asked.get() && self.waits.get().is_some()
    }

    /// Ends the innermost wait if it is to end; else puts a question to tasks; else, if the limit
    /// of the wait has `elapsed`, checks whether anything runs. Called outside of the sleep
    /// protocol, since it may queue tasks.
    pub(super) fn check_wait(&self, elapsed: bool) {
        let Some(frame) = self.waits.get() else {
            return;
        };
        // SAFETY: the frame is removed before the wait returns, which borrows the scope.
        let scope = unsafe { frame.scope.as_ref() };
        if self.is_to_end() {
            let round = self.pool().stalls.round();
            self.waits.set(Some(Frame { round, ..frame }));
            scope.abort(Cause::Panic(self.pool().stalled_payload()));
        } else if self.is_asked() {
            self.asked.set(self.pool().stalls.asking());
            self.pool().pass_question(scope);
        } else if elapsed {
            self.pool().suspect(self.id(), scope);
        }
    }
}
