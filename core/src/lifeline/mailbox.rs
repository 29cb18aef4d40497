//! Messages for the places of a rank: its workers read them while they compute, and a task
//! otherwise.
//!
//! # Words
//! `arrived`: an inbox. `reader`: under its lock, which `register`, `push` and `retire` take:
//! either the task that registers observes the message, or it is woken; likewise for the last
//! worker that retires.

use crate::deque::Inbox;
use crate::port::Relax;
use crate::sync::Lock;
use core::mem;
use core::task::Waker;

/// A queue that any thread may fill. Workers that [attend](Self::attend) empty it while they
/// compute; while there are none, a message wakes the task that has [registered](Self::register).
///
/// ```
/// use std::task::Waker;
/// use tautline_core::{lifeline::Mailbox, port::Spin};
///
/// let mailbox = Mailbox::default();
/// mailbox.register(Waker::noop(), &Spin);
/// mailbox.push("hello", &Spin); // by any thread; wakes the task
/// assert_eq!(mailbox.pop(&Spin), Some("hello"));
/// ```
#[derive(Debug)]
pub struct Mailbox<M> {
    arrived: Inbox<M>,
    reader: Lock<Reader>,
}

#[derive(Debug, Default)]
struct Reader {
    /// Of the task that reads while no worker attends.
    waker: Option<Waker>,
    attendants: usize,
}

impl Reader {
    /// Returns the waker of the task, if it is the only reader. Wakers are cloned under the lock,
    /// and woken and dropped outside of it.
    fn of_task(&self) -> Option<Waker> {
        match self.attendants {
            0 => self.waker.clone(),
            _ => None,
        }
    }
}

impl<M> Default for Mailbox<M> {
    fn default() -> Self {
        Self {
            arrived: Inbox::new(),
            reader: Lock::new(Reader::default()),
        }
    }
}

impl<M> Mailbox<M> {
    /// Registers how to wake the task that reads. It must poll for messages after each call, before
    /// it waits.
    pub fn register(&self, waker: &Waker, relax: &impl Relax) {
        let waker = Some(waker.clone());
        let before = mem::replace(&mut self.reader.lock(relax).waker, waker);
        drop(before);
    }

    /// Enters a worker that reads while it computes.
    pub fn attend(&self, relax: &impl Relax) {
        self.reader.lock(relax).attendants += 1;
    }

    /// Removes such a worker. The last one leaves the messages to the task, which is woken if there
    /// are any. The caller must have called [`attend`](Self::attend).
    pub fn retire(&self, relax: &impl Relax) {
        let mut reader = self.reader.lock(relax);
        reader.attendants -= 1;
        let waker = reader.of_task();
        drop(reader);
        if let Some(waker) = waker
            && !self.is_empty()
        {
            waker.wake();
        }
    }

    /// Wakes the task that reads, also while workers attend.
    pub fn wake(&self, relax: &impl Relax) {
        let waker = self.reader.lock(relax).waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Appends a message, and wakes the task unless workers attend. One that does not observe the
    /// message retires later, and wakes the task.
    pub fn push(&self, message: M, relax: &impl Relax) {
        self.arrived.push(message, relax);
        let waker = self.reader.lock(relax).of_task();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the first message.
    pub fn pop(&self, relax: &impl Relax) -> Option<M> {
        self.arrived.pop(relax)
    }

    /// Takes the newest message that is `wanted`.
    pub fn pop_newest(&self, relax: &impl Relax, wanted: impl Fn(&M) -> bool) -> Option<M> {
        self.arrived.pop_newest(relax, wanted)
    }

    /// Whether there was no message recently; a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }
}
