//! A task with the options of the command line. The environment variables of the library stay in
//! force; an option wins.

use super::balancer::{self, DEADLINE_MIN_NS, whole};
use super::duration::seconds;
use super::known::Known;
use super::show::{self, document, table};
use super::{Failure, Findings, Outcome, Rows, deliver, interrupts};
use clap::{Args, ValueEnum};
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tautline::Runtime;
use tautline::balance::Reason;
use tautline::internal::{LIFE, NO_PIN, PIN, STALLED, Setting, TIMES, TRACE, WORKERS};
use tautline::pinning::PlaceList;
use tautline::runtime::{Builder, CancelToken, Cx, Deadline};
use tautline::watch::{self, Observe};

const WORKERS_MAX: u64 = tautline::plan::WORKERS_MAX as u64;

/// The options of a runtime.
#[derive(Args, Debug)]
#[command(next_help_heading = "Runtime")]
#[group(skip)]
pub(super) struct OnRuntime {
    #[arg(long, value_name = "W", help = with_variable(&WORKERS))]
    #[arg(value_parser = whole::<usize, WORKERS_MAX>(), allow_negative_numbers = true)]
    workers: Option<usize>,
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help = PIN.help)]
    #[arg(value_parser = Known::new(balancer::list, balancer::parts), hide_possible_values = true)]
    pin: Option<PlaceList>,
    #[arg(long, help = NO_PIN.help)]
    no_pin: bool,
    #[arg(long, help = with_variable(&STALLED))]
    stalled: Option<Stalled>,
    /// Cancel the task after this time, seconds or with units as in 500ms and 1h30m, without a
    /// result
    #[arg(long, value_name = "TIME", value_parser = seconds::<DEADLINE_MIN_NS>, allow_hyphen_values = true)]
    deadline: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

/// The report of the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
#[group(skip)]
struct Output {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Explain the settings that were chosen by default
    #[arg(long)]
    explain: bool,
    #[arg(long, value_name = "FILE.html", help = LIFE.help)]
    life: Option<PathBuf>,
    #[arg(long, value_name = "FILE.json", help = TRACE.help)]
    trace: Option<PathBuf>,
    #[arg(long, help = TIMES.help)]
    times: bool,
}

/// Returns the help of a setting whose option wins over its variable.
fn with_variable(setting: &Setting) -> String {
    let Setting {
        help,
        variable,
        default,
        ..
    } = setting;
    format!("{help} [default: {variable}, else {default}]")
}

/// [`watch::Stalled`] in the spelling of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stalled {
    /// Print the waits in one line
    Report,
    /// Panic with that line
    Panic,
    /// Print it and abort the process
    Abort,
    /// Wait without end
    Ignore,
}

impl From<Stalled> for watch::Stalled {
    fn from(stalled: Stalled) -> Self {
        match stalled {
            Stalled::Report => Self::Report,
            Stalled::Panic => Self::Panic,
            Stalled::Abort => Self::Abort,
            Stalled::Ignore => Self::Ignore,
        }
    }
}

impl OnRuntime {
    /// Runs `body` as a task, and reports its rows under the `name` of the program.
    pub(super) fn run(
        &self,
        name: &'static str,
        body: impl for<'s, 'e> FnOnce(&mut Cx<'s, 'e>) -> Result<Rows, Box<dyn Error>>,
    ) -> Outcome {
        let interrupt = CancelToken::new();
        let token = interrupt.clone();
        interrupts::on_first(move || _ = token.cancel(Reason::Interrupted));
        let runtime = self.builder()?.build()?;
        let deadline = self.deadline.map(Deadline::try_after).transpose()?;
        let began = Instant::now();
        let ran = runtime.run(|cx| {
            cx.finish_until(&interrupt, |cx| match &deadline {
                None => Ok(body(cx)),
                Some(deadline) => cx.finish_until(deadline, body),
            })
        });
        let seconds = began.elapsed().as_secs_f64();
        let (rows, stopped) = match ran.and_then(|inner| inner) {
            Ok(rows) => (
                rows.map_err(|error| Failure::Check(error.to_string()))?,
                None,
            ),
            Err(cancelled) => (Rows::new(), Some(cancelled.reason)),
        };
        deliver(&self.report(name, rows, stopped, seconds, &runtime))?;
        match stopped {
            Some(Reason::Interrupted) => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    fn builder(&self) -> Result<Builder, Failure> {
        let mut builder = Builder::new();
        if let Some(list) = &self.pin {
            builder = balancer::pinned_to(list, builder)?;
        }
        if self.no_pin {
            builder = builder.pinned(false);
        }
        if let Some(workers) = self.workers {
            builder = builder.workers(workers);
        }
        if let Some(stalled) = self.stalled {
            builder = builder.stalled(stalled.into());
        }
        let Output {
            life, trace, times, ..
        } = &self.output;
        if life.is_none() && trace.is_none() && !times {
            return Ok(builder);
        }
        let mut observe = Observe::new();
        if let Some(file) = life {
            observe = observe.life(file);
        }
        if let Some(file) = trace {
            observe = observe.trace(file);
        }
        if *times {
            observe = observe.printed();
        }
        Ok(builder.observe(observe))
    }

    fn report(
        &self,
        name: &'static str,
        rows: Rows,
        stopped: Option<Reason>,
        seconds: f64,
        runtime: &Runtime,
    ) -> String {
        let findings = Findings::of(rows);
        let reasons = match self.output.explain {
            true => balancer::rows(runtime.explain()),
            false => Vec::new(),
        };
        if !self.output.json {
            let mut rows = reasons;
            if rows.is_empty() {
                rows.push(("workers", runtime.workers().to_string()));
            }
            rows.extend(findings.rows);
            rows.extend(stopped.map(|reason| ("stopped", reason.name().to_owned())));
            rows.push(("seconds", show::number::seconds(seconds)));
            return table(&rows);
        }
        let mut object = findings.json;
        for (key, value) in [
            ("application", name.into()),
            ("complete", stopped.is_none().into()),
            ("stopped", stopped.map(Reason::name).into()),
            ("seconds", seconds.into()),
            ("workers", runtime.workers().into()),
        ] {
            object.insert(key.to_owned(), value);
        }
        if self.output.explain {
            let why = reasons.into_iter().map(|(name, why)| (name, why.into()));
            object.insert("why".to_owned(), show::object(why).into());
        }
        document(object)
    }
}
