//! Causes of an abort of a scope, and user code whose panics must not spread.

use crate::finish::Reason;
use crate::port::Unwind;
use core::task::Waker;
use core::{fmt, mem};

/// The error of a finish that was cancelled: its result would be partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled {
    /// The reason why it was cancelled.
    pub reason: Reason,
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cancelled: {}", self.reason.name())
    }
}

impl core::error::Error for Cancelled {}

/// The reason why a scope was aborted before all of its tasks had run.
#[derive(Debug)]
pub(in crate::task) enum Cause<X> {
    /// A task panicked.
    Panic(X),
    /// The scope was cancelled.
    Cancelled(Reason),
}

/// Drops `value`, swallowing a panic from its destructor.
pub(in crate::task) fn discard<P: Unwind, T>(port: &P, value: T) {
    if let Err(payload) = port.catch(|| drop(value)) {
        mem::forget(payload);
    }
}

/// Wakes `waker`, swallowing a panic: a waker may run any code, whose panic is not one of this
/// scope.
pub(in crate::task) fn wake<P: Unwind>(port: &P, waker: Waker) {
    if let Err(payload) = port.catch(|| waker.wake()) {
        discard(port, payload);
    }
}
