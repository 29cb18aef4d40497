//! Programs whose ranks exchange messages while tasks compute: `tautline stencil`,
//! `tautline smith-waterman`, `tautline gups`, `tautline bfs`, `tautline heat`,
//! `tautline selftest`.
//!
//! | part | what it is |
//! |---|---|
//! | [`App`], [`Problem`] | what such a program implements |
//! | [`Computed`], [`Memory`] | a result with its times, and the memory of a problem |
//! | [`on_ranks`] | its line of the table |
//! | [`OnRanks`] | the options of the run, on one rank or on several |

mod alignment;
mod bfs;
#[cfg(feature = "dense")]
mod factorization;
mod gups;
mod heat;
mod problem;
mod selftest;
mod stencil;

pub(super) use alignment::SmithWaterman;
pub(super) use bfs::Bfs;
#[cfg(feature = "dense")]
pub(super) use factorization::Cholesky;
pub(super) use gups::Gups;
pub(super) use heat::Heat;
pub(super) use selftest::Programs;
pub(super) use stencil::Stencil;

use problem::{Computed, Memory, Problem, memory};

use super::app::{App, Application, Request, Way};
use super::balancer::{self, Layout};
use super::{Failure, ON_RANKS, Outcome, deliver, launch, number, show};
use clap::Args;
use std::fmt::Debug;
use std::io::{self, Write};
use std::ops::Add;
use std::time::{Duration, Instant};
use std::{process, thread};
use tautline::balance::Config;
use tautline::runtime::Builder;
use tautline::world::{self, Statistics, World};
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
    /// Run the ranks of --ranks in this process, each with workers of its own, instead of as
    /// processes
    #[arg(long, requires = "ranks")]
    loopback: bool,
    #[command(flatten)]
    layout: Layout,
    /// Compare the result with that of a sequential program, which rank 0 runs afterwards
    #[arg(long, help_heading = "Output")]
    check: bool,
    /// Add what all ranks together have sent to the table; data have it always
    #[arg(long, help_heading = "Output")]
    statistics: bool,
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
        let problem = app.problem(false)?;
        self.check_loopback(&world)?;
        let all = self.ranks.unwrap_or(world.ranks());
        problem.check_ranks(all)?;
        memory::check(problem.memory(all), world.ranks())?;
        match (is_launcher, self.ranks.unwrap_or(1)) {
            (true, ranks) if self.loopback => {
                drop(world);
                self.over_loopback(A::NAME, &problem, ranks)
            }
            (true, ranks) => {
                self.layout.builder()?.plan()?;
                launch::again(ranks, self.layout.pin.as_ref())
            }
            (false, _) => {
                let builder = self.layout.builder()?;
                watch_interrupts(A::NAME, world.is_home());
                let ended = run_in(&world, &problem, builder)?;
                drop(world);
                self.report(A::NAME, &problem, ended)
            }
        }
    }

    /// Refuses ranks of this process among those of a launch, or on listed processors.
    fn check_loopback(&self, world: &World) -> Outcome {
        if !self.loopback {
            return Ok(());
        }
        if world.ranks() > 1 {
            let (here, all) = (world.rank(), world.ranks());
            let line = format!("--loopback: this is {here} of {all} that were launched");
            return Err(Failure::Usage(line));
        }
        match &self.layout.pin {
            Some(list) => Err(Failure::Usage(format!(
                "--pin {list}: not together with --loopback, whose ranks share all processors"
            ))),
            None => Ok(()),
        }
    }

    /// Computes the problem by `ranks` ranks of this process, whose workers are not pinned.
    fn over_loopback<P: Problem>(&self, name: &'static str, problem: &P, ranks: u32) -> Outcome {
        let builder = || {
            let builder = self.layout.builder()?.pinned(false);
            Ok::<_, Failure>(match self.layout.workers {
                Some(_) => builder,
                None => {
                    let share = builder.machine().cpus().len() / ranks as usize;
                    builder.workers(share.max(1))
                }
            })
        };
        builder()?.plan()?;
        watch_interrupts(name, true);
        let ended = world::loopback(ranks, |world| run_in(world, problem, builder()?));
        // The first that has failed is the reason of the others.
        let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.report(name, problem, ended.into_iter().flatten().next())
    }

    /// Prints the result at rank 0, which has it.
    fn report<P: Problem>(
        &self,
        name: &'static str,
        problem: &P,
        ended: Option<Ended<P::Solution>>,
    ) -> Outcome {
        let Some(ended) = ended else {
            return Ok(());
        };
        let solution = &ended.computed.solution;
        let mut findings = problem.findings(solution);
        if self.check && !matches!(findings.verdict, Some(Err(_))) {
            verify(name, problem, solution, &mut findings);
        }
        let (about, work) = (problem.about(), problem.work(solution));
        let answer = Answer {
            application: name,
            unit: about.unit,
            facts: about.facts,
            findings,
            tasks: work,
            work,
            complete: true,
            unverified: "not compared, --check does",
            ..Answer::default()
        };
        let shown = Shown {
            answer: &answer,
            rates: problem.rates(&ended.computed),
            ranks: ended.ranks,
            kind: if self.loopback {
                "ranks of this process"
            } else {
                "processes"
            },
            shape: &ended.shape,
            seconds: ended.seconds,
            statistics: ended.statistics,
            is_counted: self.statistics,
        };
        deliver(&match self.json {
            true => shown.json(),
            false => shown.table(),
        })?;
        answer.outcome()
    }
}

/// A result at rank 0.
struct Ended<S> {
    computed: Computed<S>,
    ranks: u32,
    shape: Config,
    /// The duration of the measured parts.
    seconds: f64,
    /// The sums over all ranks.
    statistics: Statistics,
}

/// Computes the problem as a rank of `world`.
fn run_in<P: Problem>(
    world: &World,
    problem: &P,
    builder: Builder,
) -> Result<Option<Ended<P::Solution>>, Failure> {
    if let Some(input) = problem.about().input {
        world.agree("input", &input)?;
    }
    let runtime = builder.world(world).build()?;
    let started = world.comm().barrier().wait_blocking();
    let failed = failure(world);
    started.map_err(|error| failed(error.into()))?;
    let began = Instant::now();
    let computed = problem.across(world, &runtime).map_err(failed)?;
    let seconds = began.elapsed().as_secs_f64();
    // Of all ranks; those of this call are left out.
    let statistics = world.reduce(world.statistics(), Add::add);
    let statistics = statistics.map_err(failure(world))?.unwrap_or_default();
    // Its workers communicate: they end before this thread is the last one that uses the link.
    let shape = runtime.plan().balancing;
    drop(runtime);
    Ok(computed.map(|computed| Ended {
        seconds: computed.measured().unwrap_or(seconds),
        computed,
        ranks: world.ranks(),
        shape,
        statistics,
    }))
}

/// Ends the process at an interrupt: there is no partial result to print, which one rank reports.
fn watch_interrupts(name: &'static str, is_home: bool) {
    let began = Instant::now();
    interrupts::on_first(move || {
        if is_home {
            let after = number::seconds(began.elapsed().as_secs_f64());
            let line = format!("{name}: interrupted after {after} s, without a result");
            let _ = writeln!(io::stderr(), "tautline: {line}");
        }
        process::exit(130)
    });
}

impl Way for OnRanks {
    type App = dyn Ranked;

    const ALL: &'static [Application<dyn Ranked>] = ON_RANKS;

    fn run(&self, request: &Request<dyn Ranked>, settings: &[String]) -> Outcome {
        request.app.run(self, settings)
    }
}

/// A finished run, ready for display.
struct Shown<'a> {
    answer: &'a Answer,
    /// The rates that the benchmark defines.
    rates: Findings,
    ranks: u32,
    /// The kind of ranks, in the plural.
    kind: &'static str,
    shape: &'a Config,
    seconds: f64,
    statistics: Statistics,
    /// Whether the table has the statistics.
    is_counted: bool,
}

impl Shown<'_> {
    fn table(&self) -> String {
        let Self { answer, ranks, .. } = self;
        let mut rows = answer.facts.clone();
        if *ranks > 1 {
            let ranks = format!("{ranks} {}, with these places each", self.kind);
            rows.push(("ranks", ranks));
        }
        rows.push(("places x workers", balancer::crews(self.shape)));
        rows.extend(answer.rows());
        rows.push(("seconds", number::seconds(self.seconds)));
        rows.push(("rate", answer.spell(answer.rates(self.seconds))));
        rows.extend(self.rates.rows.clone());
        if self.is_counted {
            let counts = self.statistics.named().into_iter();
            rows.extend(counts.map(|(name, count)| (name, number::grouped(count))));
        }
        show::table(&rows)
    }

    fn json(self) -> String {
        let Self { answer, shape, .. } = self;
        let mut object = answer.json(answer.rates(self.seconds));
        // How many there are depends on the number of ranks.
        object.remove("tasks");
        object.remove("tasks_per_s");
        let counts = self.statistics.named().into_iter();
        let counts = counts.map(|(name, count)| (name, count.into()));
        for (key, value) in [
            (answer.unit, answer.work.into()),
            ("seconds", self.seconds.into()),
            ("ranks", self.ranks.into()),
            ("places", shape.places.into()),
            ("workers", shape.workers.into()),
            ("smaller_places", shape.smaller.into()),
            ("statistics", show::object(counts).into()),
        ] {
            object.insert(key.to_owned(), value);
        }
        object.extend(self.rates.json);
        show::document(object)
    }
}

/// Verifies a result, and compares it with that of the sequential program.
fn verify<P: Problem>(name: &str, problem: &P, solution: &P::Solution, findings: &mut Findings) {
    let own = problem.verification(solution);
    if own.verdict.is_none() {
        findings.agrees = "equal to the sequential program";
    }
    findings.verdict = Some(match own.verdict {
        Some(Err(line)) => Err(format!("{name}: {line}")),
        _ => compared(name, problem, solution, findings),
    });
    findings.rows.extend(own.rows);
    findings.json.extend(own.json);
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
fn failure(world: &World) -> impl Fn(tautline::Error) -> Failure {
    let here = world.rank();
    move |error| match error {
        tautline::Error::Rank(error) => {
            // A sleep, since the event that it waits for ends the process.
            thread::sleep(PASSED_ON);
            Failure::Ranks(error.to_string())
        }
        tautline::Error::Setting { .. } => Failure::from(error),
        _ => Failure::Ranks(format!("{here}: {error}")),
    }
}
