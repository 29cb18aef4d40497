//! Small programs of tasks on phasers, written against any phaser, with an external check of the
//! phase order.
//!
//! # Algorithm
//! A table for each phaser, independent of it, records the signals of its tasks. A task that
//! leaves the wait of a phase checks the table for tasks that owe the signal. Entries are written
//! before the event that they record, so the table is never behind; other threads may run between
//! the two, as everywhere else.

mod check;
mod lines;
mod perform;
mod printed;
mod real;
mod scenario;
mod window;

pub use check::{Table, Violations};
pub use lines::Lines;
pub use perform::run;
pub use real::{Blocking, Real, Way};
pub use scenario::{Scenario, Step, all};
pub use window::windows;

use tautline_core::phaser::Mode;

/// A task's registration on any phaser. Dropping it deregisters the task.
pub trait Subject: Send + Sized + 'static {
    /// Registers a child, which starts at this task's phase.
    fn register(&mut self, mode: Mode) -> Self;

    /// Called when all initial tasks are registered, before any signal. Provided: nothing.
    fn founded(&self) {}

    /// Sends the signal of a `next` whose wait follows.
    fn signal(&mut self);

    /// Sends a signal ahead of `next`, which then sends none.
    fn signal_early(&mut self);

    /// Waits until all tasks have signalled.
    fn wait(&mut self);

    /// Signals and waits, each if the mode permits it.
    fn next(&mut self) {
        self.signal();
        self.wait();
    }
}
