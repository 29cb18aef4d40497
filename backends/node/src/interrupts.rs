//! Interrupts: Ctrl-C, and the other signals that ask a process to end. Feature `signals`, on Unix
//! systems.
//!
//! # Algorithm
//! While an action is registered, the first interrupt calls all that are, on a thread of this
//! module; the next one has its default effect, so that a program which does not react can be
//! ended. Signals within `ONE_INTERRUPT` after the first are the same interrupt, whatever is
//! registered or revoked by then: `timeout -s INT` sends two to its program, and a terminal that is
//! closed sends `SIGHUP` in addition to the shell's. Without an action every other interrupt has
//! its default effect. A signal that the process ignores when the first action is registered stays
//! ignored, as `nohup` and shells promise for processes in the background.
//!
//! # Words
//! `NEXT`: the effect of the next interrupt, in one word, since signals arrive on several threads
//! at once. Its lowest bit, `CALLS`, is set by each action that is registered, and cleared by the
//! handler of the first signal and by the last action that is revoked. The others are the end of
//! the last interrupt, in milliseconds after `start`. `FIRST`: whether a first signal is to be
//! served; set by its handler, cleared by the thread. `PROCESS`: the process that has registered an
//! action last; its children have the words, but neither the actions nor the thread.
#![deny(unsafe_code)]

use crate::pool::Thread;
use crate::process::{Owned, PerProcess, without_forks};
use crate::signal::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::fmt;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The signals that ask a process to end: of a terminal, of `kill`, and of a terminal that is
/// closed.
const INTERRUPTS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The stack of the thread, of which little is used.
const STACK_BYTES: usize = 1 << 20;

/// The registration of an action; dropping it revokes the action. In the child of `fork` the
/// actions of the parent are not called.
#[derive(Debug)]
pub struct Interrupt(Owned<u64>);

impl Interrupt {
    /// Has the next interrupt call `action`, once, on a thread of its own; the interrupt after that
    /// one has its default effect. A panic of an action is reported, and ends nothing else.
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
        let watch = Watch::of_process();
        let mut state = watch.state();
        if !state.is_started {
            // ORDERING: Relaxed: a signal that the parent of this process has not served yet is
            // none of this one.
            FIRST.store(false, Ordering::Relaxed);
        }
        let key = state.count;
        state.count += 1;
        state.actions.push((key, Box::new(action)));
        let registered = Self(Owned::new(key));
        // Before there are handlers, so that each signal from then on calls the action.
        // ORDERING: Relaxed: publishes nothing; a signal that arrives now may have either effect.
        PROCESS.store(process::id(), Ordering::Relaxed);
        // ORDERING: Relaxed: as the store.
        NEXT.fetch_or(CALLS, Ordering::Relaxed);
        let mut watched = handle();
        if watched.is_ok() && !state.is_started {
            watched = watch.start();
            state.is_started = watched.is_ok();
        }
        // If it is refused, the drop of `registered` takes the lock.
        drop(state);
        watched.map(|()| registered)
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

/// The effect of the next interrupt.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Whether it calls the actions.
const CALLS: u64 = 1;

/// Whether there was a signal for which actions are to be called.
static FIRST: AtomicBool = AtomicBool::new(false);

/// The process that has registered an action last.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Returns the time of the first call in this process.
fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// Installs the handlers, also for the children of `fork`.
fn handle() -> io::Result<()> {
    static IS_DONE: Mutex<bool> = Mutex::new(false);
    without_forks(|| {
        let start = start();
        let mut is_done = IS_DONE.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_done {
            for signal in heeded() {
                // SAFETY: `arrived` reads a clock and a number, accesses words, and what ends the
                // process there may be called by a handler.
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

/// The action of the handler of a signal that arrives at this time after [`start`].
fn arrived(signal: i32, at: Duration) {
    let millis = |time: Duration| time.as_millis() as u64;
    let is_over = |next: u64| millis(at) >= next >> 1;
    let first = |next: u64| {
        let calls = next & CALLS != 0 && is_over(next);
        calls.then_some(millis(at + ONE_INTERRUPT) << 1)
    };
    // ORDERING: Relaxed: publishes nothing; a signal that arrives while an action is registered or
    // revoked may have either effect.
    let is_here = PROCESS.load(Ordering::Relaxed) == process::id();
    // ORDERING: Relaxed, twice: as the load.
    let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
    match is_here.then(|| NEXT.fetch_update(success, failure, first)) {
        // ORDERING: Relaxed: the handler of `Signals`, which is called next, wakes the thread that
        // reads it.
        Some(Ok(_)) => FIRST.store(true, Ordering::Relaxed),
        Some(Err(next)) if !is_over(next) => (),
        // For these signals it does not return.
        _ => _ = low_level::emulate_default_handler(signal),
    }
}

/// Returns the interrupts that the process did not ignore before the first call.
fn heeded() -> Vec<i32> {
    static HEEDED: OnceLock<Vec<i32>> = OnceLock::new();
    let heeded = || INTERRUPTS.into_iter().filter(|signal| !is_ignored(*signal));
    HEEDED.get_or_init(|| heeded().collect()).clone()
}

/// The signals that a process watches for.
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
        // It locks what a child of `fork` would find locked.
        let mut signals = without_forks(|| Signals::new(heeded()))?;
        let serve = move || {
            // One that has arrived before `signals` listened.
            self.interrupt(SIGINT);
            signals.forever().for_each(|signal| self.interrupt(signal));
        };
        let thread = Thread {
            stack_bytes: STACK_BYTES,
            ..Thread::default()
        };
        thread.spawn("interrupts", serve).map(drop)
    }

    /// Calls the actions, once for all signals of an interrupt. If the last one has just been
    /// revoked, the signal has its default effect.
    fn interrupt(&self, signal: i32) {
        // ORDERING: Relaxed: as the store of the handler.
        if !FIRST.swap(false, Ordering::Relaxed) {
            return;
        }
        let actions = mem::take(&mut self.state().actions);
        if actions.is_empty() {
            // For these signals it does not return.
            _ = low_level::emulate_default_handler(signal);
        }
        for (_, action) in actions {
            // The panic hook has reported it. The drop of what it has panicked with may panic.
            _ = catch_unwind(AssertUnwindSafe(action)).map_err(mem::forget);
        }
    }

    fn revoke(&self, key: u64) {
        let mut state = self.state();
        let at = state.actions.iter().position(|(other, _)| *other == key);
        let revoked = at.map(|at| state.actions.remove(at));
        if state.actions.is_empty() {
            // ORDERING: Relaxed: publishes nothing; a signal that arrives now may have either
            // effect.
            NEXT.fetch_and(!CALLS, Ordering::Relaxed);
        }
        drop(state);
        drop(revoked);
    }
}
