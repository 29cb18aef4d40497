//! Interrupts and progress of simulated runs.

use crate::command::app::{About, AnyProblem};
use crate::command::show::progress::{Progress, counted};
use crate::command::{Failure, Outcome};
use std::sync::{Arc, Mutex, PoisonError};
use tautline::balance::{Control, Reason};
use tautline_cli::program::interrupts;
use tautline_sim::Interim;

/// Watches the runs of a command, one after the other.
#[derive(Clone)]
pub(super) struct Watcher {
    quiet: bool,
    /// Stopped if the user has interrupted the command.
    interrupt: Arc<Control>,
    /// The progress of the present run.
    interim: Arc<Mutex<Interim>>,
    /// The position of the run in a sweep, for the progress line: `point 2 of 8, `.
    run: String,
}

impl Watcher {
    /// Begins to watch for interrupts. The first one stops the present run and all later ones.
    pub(super) fn start(quiet: bool) -> Self {
        let interrupt = Arc::new(Control::new());
        let heard = Arc::clone(&interrupt);
        interrupts::on_first(move || heard.stop(Reason::Interrupted));
        Self {
            quiet,
            interrupt,
            interim: Arc::default(),
            run: String::new(),
        }
    }

    /// Returns the watcher of one of `all` points, seeds or the like, counted from 0.
    pub(super) fn of(&self, what: &str, at: usize, all: usize) -> Self {
        let mut one = self.clone();
        if all > 1 {
            one.run += &format!("{what} {} of {all}, ", at + 1);
        }
        one
    }

    /// Whether the user has interrupted the command.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_stopped()
    }

    /// Returns the outcome of a command whose results have been delivered.
    pub(super) fn outcome(&self) -> Outcome {
        match self.is_interrupted() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }

    /// Records the progress of the present run. Returns why it is to be stopped, if it is.
    pub(super) fn look(&self, interim: Interim) -> Option<Reason> {
        set(&self.interim, interim);
        self.interrupt.reason()
    }

    /// Shows the progress of the run of `problem` that begins, in this `part` of it, until the line
    /// is dropped.
    pub(super) fn show(&self, part: &str, problem: &dyn AnyProblem) -> Progress {
        set(&self.interim, Interim::default());
        let interim = Arc::clone(&self.interim);
        let (run, About { unit, tasks, .. }) = (format!("{}{part}", self.run), problem.about());
        Progress::show(self.quiet, tasks, None, move |seconds| {
            let Interim { virtual_ns, tasks } = get(&interim);
            let (time, done) = (virtual_ns as f64 / 1e9, counted(tasks, unit, seconds));
            (tasks, format!("{run}{time:.6} virtual seconds, {done}"))
        })
    }
}

fn set(shared: &Mutex<Interim>, interim: Interim) {
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = interim;
}

fn get(shared: &Mutex<Interim>) -> Interim {
    *shared.lock().unwrap_or_else(PoisonError::into_inner)
}
