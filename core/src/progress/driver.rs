//! The port of the loops: the exchange of a rank, its communication workers, its progress thread.

use crate::port::{Clock, Relax};

/// Lends the exchange of a rank, its communication workers, and the parking of its progress thread.
///
/// The ticks are those of the [`Clock`]. [`Relax::relax`] pauses between two polls,
/// [`Relax::yield_now`] lets other threads run.
pub trait Driver: Clock + Relax {
    /// Runs a turn of the exchange. Returns whether anything moved; errors reach those that wait.
    /// Does not block.
    fn exchange(&self) -> bool;

    /// Lets all communication workers do what there is to do. Returns whether there was anything.
    fn step(&self) -> bool;

    /// Sends the messages that communication workers have put into channels.
    fn flush(&self);

    /// Waits until something may have arrived, the bell was rung, or `ticks` are over, and runs a
    /// turn of the exchange. Returns whether anything moved; `None` if the channels have ended.
    /// Called by the progress thread.
    fn wait(&self, ticks: u64) -> Option<bool>;

    /// Blocks the progress thread, which is the caller, until its permit is available, and takes
    /// it; or until `ticks` are over. May return spuriously. Acquire: what happens-before the
    /// [`unpark`](Self::unpark) is visible.
    fn park(&self, ticks: u64);

    /// Makes the permit of the progress thread available, which is sticky. Called from any thread;
    /// does not block. Release.
    fn unpark(&self);

    /// Runs a turn, which may run code of the program. Returns `None` if it panics. Provided: calls
    /// it.
    fn contain<R>(&self, turn: impl FnOnce() -> R) -> Option<R> {
        Some(turn())
    }
}
