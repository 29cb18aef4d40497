//! `tautline uts`: count an unbalanced tree.

mod baseline;
mod report;
pub mod tree;
pub mod verdict;

use super::balancer::{self, Balancer};
use super::number::{grouped, rate};
use super::progress::Progress;
use super::story::{Stories, Story};
use super::{Failure, Outcome, deliver};
use baseline::{Baseline, Missing};
use clap::Args;
use report::Report;
use std::fs;
use std::process;
use std::sync::Arc;
use tautline::glb::{Config, Control, Glb, Reason, Run};
use tautline::story::{Clock, Recorder};
use tautline::uts::{Counts, Tree, Uts as Bag};
use tree::{Chosen, TreeArgs};
use verdict::Verdict;

/// Most hashes between two looks outside: about a second, so that an interrupt is soon heard.
const HASHES_MAX: u64 = 1 << 24;

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
    #[command(flatten)]
    stories: Stories,
    /// No progress line (there is none either if stderr is no terminal)
    #[arg(long, visible_alias = "no-progress")]
    quiet: bool,
}

impl Uts {
    /// Counts the tree and says what came of it.
    pub fn run(&self) -> Outcome {
        let bad = |error: tautline::uts::ParamError| Failure::Usage(error.to_string());
        let chosen = self.tree.choose("T1L").map_err(bad)?;
        let control = Arc::new(Control::new());
        let glb = self.balancer.glb(&control);
        let config = glb.config()?;
        check_pause(&config, &chosen)?;
        let tree = Tree::new(chosen.params).map_err(bad)?;
        let files = self.output.stories.open()?;
        stop_on_interrupt(&control)?;
        let run = self.count(&glb, &chosen, &tree, &control)?;
        let peak_memory_kib = peak_memory_kib();
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
            peak_memory_kib,
            places: &run.places,
            sequential,
        };
        let delivered = deliver(&if self.output.json {
            report.json()
        } else {
            report.table()
        });
        let told = files.write(&Story {
            title: &format!("UTS {}", chosen.name),
            facts: &facts(&report),
            clock: Clock::of(&run),
            observers: &run.observers,
            places: &run.places,
        });
        delivered.and(told)?;
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
        let config = glb.config()?;
        let threads = config.places as usize * config.threads();
        // The last level is no task if it is not hashed.
        let known = chosen.known.filter(|_| !chosen.params.count_last_level);
        let total = known.map(|tree| tree.nodes);
        let _progress = Progress::start(self.output.quiet, control, total);
        let run = glb
            .clone()
            .observed(|_, _| self.output.stories.recorder(threads))
            .run(
                Bag::root(tree),
                |_| Tree::new(chosen.params).expect("the parameters were checked"),
                Counts::default(),
            )?;
        Ok(run)
    }
}

/// Refuses a run that would look outside so seldom that an interrupt seems to be lost.
fn check_pause(config: &Config, chosen: &Chosen) -> Outcome {
    let (grain, each) = (
        config.grain.initial() as u64,
        u64::from(chosen.params.granularity),
    );
    if grain * each <= HASHES_MAX {
        return Ok(());
    }
    let most = HASHES_MAX / each;
    Err(Failure::Usage(format!(
        "--grain {grain} -g {each}: at most {HASHES_MAX} hashes between two looks outside, \
         so a grain of at most {most} for this -g"
    )))
}

/// Most memory that this process ever held, if the system is one that says so.
fn peak_memory_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
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
        control.stop(Reason::Interrupted);
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::Check(format!("cannot watch for interrupts: {error}")))
}
