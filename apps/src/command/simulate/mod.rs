//! `tautline simulate`: an application on a described machine, in virtual time.

mod calibrate;
mod costs;
mod engine;
mod fault;
mod figures;
mod losses;
mod machines;
mod report;
mod setting;
mod shown;
mod subcommand;
mod sweep;
mod team;
mod vary;
mod watcher;

pub(super) use calibrate::machine_file;
pub(super) use costs::refuse_former;
pub(super) use subcommand::Simulate;

use super::app::{AnyApp, Application, Request, Way};
use super::duration::seconds;
use super::story::{Stories, Story};
use super::{APPLICATIONS, Outcome, deliver};
use crate::command::show::document;
use clap::{Args, Command};
use report::Report;
use setting::Setting;
use std::time::{Duration, Instant};
use sweep::Sweep;
use tautline::internal::DEADLINE;
use tautline::story::Clock;
use watcher::Watcher;

/// A few messages.
const DEADLINE_MIN_NS: u64 = 1_000;

/// The options of applications in virtual time.
#[derive(Args, Debug)]
pub(super) struct Virtual {
    #[command(flatten)]
    setting: Setting,
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    output: Output,
}

/// The report of the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct Output {
    #[arg(long, value_name = "TIME", help = DEADLINE.help.replacen("this", "this virtual", 1))]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Option<Duration>,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Explain the settings that were chosen by default
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    stories: Stories,
    /// No progress line; without a terminal on stderr it is omitted anyway
    #[arg(long, visible_alias = "no-progress")]
    quiet: bool,
}

fn examples(application: &Application) -> String {
    let examples = [
        ("", "1024 places"),
        ("--places 4096 -n 31", "more places, more looks outside"),
        ("--machine bluegene-p", "another machine"),
        ("--far-ns 50us", "a slow network"),
        ("--set wake_ns=1us --set gap_ns=0", "costs of the machine"),
        ("--vary wake_ns=1us,5us,20us", "a row for each value of one"),
        ("-w 0 --lifelines ring", "another balancer"),
        ("--deadline 1ms", "the first virtual millisecond"),
        ("-n 127 --json", "for programs"),
        ("--life story.html", "draw what every place did"),
        ("--vary grain=7,31,127", "a row for each grain"),
        (
            "--vary wz=83/1,1/3 --vary places=64,512",
            "and for each pair of values",
        ),
        ("--vary places=64,512 --plot scale.html", "drawn as a line"),
        ("--repeat 5", "medians of five seeds"),
        ("--vary", "each cost halved and doubled"),
        (
            "--fault loss:10000 --fault slow:0,200",
            "1 % lost, a slow node",
        ),
        ("--network fat-tree:16,8,8,4", "another network"),
        (
            "--rank-places 16 --set rank_message_ns=300",
            "messages are encoded",
        ),
    ];
    let line = |(options, what): (&str, &str)| {
        let command = format!("tautline simulate {} {options}", application.name());
        format!("  {command:<46}  {what}\n")
    };
    format!(
        "EXAMPLES:\n{}\n\
         Every task is really done; only the time is virtual, and the same options always give the same \
         run.\nThe first Ctrl-C ends it with the partial result, that of --vary with the rows so far; the \
         second ends it at once.",
        examples.map(line).concat()
    )
}

impl Way for Virtual {
    type App = dyn AnyApp;

    const ALL: &'static [Application] = APPLICATIONS;

    fn describe(command: Command, application: &Application) -> Command {
        command
            .about(format!("{}, in virtual time", application.about()))
            .after_help(examples(application))
    }

    fn run(&self, request: &Request, _: &[String]) -> Outcome {
        if self.sweep.varies_costs()? {
            return vary::run(self, request);
        }
        if self.sweep.asked() {
            return sweep::run(self, request.application());
        }
        let problem = request.app.problem(true)?;
        let on = self.setting.choose(problem.about().task_ns)?;
        let files = self.output.stories.open()?;
        let watcher = Watcher::start(self.output.quiet);
        let began = Instant::now();
        let threads = on.config.all_threads();
        let recorder = || self.output.stories.recorder(threads);
        let run = engine::run(&*problem, on, self.output.deadline, &recorder, &watcher);
        let wall = began.elapsed();
        let name = self.setting.machine();
        let bound = || engine::bound(&*problem, on, &watcher);
        let bound = run.complete.then(bound).flatten();
        let mut report = Report::of(request, &*problem, on, name, &run, bound);
        report.wall_seconds = wall.as_secs_f64();
        report.faults = on.faults.as_ref().map(|faults| self.setting.faults(faults));
        report.explain = self.output.explain;
        let delivered = deliver(&if self.output.json {
            document(report.json())
        } else {
            report.table() + &report.answer.drawn()
        });
        let told = files.write(&Story {
            title: &format!("{}, simulated", problem.about().title),
            facts: &report.facts(),
            clock: Clock {
                began: 0,
                ticks_per_second: 1e9,
                seconds: run.virtual_seconds,
            },
            observers: &run.observers,
            places: &run.places,
        });
        let written = problem.deliver(&run.output);
        delivered.and(told).and(written)?;
        report.answer.outcome().and(watcher.outcome())
    }
}
