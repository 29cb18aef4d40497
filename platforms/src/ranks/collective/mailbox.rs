//! Messages of an operation whose caller waits: it takes and decodes them itself.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tautline_core::wire::{Error, Fault, Receiver};
use tautline_core::{PlaceId, Rank};

/// Buffers that are kept for later messages.
const KEPT: usize = 16;
/// Bytes of a buffer that is kept.
const KEPT_BYTES: usize = 1 << 12;

/// The encodings that have arrived for the operation of a thread.
#[derive(Default)]
pub(super) struct Mailbox {
    mail: Mutex<Mail>,
    arrival: Condvar,
    /// Whether there may be mail.
    has_mail: AtomicBool,
}

#[derive(Default)]
struct Mail {
    arrived: VecDeque<(Rank, Vec<u8>)>,
    /// The error with which the channels have ended, or the loss of a rank of the group.
    error: Option<Error>,
    /// Empty buffers.
    spare: Vec<Vec<u8>>,
    awaiter: Option<Awaiter>,
}

/// The thread or task that waits for the next message.
enum Awaiter {
    /// The thread that called.
    Thread,
    Task(Waker),
}

impl Mail {
    fn next(&mut self) -> Option<Result<(Rank, Vec<u8>), Error>> {
        if let Some(next) = self.arrived.pop_front() {
            return Some(Ok(next));
        }
        self.error.clone().map(Err)
    }

    /// Drops the messages of an operation that has ended; keeps the memory of `last` and of a few
    /// others.
    fn clear(&mut self, last: Vec<u8>) {
        self.recycle(last);
        while let Some((_, buffer)) = self.arrived.pop_front() {
            self.recycle(buffer);
        }
        self.arrived.shrink_to(KEPT);
    }

    fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < KEPT && (1..=KEPT_BYTES).contains(&buffer.capacity()) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl Mailbox {
    /// Returns the next message, or the error that ends the call, if there is either.
    pub(super) fn try_next(&self) -> Option<Result<(Rank, Vec<u8>), Error>> {
        // ORDERING: Relaxed: a hint; the lock of the mail orders what it announces.
        if !self.has_mail.load(Ordering::Relaxed) {
            return None;
        }
        let mut mail = self.mail();
        let next = mail.next();
        let has_more = !mail.arrived.is_empty() || mail.error.is_some();
        // ORDERING: Relaxed: written under the lock of the mail.
        self.has_mail.store(has_more, Ordering::Relaxed);
        next
    }

    /// As [`try_next`](Self::try_next), but sleeps until there is either.
    pub(super) fn next(&self) -> Result<(Rank, Vec<u8>), Error> {
        let mut mail = self.mail();
        loop {
            if let Some(next) = mail.next() {
                return next;
            }
            mail.awaiter = Some(Awaiter::Thread);
            let woken = self.arrival.wait(mail);
            mail = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`try_next`](Self::try_next); if there is neither, `waker` is woken once there is.
    pub(super) fn await_next(&self, waker: &Waker) -> Option<Result<(Rank, Vec<u8>), Error>> {
        let mut mail = self.mail();
        let next = mail.next();
        let awaiter = next.is_none().then(|| Awaiter::Task(waker.clone()));
        let before = mem::replace(&mut mail.awaiter, awaiter);
        drop(mail);
        // Outside of the lock: dropping a waker may run any code.
        drop(before);
        next
    }

    /// Returns the error that ends the call, if there is one.
    pub(super) fn error(&self) -> Option<Error> {
        self.mail().error.clone()
    }

    /// Returns whether the call has ended before it could begin, and drops what has come for it.
    pub(super) fn has_ended(&self) -> bool {
        // ORDERING: Relaxed: as in try_next; this thread has delivered what there may be.
        if !self.has_mail.load(Ordering::Relaxed) {
            return false;
        }
        let mut mail = self.mail();
        let has_ended = mail.error.is_some();
        if has_ended {
            mail.clear(Vec::new());
        }
        has_ended
    }

    /// Takes back the buffer of a message.
    pub(super) fn recycle(&self, buffer: Vec<u8>) {
        self.mail().recycle(buffer);
    }

    /// Changes the mail, and wakes the thread that waits for it.
    fn put(&self, change: impl FnOnce(&mut Mail)) {
        let mut mail = self.mail();
        change(&mut mail);
        // ORDERING: Relaxed: as in try_next.
        self.has_mail.store(true, Ordering::Relaxed);
        let awaiter = mail.awaiter.take();
        drop(mail);
        match awaiter {
            Some(Awaiter::Thread) => self.arrival.notify_one(),
            Some(Awaiter::Task(waker)) => waker.wake(),
            None => {}
        }
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        // It is consistent between any two statements that change it.
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receiver for Mailbox {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        self.put(|mail| {
            if mail.error.is_some() {
                return;
            }
            let mut buffer = mail.spare.pop().unwrap_or_default();
            buffer.extend_from_slice(body);
            mail.arrived.push_back((Rank(from.0), buffer));
        });
        Ok(())
    }

    fn fail(&self, error: &Error) {
        self.put(|mail| _ = mail.error.get_or_insert_with(|| error.clone()));
    }

    /// The call ends here; those of other groups continue.
    fn lost(&self, error: &Error) -> bool {
        self.fail(error);
        true
    }
}

thread_local! {
    /// The mailbox of this thread's last operation.
    static LAST: Cell<Option<Arc<Mailbox>>> = const { Cell::new(None) };
}

impl Mailbox {
    /// Returns an empty mailbox: that of the last operation of this thread, unless another thread
    /// may still put a message of that operation into it.
    pub(super) fn take() -> Arc<Self> {
        let last = LAST.try_with(Cell::take).ok().flatten();
        let emptied = last.and_then(|mut mailbox| {
            Arc::get_mut(&mut mailbox)?.empty();
            Some(mailbox)
        });
        emptied.unwrap_or_default()
    }

    /// Keeps the mailbox of an operation that has ended for the next one, with the buffer of its
    /// last message.
    pub(super) fn give_back(mailbox: Arc<Self>, last: Vec<u8>) {
        mailbox.mail().clear(last);
        _ = LAST.try_with(|kept| kept.set(Some(mailbox)));
    }

    fn empty(&mut self) {
        let mail = self.mail.get_mut().unwrap_or_else(PoisonError::into_inner);
        mail.clear(Vec::new());
        // Each operation gets the error with which the channels have ended.
        mail.error = None;
        *self.has_mail.get_mut() = false;
    }
}
