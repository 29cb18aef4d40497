//! `tautline APP`: an application on the threads of this machine, of one process or of several.

use super::baseline::{Baseline, Done, Missing, measure};
use super::report::Compared;
use super::{About, AnyApp, AnyOutput, AnyProblem, Application, Request, Way};
use crate::command::{APPLICATIONS, Failure, Outcome, launch};
use clap::{Args, ValueEnum};
use std::sync::Arc;
use tautline::balance::{PlaceRun, Reason};
use tautline::world::World;
use tautline_cli::program::{Balanced, Finished};

/// The options of applications on threads.
#[derive(Args, Debug)]
pub(crate) struct Threads {
    /// What the sequential program that gives the efficiency does
    #[arg(long, default_value = "smaller", help_heading = "Output")]
    baseline: Baseline,
    /// Processes of this machine that compute together, each with the places and workers of the
    /// other options
    #[arg(long, value_name = "N", help_heading = "Balancer")]
    #[arg(value_parser = launch::ranks, allow_negative_numbers = true)]
    ranks: Option<u32>,
    /// What the loss of a rank other than the first does
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "fail",
        help_heading = "Balancer"
    )]
    on_loss: OnLoss,
    /// Fail if a rank other than the first got no work from others
    #[arg(long, help_heading = "Balancer")]
    require_steals: bool,
    #[command(flatten)]
    run: Balanced,
}

/// The reaction to the loss of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnLoss {
    /// End all ranks with an error
    Fail,
    /// End with what the others have found, as a partial result
    Partial,
}

impl Threads {
    /// Refuses a bad request, which each rank would else do. Files that it creates are removed
    /// again.
    fn check_alone(&self, request: &Request) -> Outcome {
        let problem = request.app.problem(false)?;
        self.run.check(|config| problem.check(config))
    }

    /// Runs the problem at this rank; rank 0 reports the outcome.
    fn run_in(&self, world: World, request: &Request) -> Outcome {
        let problem = request.app.problem(false)?;
        let about = problem.about();
        if let Some(input) = &about.input {
            world.agree("input", input)?;
        }
        if self.on_loss == OnLoss::Partial {
            world.tolerate_losses();
        }
        let ranks = world.ranks() as usize;
        let finished = self.run.run(
            world,
            (about.unit, about.tasks),
            |config| problem.check(config),
            |balancer, across| {
                let shared = |_| problem.shared();
                let (bag, output) = (problem.bag(), problem.output());
                match ranks {
                    1 => balancer.run(bag, shared, output),
                    _ => across.run(bag, shared, output),
                }
            },
        )?;
        let Some(finished) = finished else {
            return Ok(());
        };
        let is_whole = finished.run.stopped != Some(Reason::Lost);
        let idle = idle_rank(&finished.run.places, ranks);
        let idle = idle.filter(|_| self.require_steals && is_whole);
        self.report(request.application().name(), &problem, &finished)?;
        match idle {
            Some(rank) => Err(Failure::Check(format!(
                "--require-steals: rank {rank} got no work from others"
            ))),
            None => Ok(()),
        }
    }

    fn report(
        &self,
        application: &'static str,
        problem: &Arc<dyn AnyProblem>,
        finished: &Finished<AnyOutput>,
    ) -> Outcome {
        let Finished {
            run,
            interrupt,
            measured,
            ..
        } = finished;
        let tasks = measured.tasks;
        let answer = problem.answer(application, &run.output, tasks, run.complete, run.stopped);
        let done = Done {
            tasks,
            complete: run.complete,
            rate: answer.rates(measured.seconds).tasks / measured.processors as f64,
        };
        let cpu = measured.pinned.first().copied();
        // The launcher waits for a second and a half after a loss.
        let baseline = match run.stopped {
            Some(Reason::Lost) => Baseline::None,
            _ => self.baseline,
        };
        let sequential = measure(baseline, problem, &done, cpu, interrupt);
        let About { title, kind, .. } = problem.about();
        let compared = Compared {
            answer: &answer,
            kind,
            measured,
            sequential: &sequential,
        };
        let row = ("efficiency", compared.line());
        let reported = finished.report(&title, &answer, Some(row), compared.keys());
        reported.and(problem.deliver(&run.output))?;
        answer.outcome()?;
        match sequential {
            Err(Missing::Interrupted) => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }
}

/// Returns the first rank, other than rank 0, that got no work. It begins without, so the first
/// that it gets is another rank's.
fn idle_rank(places: &[PlaceRun], ranks: usize) -> Option<usize> {
    let mut all = places.chunks((places.len() / ranks).max(1)).enumerate();
    let has_got = |places: &[PlaceRun]| places.iter().any(|place| place.tally.received.count > 0);
    let idle = all.find(|(rank, places)| *rank > 0 && !has_got(places));
    idle.map(|(rank, _)| rank)
}

impl Way for Threads {
    type App = dyn AnyApp;

    const ALL: &'static [Application] = APPLICATIONS;

    fn run(&self, request: &Request, settings: &[String]) -> Outcome {
        let world = World::builder().arguments(settings).join()?;
        let is_single = world.ranks() == 1 && self.ranks.is_none_or(|ranks| ranks == 1);
        if self.require_steals && is_single {
            return Err(Failure::Usage(
                "--require-steals: needs --ranks of 2 or more".to_owned(),
            ));
        }
        match launch::is_launcher(self.ranks, &world)? {
            true => {
                self.check_alone(request)?;
                launch::again(self.ranks.unwrap_or(1), self.run.listed())
            }
            false => self.run_in(world, request),
        }
    }
}
