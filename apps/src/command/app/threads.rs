//! `tautline APP`: an application on the threads of this machine.

use super::baseline::{Baseline, Done, Missing, measure};
use super::report::Report;
use super::{Application, Request, Way};
use crate::command::story::Story;
use crate::command::{Failure, Outcome, deliver};
use clap::{Args, Command};
use tautline::story::Clock;
use tautline_cli::program::{Balanced, Finished, Measured};

/// The options of applications on threads.
#[derive(Args, Debug)]
pub(crate) struct Threads {
    /// What the sequential program that gives the efficiency does
    #[arg(long, default_value = "smaller", help_heading = "Output")]
    baseline: Baseline,
    #[command(flatten)]
    run: Balanced,
}

impl Way for Threads {
    fn describe(command: Command, application: &Application) -> Command {
        command.about(application.about())
    }

    fn run(&self, request: &Request) -> Outcome {
        let problem = request.problem(false)?;
        let finished = self.run.run(
            problem.unit(),
            problem.tasks(),
            |config| problem.check(config),
            |glb| {
                glb.run(
                    problem.bag(),
                    |place| problem.shared(place),
                    problem.output(),
                )
            },
        )?;
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
            sequential: measure(self.baseline, &problem, &done, cpu, &interrupt),
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
