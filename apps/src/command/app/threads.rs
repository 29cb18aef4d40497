//! `tautline APP`: an application on the threads of this machine, of one process or of several.

use super::baseline::{Baseline, Done, Missing, measure};
use super::report::Report;
use super::{AnyOutput, AnyProblem, Application, Request, Way};
use crate::command::story::Story;
use crate::command::{Failure, Outcome, deliver, launch};
use clap::{Args, Command};
use std::sync::Arc;
use tautline::glb::Reason;
use tautline::story::Clock;
use tautline::world::World;
use tautline_cli::program::{Balanced, Finished, Measured};

/// The options of applications on threads.
#[derive(Args, Debug)]
pub(crate) struct Threads {
    /// What the sequential program that gives the efficiency does
    #[arg(long, default_value = "smaller", help_heading = "Output")]
    baseline: Baseline,
    /// Processes of this machine that compute together, each with the places and workers of the other options
    #[arg(long, value_name = "N", help_heading = "Balancer")]
    #[arg(value_parser = launch::ranks, allow_negative_numbers = true)]
    ranks: Option<u32>,
    #[command(flatten)]
    run: Balanced,
}

impl Threads {
    /// Refuses a bad request, which each rank would else do. Files that it creates are removed again.
    fn check_alone(&self, request: &Request) -> Outcome {
        let problem = request.problem(false)?;
        self.run.check(|config| problem.check(config))
    }

    /// Runs the problem at this rank; rank 0 reports the outcome.
    fn run_in(&self, world: World, request: &Request) -> Outcome {
        let problem = request.problem(false)?;
        let is_alone = world.ranks() == 1;
        let mut finished = self.run.run(
            problem.unit(),
            problem.tasks(),
            |config| problem.check(config),
            |glb| {
                let shared = |place| problem.shared(place);
                let (bag, output) = (problem.bag(), problem.output());
                match is_alone {
                    true => glb.run(bag, shared, output),
                    false => glb.clone().across(&world).run(bag, shared, output),
                }
            },
        )?;
        if !is_alone {
            let Measured {
                pinned, processors, ..
            } = &finished.measured;
            let all = world.gather((pinned.clone(), *processors))?;
            let Some(all) = all else {
                return match finished.run.stopped {
                    Some(Reason::Interrupted) => Err(Failure::Interrupted),
                    _ => Ok(()),
                };
            };
            finished.measured.add_ranks(all);
        }
        drop(world);
        self.report(request, &problem, finished)
    }

    fn report(
        &self,
        request: &Request,
        problem: &Arc<dyn AnyProblem>,
        finished: Finished<AnyOutput>,
    ) -> Outcome {
        let Finished {
            run,
            files,
            interrupt,
            measured,
        } = finished;
        let name = request.application().name();
        let Measured {
            tasks, processors, ..
        } = measured;
        let answer = problem.answer(name, &run.output, tasks, run.complete, run.stopped);
        let done = Done {
            tasks,
            complete: run.complete,
            rate: answer.rates(measured.seconds).tasks / processors as f64,
        };
        let cpu = measured.pinned.first().copied();
        let report = Report {
            sequential: measure(self.baseline, problem, &done, cpu, &interrupt),
            answer,
            kind: problem.kind(),
            measured,
            places: &run.places,
            workers: &run.workers,
        };
        let delivered = deliver(&if self.run.is_json() {
            report.json()
        } else {
            report.table() + &report.answer.drawn()
        });
        let told = files.write(&Story {
            title: &problem.title(),
            facts: &report.facts(),
            clock: Clock::of(&run),
            observers: &run.observers,
            places: &run.places,
        });
        delivered.and(told).and(problem.deliver(&run.output))?;
        report.answer.outcome()?;
        match report.sequential {
            Err(Missing::Interrupted) => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }
}

impl Way for Threads {
    fn describe(command: Command, application: &Application) -> Command {
        command.about(application.about())
    }

    fn run(&self, request: &Request) -> Outcome {
        let world = World::join()?;
        match (self.ranks, world.ranks()) {
            (Some(ranks), 1) if ranks > 1 => {
                self.check_alone(request)?;
                launch::again(ranks, self.run.listed())
            }
            (Some(ranks), launched) if ranks != launched => {
                let here = world.rank();
                Err(Failure::Usage(format!(
                    "--ranks {ranks}: this is {here} of {launched} that were launched"
                )))
            }
            _ => self.run_in(world, request),
        }
    }
}
