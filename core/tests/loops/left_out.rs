//! Loops that would last for centuries, were their rests not left out after a panic.

use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The time after the panic within which all workers leave the loop: several times what a busy
/// machine needs.
const LATEST: Duration = Duration::from_secs(20);

/// The body of a loop which panics on the thread that has called it.
pub(crate) struct Body {
    caller: ThreadId,
    is_shared: AtomicBool,
    panicked: OnceLock<Instant>,
    is_late: AtomicBool,
}

impl Body {
    /// Called by this thread; the panic waits until another thread runs a part of the loop, unless
    /// there is no other.
    pub(crate) fn new(is_alone: bool) -> Self {
        Self {
            caller: thread::current().id(),
            is_shared: AtomicBool::new(is_alone),
            panicked: OnceLock::new(),
            is_late: AtomicBool::new(false),
        }
    }

    /// Runs an iteration.
    pub(crate) fn step(&self) {
        if thread::current().id() != self.caller {
            self.is_shared.store(true, SeqCst);
        } else if self.is_shared.load(SeqCst) {
            self.panicked.get_or_init(Instant::now);
            panic!("the rest is left out");
        }
        if self.panicked.get().is_some_and(|at| at.elapsed() > LATEST) {
            self.is_late.store(true, SeqCst);
            panic!("the loop has continued");
        }
    }

    /// Checks how the loop has ended.
    pub(crate) fn assert_left_out<T>(self, ended: Result<T, Box<dyn Any + Send>>, setting: &str) {
        let payload = ended.err().expect("the panic of the caller");
        let message = payload.downcast_ref::<&str>().expect("a message");
        assert_eq!(*message, "the rest is left out");
        assert!(!self.is_late.into_inner(), "{setting}");
    }
}
