//! Small programs of tasks on phasers, written against any phaser, with the order of phases checked from outside.
//!
//! # Algorithm
//! A table beside each phaser, which the phaser does not know, holds what its tasks have signalled. Whoever leaves the wait
//! of a phase looks there whether a task is left that owes the signal. Entries are made before what they say happens, so the
//! table is never behind; a moment between the two is a point where another thread may come in, as everywhere else.

mod check;
mod lines;
mod perform;
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

/// A task's place on some phaser. Dropping it takes the task off.
pub trait Subject: Send + Sized + 'static {
    /// A child, which starts where this task stands.
    fn register(&mut self, mode: Mode) -> Self;

    /// All founders are there, and nobody has signalled. Provided: nothing.
    fn founded(&self) {}

    /// The signal of a `next` whose wait is to follow.
    fn signal(&mut self);

    /// A signal ahead of `next`, which then gives none.
    fn signal_early(&mut self);

    /// Waits until all have signalled.
    fn wait(&mut self);

    /// Signals and waits, each if its mode lets it.
    fn next(&mut self) {
        self.signal();
        self.wait();
    }
}
