//! The threads that suites run on.

use alloc::sync::Arc;
use tautline_core::port::{Clock, Relax};

/// The requirements of suites in addition to the port that they judge: its time, threads, and a
/// limit of their runs. `Threads` is that of the standard library; on a board without an operating
/// system, harts that wait for work are another.
pub trait Harness: Clock + Relax + Clone + Send + Sync + 'static {
    /// Reports the step of a suite that begins, before it does: the last one names where a port
    /// hangs.
    fn report(&self, step: &str);

    /// Calls `body` with each number below `threads`, at the same time, each on a thread of its
    /// own, and returns when all calls have returned.
    ///
    /// # Panics
    /// If one of them panics, or does not return in time, which the message states of `what`.
    fn run(&self, what: &str, threads: usize, body: Body);
}

/// Reports a step, and runs it.
pub(crate) fn step(on: &impl Harness, what: &str, threads: usize, body: Body) {
    on.report(what);
    on.run(what, threads, body);
}

/// The body that the threads of a [`Harness`] run.
pub type Body = Arc<dyn Fn(usize) + Send + Sync>;

/// Seconds after which a condition is not expected any more.
const TOO_LONG: f64 = 10.0;

/// Polls until `done`, for [`TOO_LONG`] at most, and many polls at least: the program may be
/// stopped in between.
///
/// # Panics
/// If the condition is not met by then.
pub(crate) fn within(on: &impl Harness, what: &str, done: impl Fn() -> bool) {
    let start = on.now();
    let mut polls = 0;
    while !done() {
        polls += 1;
        let seconds = (on.now() - start) as f64 / on.ticks_per_second();
        assert!(
            polls < 100_000 || seconds < TOO_LONG,
            "waited too long: {what}"
        );
        on.yield_now(polls);
    }
}
