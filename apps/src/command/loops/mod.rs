//! `tautline loops`: chunk policies on the times of a loop, in virtual time or on threads.

mod calibrate;
mod method;
mod ranks;
mod report;
mod simulated;
mod source;
mod threads;

use super::balancer::within;
use super::duration::nanoseconds;
use super::known::Known;
use super::list::{List, names, numbers};
use super::quote::shown;
use super::refusal::expected;
use super::story::{Pending, Stories};
use super::{Failure, Outcome, deliver};
use crate::command::show::document;
use clap::Args;
use clap::builder::StringValueParser;
use method::Balancing;
use report::{On, Report};
use source::Source;
use std::path::PathBuf;
use tautline_cli::iterations::{Scheme, Times};

const PROCESSORS_MAX: u64 = 10_000;
const RUNS_MAX: u64 = 1000;
const NS_MAX: u64 = 1 << 40;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline loops exponential                     all policies on 64 simulated processors
  tautline loops long -p 16,64,512 --plot p.html efficiency over the number of processors
  tautline loops mandelbrot --threads            the rows of a picture on this machine's processors
  tautline loops sparse --record rows.csv        measure the rows of a matrix, and simulate them
  tautline loops rows.csv --policy gss,taper     a recorded loop under two policies
  tautline loops hot-spot --policy taper --life life.html
                                                 what every processor did
  tautline loops climate --ranks -p 64,512 --policy fac,fac-cached,dlb,auto
                                                 loops over ranks that know the instance before
  tautline loops --calibrate                     TAPER's α on normally distributed times

LOOP is a distribution (constant, uniform, exponential, normal:CV, long, short, bimodal, rising, falling,
hot-spot, head), the shape of an application (climate, emu, amr, psirrfan), a kernel (mandelbrot, sparse),
or a file with the times of iterations: CSV, a number of nanoseconds a line below the head `ns`, or a JSON
array. Policies are blocked, cyclic, random (static);
ss, sso, fixed:K, gss, fac, tss; taper, taper-exact, taper-chebyshev, taper-3, distance, evenstart; and, on
threads, auto: `cx.par_for`. They know the mean and the variation of the times; auto measures them.
With --ranks, a loop is executed 12 times by ranks that have its data and send each other messages, of a fifth
of the mean time of an iteration, and a twentieth for each iteration that moves; results are of the last four.
Policies are blocked; ss, fac, gss, taper (by epochs); llb, gl1, gl2 (the best of four settings); these with
-cached, by the times of the execution before; placed (fac-cached from where iterations were executed before);
dlb, dlb-free (deferred balancing of contiguous blocks, of any iterations), also with -paced; and auto.
An efficiency is the time of all iterations by that of all processors until the last has ended.";

/// Compare chunk policies on a loop, simulated or on threads
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Loops {
    /// A distribution, a kernel or a file
    #[arg(
        value_name = "LOOP",
        required_unless_present = "calibrate",
        hide_possible_values = true
    )]
    #[arg(value_parser = Known::new(StringValueParser::new(), source::names))]
    source: Option<String>,
    /// Iterations; a file has its own [default: 6400]
    #[arg(short = 'n', long, value_name = "N", value_parser = iterations, allow_negative_numbers = true)]
    iterations: Option<u64>,
    /// Mean time of an iteration of a distribution, in nanoseconds or with units as in 20us
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = mean, allow_hyphen_values = true)]
    mean: u64,
    /// Policies, with commas [default: all]
    #[arg(long, value_name = "LIST", value_parser = Known::new(names, policies), hide_possible_values = true)]
    policy: Vec<List<String>>,
    /// Simulated processors, as in 16,64 or 1..64..x2
    #[arg(short = 'p', long, value_name = "LIST", default_value = "64")]
    #[arg(value_parser = processors, allow_negative_numbers = true)]
    processors: Vec<List<u64>>,
    /// Time of a chunk without its iterations, in nanoseconds or with units [default: a twentieth
    /// of the mean, of ranks a tenth]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| nanoseconds(text, 0..=NS_MAX), allow_hyphen_values = true)]
    overhead: Option<u64>,
    /// Repetitions: other times of a distribution, or other measurements on threads; results are
    /// means or medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = runs, allow_negative_numbers = true)]
    repeat: u64,
    /// Run on this machine's processors instead of simulated ones
    #[arg(long, conflicts_with_all = ["processors", "plot", "life", "trace"])]
    threads: bool,
    /// Simulate ranks that exchange messages, instead of a queue
    #[arg(long, conflicts_with_all = ["threads", "life", "trace"])]
    ranks: bool,
    /// Print how the efficiency of TAPER depends on α
    #[arg(long, conflicts_with_all = ["source", "threads", "ranks", "policy", "record", "plot", "life", "trace"])]
    calibrate: bool,
    /// Write the times of the iterations, as CSV
    #[arg(long, value_name = "FILE.csv")]
    record: Option<PathBuf>,
    /// Draw the efficiency over the number of processors
    #[arg(long, value_name = "FILE.html")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    stories: Stories,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

fn iterations(text: &str) -> Result<u64, String> {
    within(text, 1..=Times::LEN_MAX as u64)
}

fn mean(text: &str) -> Result<u64, String> {
    nanoseconds(text, 1..=1_000_000_000)
}

fn processors(text: &str) -> Result<List<u64>, String> {
    numbers(text, 1..=PROCESSORS_MAX)
}

fn runs(text: &str) -> Result<u64, String> {
    within(text, 1..=RUNS_MAX)
}

impl Loops {
    /// Runs the loop by every policy and prints how well each divides it.
    pub(super) fn run(&self) -> Outcome {
        if self.calibrate {
            return calibrate::run(self.processors()[0] as u32, self.repeat, self.json);
        }
        let name = self.source.as_deref().unwrap_or_default();
        let source = Source::find(name, self.iterations, self.mean)?;
        let record = Pending::open("--record", self.record.as_deref())?;
        let times = source.times(1);
        if let Some(record) = record {
            record.write(|out| times.write(out))?;
        }
        let (on, rows) = match (self.threads, self.ranks) {
            (true, _) => (On::Threads, threads::run(self, &source, &times)?),
            (_, true) => (On::Ranks, ranks::run(self, name, &source)?),
            _ => (On::Queue, simulated::run(self, name, &source, &times)?),
        };
        self.deliver(&Report {
            name,
            times: &times,
            chunk_ns: self.chunk_ns(&times),
            on,
            rows,
        })
    }

    /// Returns the numbers of processors.
    fn processors(&self) -> Vec<u64> {
        List::join(&self.processors)
    }

    /// Returns the names of the requested policies.
    fn policies(&self) -> Vec<String> {
        List::join(&self.policy)
    }

    /// Returns the overhead of a chunk, without its iterations.
    fn chunk_ns(&self, times: &Times) -> u64 {
        let part = if self.ranks { 10.0 } else { 20.0 };
        self.overhead.unwrap_or((times.moments().0 / part) as u64)
    }

    /// Checks that the life of one run is requested, of those by `policies` policies.
    fn one_life(&self, policies: usize) -> Outcome {
        let (option, runs) = (self.stories.requested(), policies * self.processors().len());
        match option {
            Some(option) if runs > 1 => Err(Failure::Usage(format!(
                "{option}: {runs} runs, {policies} policies on {} numbers of processors: one can be written; \
                 choose it by --policy and --processors",
                self.processors().len()
            ))),
            _ => Ok(()),
        }
    }

    fn deliver(&self, report: &Report) -> Outcome {
        deliver(&match self.json {
            true => document(report.json()),
            false => report.table(),
        })
    }

    /// Returns the requested schemes, or all.
    fn schemes(&self) -> Result<Vec<Scheme>, Failure> {
        let scheme = |name: &String| name.parse().map_err(|allowed| refused(name, allowed));
        match self.policy.is_empty() {
            true => Ok(Scheme::all().collect()),
            false => self.policies().iter().map(scheme).collect(),
        }
    }
}

/// Returns the names of all policies, of a queue and over ranks.
fn policies() -> Vec<String> {
    let schemes = Scheme::all().map(|scheme| scheme.to_string());
    let mut all: Vec<String> = schemes
        .chain(Balancing::all().map(|(name, _)| name))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the failure for a policy that is unknown.
fn refused(name: &str, allowed: String) -> Failure {
    let (name, rule) = (shown(name), expected(&allowed));
    Failure::Usage(format!("--policy {name}: {rule}"))
}
