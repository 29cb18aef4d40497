//! Measuring, common to all benchmarks: processors, deadline, interrupts, progress.

use crate::command::balancer;
use crate::command::known::Known;
use crate::command::show::progress::Progress;
use crate::command::{Failure, Outcome};
use clap::Args;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tautline::Machine;
use tautline::balance::Reason;
use tautline::pinning::{Bind, Pinning, PlaceList};
use tautline_cli::bench::Setting;
use tautline_cli::program::interrupts;

/// The processors of benchmarks, and the display of their progress.
#[derive(Args, Debug)]
#[group(skip)]
pub(super) struct Measuring {
    /// The processors, as in OMP_PLACES; the n-th task stays on the n-th of them, in turn
    #[arg(long, value_name = "LIST", hide_possible_values = true)]
    #[arg(value_parser = Known::new(balancer::list, balancer::parts))]
    processors: Option<PlaceList>,
    /// No progress line; without a terminal on stderr it is omitted anyway
    #[arg(long)]
    quiet: bool,
}

impl Measuring {
    /// Returns settings for the requested processors of `machine`.
    pub(super) fn setting(&self, machine: &Machine) -> Result<Setting, Failure> {
        let pinning = match &self.processors {
            Some(list) => Pinning::listed(machine, list, Bind::Close).map_err(|error| {
                // For runs the setting is named `places`.
                Failure::Usage(error.to_string().replacen("pin", "--processors", 1))
            })?,
            None => Pinning::from_environment(machine)?,
        };
        let mut cpus: Vec<usize> = Vec::new();
        for &cpu in pinning.places().iter().flatten() {
            if !cpus.contains(&cpu) {
                cpus.push(cpu);
            }
        }
        Ok(Setting::on(machine, cpus))
    }

    /// Shows the progress of what is measured, `total` samples, until the line is dropped.
    pub(super) fn progress(
        &self,
        what: &str,
        setting: &Setting,
        total: usize,
        deadline: Duration,
    ) -> Progress {
        let (what, taken) = (what.to_owned(), Arc::clone(&setting.taken));
        // ORDERING: Relaxed: it publishes nothing.
        let before = taken.load(Ordering::Relaxed);
        let total = total as u64;
        Progress::show(self.quiet, Some(total), Some(deadline), move |_| {
            // ORDERING: Relaxed: it publishes nothing.
            let done = (taken.load(Ordering::Relaxed) - before) as u64;
            (done, format!("{what}, {done} of {total} samples"))
        })
    }
}

/// Stops the measurements at the first interrupt, and at the deadline.
pub(super) fn stop_in_time(setting: &Setting, deadline: Duration) -> Outcome {
    let interrupted = Arc::clone(&setting.stop);
    interrupts::on_first(move || interrupted.stop(Reason::Interrupted));
    let late = Arc::clone(&setting.stop);
    let watch = move || {
        // A sleep, since the event is the time itself.
        thread::sleep(deadline);
        late.stop(Reason::Deadline);
    };
    // The process may end before.
    let started = thread::Builder::new().spawn(watch);
    started
        .map(|_| ())
        .map_err(|error| Failure::Check(format!("cannot start a thread for the deadline: {error}")))
}

/// Returns the outcome of measurements that have been printed.
pub(super) fn ended(setting: &Setting) -> Outcome {
    match setting.stop.reason() {
        Some(Reason::Interrupted) => Err(Failure::Interrupted),
        _ => Ok(()),
    }
}

pub(super) fn failure(error: io::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Equal shares of the time until the deadline.
pub(super) struct Shares {
    end: Option<Instant>,
    left: usize,
}

impl Shares {
    pub(super) fn new(deadline: Duration, parts: usize) -> Self {
        Self {
            // A deadline that no clock reaches limits nothing.
            end: Instant::now().checked_add(deadline),
            left: parts,
        }
    }

    /// Returns the end of the next part, whose share is that of the time that the ones before have
    /// left.
    pub(super) fn next(&mut self) -> Option<Instant> {
        let parts = self.left.max(1);
        self.left = parts - 1;
        let now = Instant::now();
        let left = self.end?.saturating_duration_since(now);
        Some(now + left / parts as u32)
    }
}
