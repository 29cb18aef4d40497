//! Interrupts: Ctrl-C, and the signals that ask a process to end.

use super::Failure;
use std::process;

/// Calls `stop` at the first interrupt; the second ends the process.
///
/// # Errors
/// If the system refuses, or the process watches for interrupts already.
pub fn on_first(stop: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let mut stop = Some(stop);
    let handler = move || match stop.take() {
        Some(stop) => stop(),
        None => process::exit(130),
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Check(format!("cannot watch for interrupts: {error}")))
}
