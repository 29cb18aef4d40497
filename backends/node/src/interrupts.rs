//! Interrupts: Ctrl-C, and the other signals that ask a process to end. Feature `signals`, on Unix systems.
//!
//! # Algorithm
//! While an action is registered, the first interrupt calls all that are, on a thread of this module; the next one has its default
//! effect, so that a program which does not react can be ended. Signals within `ONE_INTERRUPT` are one interrupt: `timeout -s INT`
//! sends two to its program, and a terminal that is closed sends `SIGHUP` beside the shell's. Without an action every interrupt has its
//! default effect. A signal that the process ignores when the first action is registered stays ignored, as `nohup` and shells promise
//! for processes in the background.
//!
//! # Words
//! `DUE`: from when on an interrupt has its default effect. Set to `NEVER` by each action that is registered, lowered by the
//! handler of the first signal, and set to `ALWAYS` by the last action that is revoked. `FIRST`: whether that signal is to be
//! served; set by its handler, cleared by the thread.
#![deny(unsafe_code)]

use crate::pool::Thread;
use crate::process::{Owned, PerProcess, without_forks};
use crate::signal::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

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
        handle()?;
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
        DUE.store(NEVER, Ordering::Relaxed);
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

/// Signals that come within this time are one interrupt.
const ONE_INTERRUPT: Duration = Duration::from_millis(200);

/// From when on an interrupt has its default effect, in milliseconds after [`start`].
static DUE: AtomicU64 = AtomicU64::new(ALWAYS);

/// Whether there was a signal for which actions are to be called.
static FIRST: AtomicBool = AtomicBool::new(false);

const ALWAYS: u64 = 0;
const NEVER: u64 = u64::MAX;

/// When the process first looked.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Installs the handlers, also for the children of `fork`.
fn handle() -> io::Result<()> {
    static IS_DONE: Mutex<bool> = Mutex::new(false);
    let start = start();
    without_forks(|| {
        let mut is_done = IS_DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_done {
            for signal in heeded() {
                // SAFETY: `arrived` reads a clock and accesses a word, and what ends the process there may be called by a handler.
                #[allow(unsafe_code)]
                unsafe {
                    low_level::register(signal, move || arrived(signal, start.elapsed()))?;
                }
            }
            *is_done = true;
        }
        Ok(())
    })
}

/// What the handler of a signal does that arrives at this time after [`start`].
fn arrived(signal: i32, at: Duration) {
    let millis = |time: Duration| time.as_millis() as u64;
    // ORDERING: Relaxed: publishes nothing; a signal that arrives while an action is registered or revoked may have either effect.
    match millis(at) >= DUE.load(Ordering::Relaxed) {
        // For these signals it does not return.
        true => _ = low_level::emulate_default_handler(signal),
        // ORDERING: Relaxed: as the load.
        false if DUE.fetch_min(millis(at + ONE_INTERRUPT), Ordering::Relaxed) == NEVER => {
            // ORDERING: Relaxed: the handler of `Signals`, which is called next, wakes the thread that reads it.
            FIRST.store(true, Ordering::Relaxed);
        }
        false => (),
    }
}

/// Returns the interrupts that the process did not ignore before the first call.
fn heeded() -> Vec<i32> {
    static HEEDED: OnceLock<Vec<i32>> = OnceLock::new();
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

    /// Calls the actions, once for all signals of an interrupt. If the last one has just been revoked, the signal has its default
    /// effect.
    fn interrupt(&self, signal: i32) {
        // ORDERING: Relaxed: as the store of the handler.
        if !FIRST.swap(false, Ordering::Relaxed) {
            return;
        }
        let actions = std::mem::take(&mut self.state().actions);
        if actions.is_empty() {
            // For these signals it does not return.
            _ = low_level::emulate_default_handler(signal);
        }
        for (_, action) in actions {
            action();
        }
    }

    fn revoke(&self, key: u64) {
        let mut state = self.state();
        let at = state.actions.iter().position(|(other, _)| *other == key);
        let revoked = at.map(|at| state.actions.remove(at));
        if state.actions.is_empty() {
            // ORDERING: Relaxed: publishes nothing; a signal that arrives now may have either effect.
            DUE.store(ALWAYS, Ordering::Relaxed);
        }
        drop(state);
        drop(revoked);
    }
}
