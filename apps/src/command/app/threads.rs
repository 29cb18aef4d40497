//! `tautline APP`: an application on the threads of this machine.

use super::baseline::{Baseline, Done, Missing, measure};
use super::report::Report;
use super::{Answer, AnyOutput, AnyProblem, Application, Request, Way};
use crate::command::balancer::Balancer;
use crate::command::progress::Progress;
use crate::command::story::{Stories, Story};
use crate::command::{Failure, Outcome, deliver};
use clap::{Args, Command};
use std::fs;
use std::process;
use std::sync::Arc;
use tautline::glb::{Control, Glb, Reason, Run};
use tautline::story::{Clock, Recorder};

/// The options of applications on threads.
#[derive(Args, Debug)]
pub(crate) struct Threads {
    #[command(flatten)]
    balancer: Balancer,
    #[command(flatten)]
    output: Output,
}

/// What is said about the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct Output {
    /// What the sequential program that gives the efficiency does
    #[arg(long, default_value = "smaller")]
    baseline: Baseline,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Explain the settings that were chosen by default
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    stories: Stories,
    /// No progress line (there is none either if stderr is no terminal)
    #[arg(long, visible_alias = "no-progress")]
    quiet: bool,
}

impl Way for Threads {
    fn describe(command: Command, application: &Application) -> Command {
        command.about(application.about())
    }

    fn run(&self, request: &Request) -> Outcome {
        let problem = request.problem(false)?;
        let control = Arc::new(Control::new());
        let glb = self.balancer.glb(&control)?;
        let config = glb.config()?;
        problem.check(&config)?;
        let files = self.output.stories.open()?;
        let interrupt = stop_on_interrupt(&control)?;
        let run = self.compute(&glb, &*problem, &control)?;
        let peak_memory_kib = peak_memory_kib();
        let tasks = run.places.iter().map(|place| place.tally.tasks).sum();
        let answer = Answer::of(
            request.application().name(),
            &*problem,
            &run.output,
            tasks,
            run.complete,
            run.stopped,
        );
        let plan = glb.runtime()?.plan();
        let processors = plan.pinning.processors().min(config.all_workers());
        let cpus = plan.cpus.as_slice();
        let seconds = run.elapsed.as_secs_f64();
        let done = Done {
            tasks,
            complete: run.complete,
            rate: answer.rates(seconds).tasks / processors as f64,
        };
        let cpu = cpus.first().copied();
        let report = Report {
            sequential: measure(self.output.baseline, &problem, &done, cpu, &interrupt),
            answer,
            kind: problem.kind(),
            config,
            explain: self.output.explain,
            pinned: cpus.iter().copied().take(processors).collect(),
            processors,
            seconds,
            peak_memory_kib,
            places: &run.places,
        };
        let delivered = deliver(&if self.output.json {
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

impl Threads {
    fn compute(
        &self,
        glb: &Glb,
        problem: &dyn AnyProblem,
        control: &Arc<Control>,
    ) -> Result<Run<AnyOutput, Recorder>, Failure> {
        let config = glb.config()?;
        let threads = config.all_threads();
        let stories = &self.output.stories;
        let unit = problem.unit();
        let _progress = Progress::start(self.output.quiet, control, unit, problem.tasks());
        let cpus = &glb.runtime()?.plan().cpus;
        if let Some(&cpu) = cpus.first() {
            // This thread is the first worker. If it cannot be pinned, it runs on any processor.
            _ = tautline::machine::pin(cpu);
        }
        let run = glb.clone().observed(|_, _| stories.recorder(threads)).run(
            problem.bag(),
            |place| problem.shared(place),
            problem.output(),
        )?;
        Ok(run)
    }
}

/// Returns the maximum memory of this process, if the system reports it.
fn peak_memory_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Makes the first interrupt stop the run and keep its result; the second ends the process. Returns
/// whether the first has happened, even if the run had been stopped otherwise before.
fn stop_on_interrupt(control: &Arc<Control>) -> Result<Arc<Control>, Failure> {
    let heard = Arc::new(Control::new());
    let (control, first) = (Arc::clone(control), Arc::clone(&heard));
    let handler = move || {
        if first.is_stopped() {
            process::exit(130);
        }
        first.stop(Reason::Interrupted);
        control.stop(Reason::Interrupted);
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Check(format!("cannot watch for interrupts: {error}")))?;
    Ok(heard)
}
