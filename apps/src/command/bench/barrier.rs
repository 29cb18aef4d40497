//! `tautline bench barrier`: barrier latency against a cache-line round trip.

use super::measuring::{Measuring, Shares, ended, failure, stop_in_time};
use super::outputs::Outputs;
use super::report::Report;
use crate::command::balancer::within;
use crate::command::duration::{nanoseconds, seconds};
use crate::command::list::{List, numbers};
use crate::command::show::progress::Progress;
use crate::command::{Failure, Outcome};
use clap::Args;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use tautline::Machine;
use tautline_cli::bench::{Kind, Lines, Record, Setting, kinds, pairs};

/// The number of threads that an ordinary system starts.
const TASKS: RangeInclusive<u64> = 2..=1024;
/// A node of a tree with more children is a central counter.
const DEGREES: RangeInclusive<u64> = 2..=1024;
/// Fewer than 20 are insufficient to estimate the spread.
const SAMPLES: RangeInclusive<u64> = 20..=100_000;
const ITERATIONS: RangeInclusive<u64> = 1..=100_000_000;
const DELAYS_NS: RangeInclusive<u64> = 0..=1_000_000_000;
/// The shortest time of all measurements.
pub(super) const DEADLINE_MIN_NS: u64 = 1_000_000;
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
    #[command(flatten)]
    measuring: Measuring,
    /// Program to measure as well; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    program: Vec<PathBuf>,
    /// End after this time, seconds or with units as in 5m, with fewer samples than requested
    #[arg(long, value_name = "TIME", default_value = "10s")]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Duration,
    #[command(flatten)]
    outputs: Outputs,
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
        let record = Record::of(&machine, &setting.cpus);
        let outputs = self.outputs.open(&record)?;
        stop_in_time(&setting, self.deadline)?;
        let mut report = Report::start(&machine, &setting, record, outputs)?;
        let tasks = self.numbers_of_tasks(setting.processors);
        let mut share = Shares::new(self.deadline, 1 + tasks.len());
        let pairs = pairs(&machine, &setting.cpus, PAIRS);
        let all: Vec<[usize; 2]> = pairs.into_iter().flat_map(|(_, pairs)| pairs).collect();
        let progress = self.progress("round trips", &setting, all.len());
        let lines = Lines::new(None).map_err(failure)?;
        let round_trips = setting.ping_pong(&lines, &all, share.next());
        // The line would be in the table.
        drop(progress);
        report.round_trips(&round_trips.map_err(failure)?)?;
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
        ended(&setting)
    }

    fn setting(&self, machine: &Machine) -> Result<Setting, Failure> {
        Ok(Setting {
            samples: self.samples as usize,
            iterations: self.iterations.map(|iterations| iterations as u32),
            delay_ns: self.delay,
            ..self.measuring.setting(machine)?
        })
    }

    /// Shows the progress of what is measured until the line is dropped: samples of each of `rows`.
    fn progress(&self, what: &str, setting: &Setting, rows: usize) -> Progress {
        let total = rows * setting.samples;
        self.measuring.progress(what, setting, total, self.deadline)
    }

    /// Returns the requested numbers, or powers of two up to the number of processors and that
    /// number itself.
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
