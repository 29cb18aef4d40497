//! Interrupts: Ctrl-C, and the other signals that ask a process to end. Feature `signals`, on Unix systems.
//!
//! # Algorithm
//! While an action is registered, the first interrupt calls all that are, on a thread of this module; the next one has its default
//! effect, so that a program which does not react can be ended. Without an action every interrupt has its default effect. A signal that
//! the process ignores when the first action is registered stays ignored, as `nohup` and shells promise for processes in the background.
//!
//! # Words
//! The flag of [`handlers`]: whether an interrupt has its default effect. Set by the handler of a signal, and by the last action that
//! is revoked; cleared by each that is registered.
#![forbid(unsafe_code)]

use crate::pool::Thread;
use crate::process::{Owned, PerProcess, without_forks};
use crate::signal::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The signals that ask a process to end: of a terminal, of `kill`, and of a terminal that is closed.
const INTERRUPTS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The stack of the thread, of which little is used.
const STACK_BYTES: usize = 1 << 20;

/// The registration of an action; dropping it revokes the action. In the child of `fork` the actions of the parent are not called.
#[derive(Debug)]
pub struct Interrupt(Owned<u64>);

impl Interrupt {
    /// Has the next interrupt call `action`, once, on a thread of its own; the interrupt after that one has its default effect.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use tautline_node::interrupts::Interrupt;
    ///
    /// let (interrupted, wait) = mpsc::channel();
    /// let _interrupt = Interrupt::call(move || interrupted.send(()).expect("the channel is open"))?;
    /// signal_hook::low_level::raise(signal_hook::consts::SIGINT)?; // as Ctrl-C does
    /// wait.recv().expect("the action was called");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// The system refuses a handler or the thread.
    pub fn call(action: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let is_default = handlers()?;
        let watch = Watch::of_process();
        let mut state = watch.state();
        if !state.is_started {
            watch.start()?;
            state.is_started = true;
        }
        let key = state.count;
        state.count += 1;
        state.actions.push((key, Box::new(action)));
        // ORDERING: Relaxed: publishes nothing; a signal that arrives now may have either effect.
        is_default.store(false, Ordering::Relaxed);
        Ok(Self(Owned::new(key)))
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(&key) = self.0.get() {
            Watch::of_process().revoke(key);
        }
    }
}

/// Installs the handlers, and returns the flag that they share, with the children of `fork` too.
fn handlers() -> io::Result<Arc<AtomicBool>> {
    static FLAG: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
    without_forks(|| {
        let mut flag = FLAG.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flag) = &*flag {
            return Ok(Arc::clone(flag));
        }
        let is_default = Arc::new(AtomicBool::new(true));
        for signal in heeded() {
            // In this order: the first signal finds the flag cleared, then sets it.
            flag::register_conditional_default(signal, Arc::clone(&is_default))?;
            flag::register(signal, Arc::clone(&is_default))?;
        }
        Ok(Arc::clone(flag.insert(is_default)))
    })
}

/// Returns the interrupts that the process did not ignore before the first call.
fn heeded() -> Vec<i32> {
    static HEEDED: std::sync::OnceLock<Vec<i32>> = std::sync::OnceLock::new();
    let heeded = || INTERRUPTS.into_iter().filter(|signal| !is_ignored(*signal));
    HEEDED.get_or_init(|| heeded().collect()).clone()
}

/// What a process watches for.
#[derive(Default)]
struct Watch {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order of their registration.
    actions: Vec<(u64, Box<dyn FnOnce() + Send>)>,
    count: u64,
    is_started: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl Watch {
    fn of_process() -> &'static Self {
        static WATCH: PerProcess<Watch> = PerProcess::empty();
        WATCH.get_or_init(Self::default)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&'static self) -> io::Result<()> {
        let mut signals = Signals::new(heeded())?;
        let serve = move || signals.forever().for_each(|signal| self.interrupt(signal));
        let thread = Thread {
            stack_bytes: STACK_BYTES,
            ..Thread::default()
        };
        thread.spawn("interrupts", serve).map(drop)
    }

    /// Calls the actions. If the last one has just been revoked, the signal has its default effect.
    fn interrupt(&self, signal: i32) {
        let actions = std::mem::take(&mut self.state().actions);
        if actions.is_empty() {
            // For these signals it does not return.
            _ = emulate_default_handler(signal);
        }
        for (_, action) in actions {
            action();
        }
    }

    fn revoke(&self, key: u64) {
        let mut state = self.state();
        let at = state.actions.iter().position(|(other, _)| *other == key);
        let revoked = at.map(|at| state.actions.remove(at));
        if state.actions.is_empty()
            && let Ok(is_default) = handlers()
        {
            // ORDERING: Relaxed: publishes nothing; a signal that arrives now may have either effect.
            is_default.store(true, Ordering::Relaxed);
        }
        drop(state);
        drop(revoked);
    }
}
