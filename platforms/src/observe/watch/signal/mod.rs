//! Printing what a program does upon a signal.
//!
//! The handler only writes to a pipe, which is all that a handler may do; a thread that reads from
//! the pipe prints.

use crate::process::messages;
use crate::{Error, Result};
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::{self, JoinHandle};

/// Prints until it is dropped.
#[derive(Debug)]
pub(crate) struct Printer {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Printer {
    /// Prints what `describe` returns upon each `SIGUSR1`.
    pub(crate) fn start(describe: impl Fn() -> String + Send + 'static) -> Result<Self> {
        let refused = |source: io::Error| Error::Threads { threads: 1, source };
        let mut signals = Signals::new([SIGUSR1]).map_err(refused)?;
        let handle = signals.handle();
        let print = move || {
            for _ in signals.forever() {
                messages::send(describe().trim_end());
            }
        };
        let named = thread::Builder::new().name("tautline-dump".to_owned());
        let thread = Some(named.spawn(print).map_err(refused)?);
        Ok(Self { handle, thread })
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its thread.
            _ = thread.join();
        }
    }
}
