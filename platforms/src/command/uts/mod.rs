//! `tautline uts`: count an unbalanced tree.

mod baseline;
mod report;
mod tree;

use super::balancer::{self, Balancer};
use super::number::{grouped, rate};
use super::progress::Progress;
use super::{Failure, Outcome, deliver};
use baseline::{Baseline, Missing};
use clap::Args;
use report::{Report, Verdict};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use tautline::glb::{Control, Glb, Run};
use tautline::story::{Clock, Life, Picture, Recorder, Trace, Watched, write_trace};
use tautline::uts::{Counts, Tree, Uts as Bag};
use tree::{Chosen, TreeArgs};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline uts T1 --workers 1               one worker
  tautline uts T3L --places 4 -w 2          four places, two steals tried at random
  tautline uts -t 0 -b 2000 -q 0.2 -m 4     a tree without a name, by the reference's flags
  tautline uts T1 -r 20                     a named tree, but with another seed
  tautline uts D13 --count-last-level       by the rule of X10 GLB and JavaGLB
  tautline uts T3L --json --quiet           for programs";

/// Count the nodes of an unbalanced tree (the UTS benchmark)
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Uts {
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    balancer: Balancer,
    #[command(flatten)]
    output: Output,
}

/// What is said about the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct Output {
    /// What the sequential program that gives the efficiency counts
    #[arg(long, default_value = "smaller")]
    baseline: Baseline,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Draw what every worker did over time
    #[arg(long, value_name = "FILE.html")]
    life: Option<PathBuf>,
    /// Write the latest states of every worker for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    /// No progress line (there is none either if stderr is no terminal)
    #[arg(long, visible_alias = "no-progress")]
    quiet: bool,
}

/// Files that are written after the run, made before it so that a run is never in vain.
struct Files {
    life: Option<(PathBuf, File)>,
    trace: Option<(PathBuf, File)>,
}

impl Uts {
    /// Counts the tree and says what came of it.
    pub fn run(&self) -> Outcome {
        let bad = |error: tautline::uts::ParamError| Failure::Usage(error.to_string());
        let chosen = self.tree.choose().map_err(bad)?;
        let control = Arc::new(Control::new());
        let glb = self.balancer.glb(&control);
        let config = glb.config()?;
        let tree = Tree::new(chosen.params).map_err(bad)?;
        let files = self.output.create()?;
        stop_on_interrupt(&control)?;
        let run = self.count(&glb, &chosen, &tree, &control)?;
        let processors = glb
            .cpus()
            .len()
            .min(config.places as usize * config.workers);
        let cpus = if glb.is_pinned() { glb.cpus() } else { &[] };
        let nodes_per_s = run.output.nodes as f64 / run.elapsed.as_secs_f64().max(1e-9);
        let each = nodes_per_s / processors as f64;
        let sequential = match run.complete {
            true => {
                let cpu = glb.cpus().first().copied();
                let done = (run.output.nodes, each);
                baseline::measure(self.output.baseline, &chosen, done, cpu, &control)
            }
            false => Err(Missing::Interrupted),
        };
        let interrupted = matches!(sequential, Err(Missing::Interrupted));
        let report = Report {
            chosen: &chosen,
            config,
            pinned: cpus.iter().copied().take(processors).collect(),
            processors,
            counts: run.output,
            verdict: Verdict::of(&run.output, chosen.known, run.complete),
            complete: run.complete,
            seconds: run.elapsed.as_secs_f64(),
            places: &run.places,
            sequential,
        };
        files.write(&report, &run)?;
        deliver(&if self.output.json {
            report.json()
        } else {
            report.table()
        })?;
        match report.verdict {
            Verdict::Wrong(line) => Err(Failure::Check(line)),
            _ if interrupted => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    fn count(
        &self,
        glb: &Glb,
        chosen: &Chosen,
        tree: &Tree,
        control: &Arc<Control>,
    ) -> Result<Run<Counts, Recorder>, Failure> {
        let (life, trace) = (self.output.life.is_some(), self.output.trace.is_some());
        let config = glb.config()?;
        let threads = config.places as usize * config.workers;
        // The last level is no task if it is not hashed.
        let known = chosen.known.filter(|_| !chosen.params.count_last_level);
        let total = known.map(|tree| tree.nodes);
        let _progress = Progress::start(self.output.quiet, control, total);
        let run = glb
            .clone()
            .observed(|_, _| Recorder {
                life: life.then(Life::default),
                trace: trace.then(|| Trace::for_workers(threads)),
            })
            .run(
                Bag::root(tree),
                |_| Tree::new(chosen.params).expect("the parameters were checked"),
                Counts::default(),
            )?;
        Ok(run)
    }
}

impl Output {
    fn create(&self) -> Result<Files, Failure> {
        if self.life.is_some() && self.life == self.trace {
            let file = self.life.as_deref().unwrap_or(Path::new("")).display();
            return Err(Failure::Usage(format!(
                "--trace {file}: another file than --life"
            )));
        }
        let create = |option, path: &Option<PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            match File::create(path) {
                Ok(file) => Ok(Some((path.clone(), file))),
                Err(error) => Err(Failure::Usage(format!(
                    "{option} {}: a file that can be written ({error})",
                    path.display()
                ))),
            }
        };
        Ok(Files {
            life: create("--life", &self.life)?,
            trace: create("--trace", &self.trace)?,
        })
    }
}

impl Files {
    fn write(self, report: &Report, run: &Run<Counts, Recorder>) -> Outcome {
        let clock = Clock::of(run);
        let title = format!("UTS {}", report.chosen.name);
        write_to(self.life, |out| {
            Picture {
                title: &title,
                facts: &facts(report),
                clock,
                workers: &watched(run, |recorder| recorder.life.as_ref()),
                places: report.places,
            }
            .write(out)
        })?;
        write_to(self.trace, |out| {
            let workers = watched(run, |recorder| recorder.trace.as_ref());
            write_trace(out, &title, clock, &workers)
        })
    }
}

fn write_to(
    file: Option<(PathBuf, File)>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Outcome {
    let Some((path, file)) = file else {
        return Ok(());
    };
    let mut out = BufWriter::new(file);
    write(&mut out)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::Check(format!("{}: {error}", path.display())))
}

/// What was recorded of each worker.
fn watched<'a, T>(
    run: &'a Run<Counts, Recorder>,
    part: impl Fn(&'a Recorder) -> Option<&'a T>,
) -> Vec<Watched<&'a T>> {
    let all = run.observers.iter();
    all.filter_map(|(place, worker, recorder)| Some((*place, *worker, part(recorder)?)))
        .collect()
}

/// The run in a few words, for the head of the picture.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let nodes = grouped(report.counts.nodes);
    vec![
        ("tree", tree::describe(&report.chosen.params)),
        ("rule", report.hashing()),
        ("places x workers", report.crew()),
        ("balancer", balancer::line(&report.config)),
        (
            "nodes",
            if report.complete {
                nodes
            } else {
                format!("{nodes} (partial)")
            },
        ),
        ("seconds", format!("{:.3}", report.seconds)),
        ("rate", format!("{}nodes/s", rate(report.rate()))),
    ]
}

/// The first interrupt stops the run and keeps what it has counted; the second ends the process.
fn stop_on_interrupt(control: &Arc<Control>) -> Outcome {
    let control = Arc::clone(control);
    let handler = move || {
        if control.is_stopped() {
            process::exit(130);
        }
        control.stop();
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Check(format!("cannot watch for interrupts: {error}")))
}
