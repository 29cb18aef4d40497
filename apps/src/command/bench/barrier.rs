//! `tautline bench barrier`: barrier latency against a cache-line round trip.

use super::report::Report;
use crate::command::balancer::{self, within};
use crate::command::duration::{nanoseconds, seconds};
use crate::command::known::Known;
use crate::command::list::{List, numbers};
use crate::command::show::progress::Progress;
use crate::command::{Failure, Outcome};
use clap::Args;
use std::io;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};
use tautline::Machine;
use tautline::glb::Reason;
use tautline::pinning::{Bind, Pinning, PlaceList};
use tautline_cli::bench::{Kind, Setting, kinds, pairs};
use tautline_cli::program::interrupts;

/// The number of threads that an ordinary system starts.
const TASKS: RangeInclusive<u64> = 2..=1024;
/// A node of a tree with more children is a central counter.
const DEGREES: RangeInclusive<u64> = 2..=1024;
/// Fewer than 20 are insufficient to estimate the spread.
const SAMPLES: RangeInclusive<u64> = 20..=100_000;
const ITERATIONS: RangeInclusive<u64> = 1..=100_000_000;
const DELAYS_NS: RangeInclusive<u64> = 0..=1_000_000_000;
/// The shortest time of all measurements.
const DEADLINE_MIN_NS: u64 = 1_000_000;
/// The maximum number of pairs of processors for each distance.
const PAIRS: usize = 4;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bench barrier                              2, 4, ... tasks, up to one for each processor
  tautline bench barrier --tasks 8,64 --degree 2,4,8  trees of three degrees
  tautline bench barrier --tasks 2 --processors '{0},{16}'
                                                      across two sockets
  tautline bench barrier --delay 500                  500 ns of work between two episodes
  tautline bench barrier --samples 100 --json         for programs
  tautline bench barrier --deadline 10m               on a large machine
  tautline bench barrier --program ./openmp           beside a program, given episodes and threads,
                                                      that prints the nanoseconds of an episode

An overhead is the time of a loop with the barrier less that of the loop without, by its turns. Barriers
take turns, sample by sample; a sample whose threads had to wait for others is repeated, up to 4 times.
Rows show `disturbed` in place of round trips if a quarter of their samples stayed so. There is no
verdict with more tasks than processors, if threads cannot be pinned, if others used the processors, and
with fewer samples than requested. Rows are printed when they have been measured. Each number of tasks
has an equal share of the deadline. At the deadline (exit code 0) and at Ctrl-C (130) the samples so far
are printed. A list of places is as for topo --pin.";

/// Measure barrier latency against a cache-line round trip
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Barrier {
    /// Numbers of tasks, as in 2,4,8 or 2..8 [default: 2, 4, 8, ... up to the number of processors]
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| numbers(text, TASKS))]
    tasks: Vec<List<u64>>,
    /// Degrees of the trees, with commas
    #[arg(
        long,
        value_name = "LIST",
        default_value = "2,4",
        allow_negative_numbers = true
    )]
    #[arg(value_parser = |text: &str| numbers(text, DEGREES))]
    degree: Vec<List<u64>>,
    /// Samples of each barrier
    #[arg(long, value_name = "N", default_value = "20")]
    #[arg(value_parser = |text: &str| within(text, SAMPLES), allow_negative_numbers = true)]
    samples: u64,
    /// Episodes a sample [default: as many as take 4 ms, at least 100]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = |text: &str| within(text, ITERATIONS), allow_negative_numbers = true)]
    iterations: Option<u64>,
    /// Work between two episodes, in nanoseconds or with units as in 2us
    #[arg(long, value_name = "TIME", default_value = "0")]
    #[arg(value_parser = |text: &str| nanoseconds(text, DELAYS_NS), allow_hyphen_values = true)]
    delay: u64,
    /// The processors, as in OMP_PLACES; the n-th task stays on the n-th of them, in turn
    #[arg(long, value_name = "LIST", hide_possible_values = true)]
    #[arg(value_parser = Known::new(balancer::list, balancer::parts))]
    processors: Option<PlaceList>,
    /// Program to measure as well; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    program: Vec<PathBuf>,
    /// End after this time, seconds or with units as in 5m, with fewer samples than requested
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Duration,
    /// One JSON object instead of tables, at the end
    #[arg(long)]
    json: bool,
    /// No progress line; without a terminal on stderr it is omitted anyway
    #[arg(long)]
    quiet: bool,
}

impl Barrier {
    /// Measures and prints the results.
    pub(super) fn run(&self) -> Outcome {
        let machine = Machine::discover();
        let setting = self.setting(&machine)?;
        let mut degrees: Vec<usize> = Vec::new();
        for degree in List::join(&self.degree) {
            if !degrees.contains(&(degree as usize)) {
                degrees.push(degree as usize);
            }
        }
        if let Some(path) = self.program.iter().find(|path| !path.is_file()) {
            let line = format!(
                "--program {}: expected the file of a program",
                path.display()
            );
            return Err(Failure::Usage(line));
        }
        let programs = self.program.iter().map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            Kind::program(name.to_string_lossy(), [path])
        });
        let kinds: Vec<Kind> = kinds(&degrees).into_iter().chain(programs).collect();
        self.watch(&setting)?;
        let mut report = Report::start(&machine, &setting, self.json)?;
        let tasks = self.numbers_of_tasks(setting.processors);
        let mut share = Shares::new(self.deadline, 1 + tasks.len());
        let pairs = pairs(&machine, &setting.cpus, PAIRS);
        let all: Vec<[usize; 2]> = pairs.iter().flat_map(|(_, pairs)| pairs.clone()).collect();
        let progress = self.progress("round trips", &setting, all.len());
        let round_trips = setting.ping_pong(&all, share.next());
        // The line would be in the table.
        drop(progress);
        let mut round_trips = round_trips.map_err(failure)?.into_iter();
        let distances = pairs.into_iter().map(|(distance, pairs)| {
            let samples = round_trips.by_ref().take(pairs.len());
            (distance, samples.collect())
        });
        report.round_trips(distances.collect())?;
        for tasks in tasks {
            let until = share.next();
            if setting.stop.is_stopped() {
                break;
            }
            let what = format!("barriers of {tasks} tasks");
            let progress = self.progress(&what, &setting, kinds.len() + 1);
            let compared = setting.compare(&kinds, tasks, until).map_err(failure)?;
            drop(progress);
            report.compared(compared)?;
        }
        report.end()?;
        match setting.stop.reason() {
            Some(Reason::Interrupted) => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    /// Shows the progress of what is measured until the line is dropped: samples of each of `rows`.
    fn progress(&self, what: &str, setting: &Setting, rows: usize) -> Progress {
        let (what, taken) = (what.to_owned(), Arc::clone(&setting.taken));
        // ORDERING: Relaxed: it publishes nothing.
        let before = taken.load(Ordering::Relaxed);
        let total = (rows * setting.samples) as u64;
        Progress::show(self.quiet, Some(total), Some(self.deadline), move |_| {
            // ORDERING: Relaxed: it publishes nothing.
            let done = (taken.load(Ordering::Relaxed) - before) as u64;
            (done, format!("{what}, {done} of {total} samples"))
        })
    }

    /// Stops the measurements at the first interrupt, and at the deadline.
    fn watch(&self, setting: &Setting) -> Outcome {
        let interrupted = Arc::clone(&setting.stop);
        interrupts::on_first(move || interrupted.stop(Reason::Interrupted));
        let (late, deadline) = (Arc::clone(&setting.stop), self.deadline);
        let watch = move || {
            // A sleep, since the event is the time itself.
            thread::sleep(deadline);
            late.stop(Reason::Deadline);
        };
        // The process may end before.
        let started = thread::Builder::new().spawn(watch);
        started.map(|_| ()).map_err(|error| {
            Failure::Check(format!("cannot start a thread for the deadline: {error}"))
        })
    }

    fn setting(&self, machine: &Machine) -> Result<Setting, Failure> {
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
        Ok(Setting {
            samples: self.samples as usize,
            iterations: self.iterations.map(|iterations| iterations as u32),
            delay_ns: self.delay,
            ..Setting::on(machine, cpus)
        })
    }

    /// Returns the requested numbers, or powers of two up to the number of processors and that number itself.
    fn numbers_of_tasks(&self, processors: usize) -> Vec<usize> {
        if !self.tasks.is_empty() {
            let tasks = List::join(&self.tasks).into_iter();
            return tasks.map(|tasks| tasks as usize).collect();
        }
        let most = processors.clamp(*TASKS.start() as usize, *TASKS.end() as usize);
        let mut tasks: Vec<usize> = (1..)
            .map(|power| 1 << power)
            .take_while(|&tasks| tasks < most)
            .collect();
        tasks.push(most);
        tasks
    }
}

fn failure(error: io::Error) -> Failure {
    Failure::Usage(error.to_string())
}

/// Equal shares of the time until the deadline.
struct Shares {
    end: Option<Instant>,
    left: usize,
}

impl Shares {
    fn new(deadline: Duration, parts: usize) -> Self {
        Self {
            // A deadline beyond every clock is none.
            end: Instant::now().checked_add(deadline),
            left: parts,
        }
    }

    /// Returns the end of the next part, whose share is that of the time that the ones before have left.
    fn next(&mut self) -> Option<Instant> {
        let parts = self.left.max(1);
        self.left = parts - 1;
        let now = Instant::now();
        let left = self.end?.saturating_duration_since(now);
        Some(now + left / parts as u32)
    }
}
