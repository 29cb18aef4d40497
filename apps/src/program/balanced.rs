//! A balanced run with the options of the command line: files, progress, interrupts.

use super::balancer::Balancing;
use super::show::document;
use super::show::progress::Progress;
use super::show::story::{Files, Stories, Story};
use super::{Answer, Failure, Measured, Outcome, deliver, interrupts};
use crate::bench::Observed;
use clap::Args;
use serde_json::{Map, Value};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tautline::Runtime;
use tautline::balance::{Across, Balancer, Config, Control, PlaceId, Reason, Run, WorkerId};
use tautline::pinning::PlaceList;
use tautline::story::{Clock, Recorder};
use tautline::world::World;

/// The options of balanced runs.
#[derive(Args, Debug)]
#[group(skip)]
pub struct Balanced {
    #[command(flatten)]
    balancing: Balancing,
    #[command(flatten)]
    output: Output,
}

/// The report of the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
#[group(skip)]
struct Output {
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

/// A finished run.
pub struct Finished<T> {
    /// The run.
    pub run: Run<T, Recorder>,
    /// The files to be written.
    files: Files,
    /// Whether data is requested instead of tables.
    is_json: bool,
    /// Stopped if the user has interrupted the program.
    pub interrupt: Arc<Control>,
    /// The settings and circumstances of the run.
    pub measured: Measured,
}

impl<T> Finished<T> {
    /// Prints `answer`, with a further row of the table or further `keys` of the data, and writes
    /// the requested files, whose pictures have this `title`.
    ///
    /// # Errors
    /// A result or file that cannot be written.
    pub fn report(
        &self,
        title: &str,
        answer: &Answer,
        row: Option<(&'static str, String)>,
        keys: Map<String, Value>,
    ) -> Outcome {
        let Self { run, measured, .. } = self;
        let delivered = deliver(&if self.is_json {
            let mut object = measured.json(answer, &run.places, &run.workers);
            object.extend(keys);
            document(object)
        } else {
            let mut rows = measured.rows(answer);
            rows.extend(row);
            rows.extend(measured.memory());
            measured.table(&rows, &run.places, &run.workers) + &answer.drawn()
        });
        let told = self.files.write(&Story {
            title,
            facts: &measured.facts(answer),
            clock: Clock::of(run),
            observers: &run.observers,
            places: &run.places,
        });
        delivered.and(told)
    }
}

/// Makes the recorder of a worker.
type Record<'a> = &'a (dyn Fn(PlaceId, WorkerId) -> Recorder + Sync);

/// A [`Balancer`] whose workers are recorded.
pub type Recorded<'a> = Balancer<'a, Record<'a>>;

/// The same over the ranks of a world.
pub type RecordedAcross<'a> = Across<'a, 'a, Record<'a>>;

impl Balanced {
    /// Returns the list of processors to which workers are to be pinned, if there is one.
    pub fn listed(&self) -> Option<&PlaceList> {
        self.balancing.listed()
    }

    /// Refuses what cannot be had, or what `check` refuses, before anything is started.
    ///
    /// # Errors
    /// What [`run`](Self::run) refuses.
    pub fn check(&self, check: impl FnOnce(&Config) -> Outcome) -> Outcome {
        let plan = self.balancing.builder()?.plan()?;
        check(&self.balancing.config(&plan)?)?;
        self.output.stories.open().map(|_| ())
    }

    /// Runs what `start` starts, as a rank of `world`, unless `check` refuses the settings: by the
    /// first argument if it is the only rank, else by the second. Progress counts in `unit`, up to
    /// `total` if that is known. The workers of all ranks are then known at rank 0, unless one was
    /// lost, and the others return nothing.
    ///
    /// # Errors
    /// Options that cannot be satisfied, the loss of a rank, and an interrupt at a rank
    /// that returns nothing.
    pub fn run<T>(
        &self,
        world: World,
        tasks: (&'static str, Option<u64>),
        check: impl FnOnce(&Config) -> Outcome,
        start: impl FnOnce(&Recorded, &RecordedAcross) -> tautline::Result<Run<T, Recorder>>,
    ) -> Result<Option<Finished<T>>, Failure> {
        let finished = self.run_in(&world, tasks, check, start)?;
        match (world.is_home(), finished.run.stopped) {
            (true, _) => Ok(Some(finished)),
            (false, Some(Reason::Interrupted)) => Err(Failure::Interrupted),
            (false, _) => Ok(None),
        }
    }

    fn run_in<T>(
        &self,
        world: &World,
        (unit, total): (&'static str, Option<u64>),
        check: impl FnOnce(&Config) -> Outcome,
        start: impl FnOnce(&Recorded, &RecordedAcross) -> tautline::Result<Run<T, Recorder>>,
    ) -> Result<Finished<T>, Failure> {
        let control = Arc::new(Control::new());
        let builder = self.balancing.builder()?;
        check(&self.balancing.config(&builder.plan()?)?)?;
        let files = self.output.stories.open()?;
        let interrupt = stop_on_interrupt(&control);
        let runtime = &builder.build()?;
        let balancer = self.balancing.on(runtime, &control);
        let config = balancer.config()?;
        let recorders = config.all_threads();
        let record = |_, _| self.output.stories.recorder(recorders);
        let record: Record = &record;
        let balancer = balancer.observed(record);
        let across = balancer.clone().across(world);
        let threads = runtime.workers();
        let (pinned, processors) = place(runtime, config.all_workers().min(threads));
        let used = world.gather((pinned.clone(), processors, threads))?;
        let observed = Observed::start(&pinned);
        let deadline = self.balancing.deadline();
        let progress = Progress::start(self.output.quiet, &control, unit, total, deadline);
        let mut run = start(&balancer, &across)?;
        let doubts = observed.doubts(threads, processors);
        drop(progress);
        let (clocks, peak_memory_kib) = collect(world, &across, &mut run)?;
        let mut measured = Measured {
            config,
            explain: self.output.explain,
            pinned,
            processors,
            threads,
            ranks: 1,
            clocks: clocks.filter(|_| self.output.stories.requested().is_some()),
            sent: (run.messages, run.bytes),
            doubts,
            seconds: Clock::of(&run).seconds,
            tasks: run.tasks(),
            peak_memory_kib,
        };
        if world.ranks() > 1 {
            measured.add_ranks(used.unwrap_or_default());
        }
        Ok(Finished {
            run,
            files,
            is_json: self.output.json,
            interrupt,
            measured,
        })
    }
}

/// Pins the calling thread, the first worker, if the others are. Returns the processors that they
/// are pinned to, and how many processors `workers` workers can use at once.
fn place(runtime: &Runtime, workers: usize) -> (Vec<usize>, usize) {
    let plan = runtime.plan();
    // If it cannot be pinned, it runs on any processor.
    _ = plan
        .cpus
        .first()
        .map(|cpu| tautline::internal::machine::pin(*cpu));
    let processors = plan.pinning.processors().min(workers);
    let pinned = plan.cpus.iter().copied().take(processors);
    (pinned.collect(), processors)
}

/// Adds what is known of the other ranks to rank 0's run, unless one was lost. Returns how far
/// their clocks may be off, and the maximum memory of all.
fn collect<T>(
    world: &World,
    across: &RecordedAcross,
    run: &mut Run<T, Recorder>,
) -> tautline::Result<(Option<Duration>, Option<u64>)> {
    let own = peak_memory_kib();
    if world.ranks() == 1 || run.stopped == Some(Reason::Lost) {
        return Ok((None, own));
    }
    let collected = across.collect(run).and_then(|clocks| {
        let all = world.gather(own)?.unwrap_or_default();
        Ok((Some(clocks), all.into_iter().sum()))
    });
    match collected {
        // The result is there.
        Err(tautline::Error::Rank(_)) if world.tolerates_losses() => Ok((None, own)),
        collected => collected,
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

/// Makes the first interrupt stop the run and keep its result. Returns whether it has happened,
/// even if the run had been stopped otherwise before.
fn stop_on_interrupt(control: &Arc<Control>) -> Arc<Control> {
    let heard = Arc::new(Control::new());
    let (control, first) = (Arc::clone(control), Arc::clone(&heard));
    interrupts::on_first(move || {
        first.stop(Reason::Interrupted);
        control.stop(Reason::Interrupted);
    });
    heard
}
