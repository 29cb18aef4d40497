//! The interface by which the threads of a rank submit communication tasks.

use super::error::Error;
use super::operation::{Complete, Operation};
use super::slot::{Slots, State, Submitted, Ticket};
use crate::port::Bell;
use alloc::sync::Arc;
use core::fmt;

/// An operation, and what is done when it has ended.
pub(super) struct Task {
    pub(super) operation: Operation,
    pub(super) done: Arc<dyn Complete>,
}

/// The threads' end of a communication worker: takes tasks from any thread. Clones are the same
/// end.
#[derive(Clone)]
pub struct Tasks {
    slots: Arc<Slots<Task>>,
    bell: Arc<dyn Bell>,
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "communication tasks, {} slots", self.slots())
    }
}

impl Tasks {
    pub(super) fn new(slots: &Arc<Slots<Task>>, bell: Arc<dyn Bell>) -> Self {
        Self {
            slots: Arc::clone(slots),
            bell,
        }
    }

    /// Passes `operation` to the communication worker, which calls `done` once with the outcome.
    /// Never blocks. Allocates only if no slot is available, so that N outstanding tasks have N
    /// slots.
    ///
    /// The operations of a thread are started in the order of its calls. The worker's bell is rung
    /// if the worker has seen all earlier tasks. If the worker is gone, `done` is called at once
    /// with [`Error::Closed`].
    ///
    /// # Panics
    /// If 2^24 - 1 tasks are outstanding (2^12 - 1 on machines of 32 bits).
    pub fn submit(&self, operation: Operation, done: Arc<dyn Complete>) -> Ticket {
        let (ticket, submitted) = self.slots.submit(Task { operation, done });
        match submitted {
            Submitted::Queued(true) => self.bell.ring(),
            Submitted::Queued(false) => {}
            Submitted::Refused(task) => task.done.complete(Err(Error::Closed)),
        }
        ticket
    }

    /// Returns the state of a task, `None` once its slot has a successor; a hint, since the worker
    /// may advance it.
    pub fn state(&self, ticket: Ticket) -> Option<State> {
        self.slots.state(ticket)
    }

    /// Returns the number of slots: that of the tasks that were ever outstanding at the same time.
    pub fn slots(&self) -> usize {
        self.slots.created()
    }
}
