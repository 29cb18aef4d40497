//! Results of accesses that wait for a value.
//!
//! # Words
//! `state`, under a lock: the result, and the waker of a future that waits for it. `is_full`: set
//! once the result was put; a thread that polls takes no lock before.

use crate::port::Relax;
use crate::sync::{AtomicBool, Lock, Ordering};
use alloc::sync::Arc;
use core::fmt;
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// The place of the result of an access, which is put once.
struct Slot<R, X> {
    state: Lock<State<R>>,
    is_full: AtomicBool,
    relax: X,
}

enum State<R> {
    Empty(Option<Waker>),
    Full(R),
    Taken,
}

/// The result of an access, once it has been performed: polled, or awaited as a future. Threads
/// that find it in use relax by `X`.
pub struct Answer<R, X>(Arc<Slot<R, X>>);

/// The duty to put a result, as a rule of the thread that delivers the value.
pub struct Promise<R, X>(Arc<Slot<R, X>>);

/// Returns an answer, and the promise that puts it.
///
/// ```
/// use tautline_core::directory::promise;
/// use tautline_core::port::Spin;
///
/// let (answer, promise) = promise(Spin);
/// assert_eq!(answer.take(), None);
/// promise.put(7);
/// assert_eq!(answer.take(), Some(7));
/// ```
pub fn promise<R, X: Relax>(relax: X) -> (Answer<R, X>, Promise<R, X>) {
    let slot = Arc::new(Slot {
        state: Lock::new(State::Empty(None)),
        is_full: AtomicBool::new(false),
        relax,
    });
    (Answer(Arc::clone(&slot)), Promise(slot))
}

impl<R, X: Relax> Promise<R, X> {
    /// Puts the result, and wakes the task that awaits it.
    pub fn put(self, result: R) {
        let slot = &*self.0;
        let before = mem::replace(&mut *slot.state.lock(&slot.relax), State::Full(result));
        // ORDERING: Relaxed: a hint; the lock carries the result.
        slot.is_full.store(true, Ordering::Relaxed);
        if let State::Empty(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<R, X: Relax> Answer<R, X> {
    /// Takes the result, if it has been put.
    pub fn take(&self) -> Option<R> {
        let slot = &*self.0;
        // ORDERING: Relaxed: a hint, as in `put`: the future does without.
        if !slot.is_full.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = slot.state.lock(&slot.relax);
        match mem::replace(&mut *state, State::Taken) {
            State::Full(result) => Some(result),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl<R, X: Relax> Future for Answer<R, X> {
    type Output = R;

    /// # Panics
    /// If the result was taken before.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // Cloned and dropped outside of the lock: code of the executor.
        let mut waker = Some(cx.waker().clone());
        let slot = &*self.0;
        let mut state = slot.state.lock(&slot.relax);
        match mem::replace(&mut *state, State::Taken) {
            State::Empty(mut before) => {
                mem::swap(&mut before, &mut waker);
                *state = State::Empty(before);
                drop(state);
                Poll::Pending
            }
            State::Full(result) => Poll::Ready(result),
            State::Taken => panic!("a result is taken once"),
        }
    }
}

impl<R, X> fmt::Debug for Answer<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // ORDERING: Relaxed: a snapshot.
        let is_full = self.0.is_full.load(Ordering::Relaxed);
        f.debug_struct("Answer").field("is_full", &is_full).finish()
    }
}

impl<R, X> fmt::Debug for Promise<R, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Promise").finish_non_exhaustive()
    }
}
