//! Interrupts: Ctrl-C, and the signals that ask a process to end.

use std::io::{self, Write};
use std::process;

/// Calls `stop` at the first interrupt; the second ends the process. A signal that the process was started to ignore is no
/// interrupt: `SIGHUP` under `nohup`, `SIGINT` in the background of a shell without job control.
///
/// Where the system refuses the thread for it, a line on standard error reports it, and the first interrupt ends the process.
pub fn on_first(stop: impl FnOnce() + Send + 'static) {
    if let Err(error) = watch(stop) {
        // `eprintln` would panic where standard error cannot be written.
        let _ = writeln!(
            io::stderr(),
            "tautline: cannot watch for interrupts: {error}; one ends the program at once"
        );
    }
}

/// The exit code after a second interrupt, as that of a program that `SIGINT` has ended.
const INTERRUPTED: i32 = 130;

#[cfg(unix)]
fn watch(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::sync::mpsc;
    use std::thread;
    use tautline_node::signal::is_ignored;

    let handled: Vec<i32> = [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| !is_ignored(*signal))
        .collect();
    if handled.is_empty() {
        return Ok(());
    }
    let (registered, answer) = mpsc::channel();
    // The thread registers the handlers: without it they would swallow the signals.
    let watch = move || {
        let mut signals = match Signals::new(handled) {
            Ok(signals) => signals,
            Err(error) => return drop(registered.send(Err(error))),
        };
        // The caller waits for it.
        let _ = registered.send(Ok(()));
        let mut interrupts = signals.forever();
        if interrupts.next().is_some() {
            stop();
        }
        if interrupts.next().is_some() {
            process::exit(INTERRUPTED);
        }
    };
    let named = thread::Builder::new().name("interrupts".to_owned());
    named.spawn(watch)?;
    answer
        .recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
}

#[cfg(not(unix))]
fn watch(stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut stop = Some(stop);
    let handler = move || match stop.take() {
        Some(stop) => stop(),
        None => process::exit(INTERRUPTED),
    };
    ctrlc::set_handler(handler).map_err(io::Error::other)
}
