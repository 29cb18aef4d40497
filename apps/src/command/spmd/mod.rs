//! Programs whose ranks exchange messages while tasks compute: `tautline stencil`,
//! `tautline smith-waterman`.
//!
//! | part | what it is |
//! |---|---|
//! | [`App`], [`Problem`] | what such a program implements |
//! | [`on_ranks`] | its line of the table |
//! | [`OnRanks`] | the options of the run, on one rank or on several |

mod alignment;
mod stencil;

pub(super) use alignment::SmithWaterman;
pub(super) use stencil::Stencil;

use super::app::{About, App, Application, Request, Way};
use super::balancer::{self, Layout};
use super::{Failure, ON_RANKS, Outcome, deliver, launch, number, show};
use clap::Args;
use std::fmt::Debug;
use std::io::{self, Write};
use std::time::{Duration, Instant};
use std::{process, thread};
use tautline::Runtime;
use tautline::balance::Config;
use tautline::comm::{self, Comm};
use tautline::runtime::Builder;
use tautline::world::World;
use tautline_cli::program::{Answer, Findings, interrupts};

/// The time within which an interrupt reaches all ranks. A launch waits longer for the other ranks
/// after one has failed: 1.5 s.
const PASSED_ON: Duration = Duration::from_millis(300);

/// The options of any application whose ranks exchange messages.
pub(super) trait Ranked: Debug {
    /// Runs it as `way` requests. All ranks must have the same `settings`.
    fn run(&self, way: &OnRanks, settings: &[String]) -> Outcome;
}

impl<A: App<Problem: Problem>> Ranked for A {
    fn run(&self, way: &OnRanks, settings: &[String]) -> Outcome {
        way.compute(self, settings)
    }
}

/// Returns the application whose options are `A`.
pub(super) const fn on_ranks<A: App<Problem: Problem>>() -> Application<dyn Ranked> {
    Application::new::<A>(|options| Ok(Box::new(A::from_arg_matches(options)?)))
}

/// A problem that the ranks compute together.
pub(super) trait Problem {
    /// The result. It is the same on every number of ranks and workers.
    type Solution: PartialEq;

    /// Returns its description, whose [`tasks`](About::tasks) are known.
    fn about(&self) -> About;

    /// Computes it as a rank of `comm`, and returns the result at rank 0.
    ///
    /// # Errors
    /// That of a message.
    fn across(&self, comm: &Comm, runtime: &Runtime)
    -> Result<Option<Self::Solution>, comm::Error>;

    /// Computes it on this thread, for comparison.
    fn sequential(&self) -> Self::Solution;

    /// Returns the result for display, without a verdict.
    fn findings(&self, solution: &Self::Solution) -> Findings;
}

/// The ranks, their processors, and the output.
#[derive(Args, Debug)]
#[command(next_help_heading = "Runtime")]
#[group(skip)]
pub(super) struct OnRanks {
    /// Processes of this machine that compute together, each with the places and workers of the
    /// other options
    #[arg(long, value_name = "N")]
    #[arg(value_parser = launch::ranks, allow_negative_numbers = true)]
    ranks: Option<u32>,
    #[command(flatten)]
    layout: Layout,
    /// Compare the result with that of a sequential program, which rank 0 runs afterwards
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// One JSON object instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl OnRanks {
    /// Computes the problem of `app`, as a rank or by ranks that this process launches; rank 0
    /// reports the result.
    fn compute<A: App<Problem: Problem>>(&self, app: &A, settings: &[String]) -> Outcome {
        let world = World::builder().arguments(settings).join()?;
        let is_launcher = launch::is_launcher(self.ranks, &world)?;
        // What is refused is refused once, before anything starts.
        let (problem, builder) = (app.problem(false)?, self.layout.builder()?);
        match is_launcher {
            true => {
                builder.plan()?;
                launch::again(self.ranks.unwrap_or(1), self.layout.pin.as_ref())
            }
            false => self.run_in(A::NAME, world, &problem, builder),
        }
    }

    fn run_in<P: Problem>(
        &self,
        name: &'static str,
        world: World,
        problem: &P,
        builder: Builder,
    ) -> Outcome {
        let about = problem.about();
        if let Some(input) = &about.input {
            world.agree("input", input)?;
        }
        let began = Instant::now();
        let is_home = world.is_home();
        // There is no partial result to print, which one rank reports.
        interrupts::on_first(move || {
            if is_home {
                let after = number::seconds(began.elapsed().as_secs_f64());
                let line = format!("{name}: interrupted after {after} s, without a result");
                let _ = writeln!(io::stderr(), "tautline: {line}");
            }
            process::exit(130)
        });
        let runtime = builder.world(&world).build()?;
        let (comm, ranks) = (world.comm(), world.ranks());
        let started = comm.barrier().wait_blocking();
        started.map_err(failure(&world))?;
        let began = Instant::now();
        let computed = problem.across(&comm, &runtime).map_err(failure(&world))?;
        let seconds = began.elapsed().as_secs_f64();
        let shape = runtime.plan().balancing;
        // Its workers communicate: not before they have ended is this thread the last one that uses
        // the link.
        drop(runtime);
        drop((comm, world));
        let Some(solution) = computed else {
            return Ok(());
        };
        let mut findings = problem.findings(&solution);
        if self.check {
            findings.verdict = Some(compared(name, problem, &solution, &findings));
            findings.agrees = "equal to the sequential program";
        }
        let cells = about.tasks.unwrap_or_default();
        let answer = Answer {
            application: name,
            unit: about.unit,
            facts: about.facts,
            findings,
            tasks: cells,
            work: cells,
            complete: true,
            unverified: "not compared, --check does",
            ..Answer::default()
        };
        deliver(&match self.json {
            true => json(&answer, ranks, &shape, seconds),
            false => table(&answer, ranks, &shape, seconds),
        })?;
        answer.outcome()
    }
}

impl Way for OnRanks {
    type App = dyn Ranked;

    const ALL: &'static [Application<dyn Ranked>] = ON_RANKS;

    fn run(&self, request: &Request<dyn Ranked>, settings: &[String]) -> Outcome {
        request.app.run(self, settings)
    }
}

/// Returns the table of a finished run.
fn table(answer: &Answer, ranks: u32, shape: &Config, seconds: f64) -> String {
    let mut rows = answer.facts.clone();
    if ranks > 1 {
        let ranks = format!("{ranks} processes, with these places each");
        rows.push(("ranks", ranks));
    }
    rows.push(("places x workers", balancer::crews(shape)));
    rows.extend(answer.rows());
    rows.push(("seconds", number::seconds(seconds)));
    rows.push(("rate", answer.spell(answer.rates(seconds))));
    show::table(&rows)
}

/// Returns the JSON object of a finished run.
fn json(answer: &Answer, ranks: u32, shape: &Config, seconds: f64) -> String {
    let mut object = answer.json(answer.rates(seconds));
    // How many there are depends on the number of ranks.
    object.remove("tasks");
    object.remove("tasks_per_s");
    for (key, value) in [
        (answer.unit, answer.work.into()),
        ("seconds", seconds.into()),
        ("ranks", ranks.into()),
        ("places", shape.places.into()),
        ("workers", shape.workers.into()),
        ("smaller_places", shape.smaller.into()),
    ] {
        object.insert(key.to_owned(), value);
    }
    show::document(object)
}

/// Compares a result with that of the sequential program.
fn compared<P: Problem>(
    name: &str,
    problem: &P,
    solution: &P::Solution,
    findings: &Findings,
) -> Result<(), String> {
    let expected = problem.sequential();
    if expected == *solution {
        return Ok(());
    }
    let line = |findings: &Findings| {
        let rows = findings.rows.iter();
        let rows = rows.map(|(name, value)| format!("{name} {value}"));
        rows.collect::<Vec<_>>().join(", ")
    };
    let (found, expected) = (line(findings), line(&problem.findings(&expected)));
    Err(format!(
        "{name}: {found}; the sequential program has {expected}"
    ))
}

/// Returns the failure of a rank whose message has failed.
///
/// A rank that is lost has often been interrupted, as all are, and ended first. So the loss and its
/// consequences are not reported before an interrupt had [`PASSED_ON`] to come.
fn failure(world: &World) -> impl Fn(comm::Error) -> Failure {
    let here = world.rank();
    move |error| {
        if matches!(error, comm::Error::Rank(_)) {
            // A sleep, since the event that it waits for ends the process.
            thread::sleep(PASSED_ON);
        }
        match error {
            comm::Error::Rank(error) => Failure::Ranks(error.to_string()),
            _ => Failure::Ranks(format!("{here}: {error}")),
        }
    }
}
