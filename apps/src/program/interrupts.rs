//! Interrupts: Ctrl-C, and the signals that ask a process to end.

use std::io::{self, Write};

/// Calls `stop` at the first interrupt; the second ends the process. A signal that the process was
/// started to ignore is no interrupt: `SIGHUP` under `nohup`, `SIGINT` in the background of a shell
/// without job control.
///
/// Where the system refuses the thread for it, a line on standard error reports it, and the first
/// interrupt ends the process.
pub fn on_first(stop: impl FnOnce() + Send + 'static) {
    if let Err(error) = watch(stop) {
        // `eprintln` would panic where standard error cannot be written.
        let _ = writeln!(
            io::stderr(),
            "tautline: cannot watch for interrupts: {error}; one ends the program at once"
        );
    }
}

#[cfg(unix)]
fn watch(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use std::mem;
    use tautline_node::interrupts::Interrupt;

    // Registered until the process ends.
    Interrupt::call(stop).map(mem::forget)
}

#[cfg(not(unix))]
fn watch(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    /// As that of a program that `SIGINT` has ended.
    const INTERRUPTED: i32 = 130;
    let mut stop = Some(stop);
    let handler = move || match stop.take() {
        Some(stop) => stop(),
        None => std::process::exit(INTERRUPTED),
    };
    ctrlc::set_handler(handler).map_err(io::Error::other)
}
