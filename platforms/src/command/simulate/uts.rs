//! `tautline simulate uts`: count an unbalanced tree in virtual time.

use super::setting::{self, Setting};
use crate::command::number::{grouped, rate};
use crate::command::story::{Stories, Story};
use crate::command::uts::tree::{self, Chosen, TreeArgs};
use crate::command::uts::verdict::{self, Verdict};
use crate::command::{Failure, Outcome, balancer, deliver, place};
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Instant;
use tautline::glb::{Config, PlaceId, PlaceRun, WorkerId};
use tautline::story::{Clock, Recorder};
use tautline::uts::{Counts, Tree, Uts as Bag};
use tautline_sim::{Machine, Outcome as Simulated, Simulation};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline simulate uts                          1024 places on D11
  tautline simulate uts T1L --places 4096 -n 31  more places, more looks outside
  tautline simulate uts --latency-ns 50000       a slow network
  tautline simulate uts -w 0 --lifelines ring    another balancer
  tautline simulate uts D13 -n 127 --json        a larger tree, for programs
  tautline simulate uts --life story.html        draw what every place did

Every node is really counted; only the time is virtual, and the same options always give the same run.
Ctrl-C ends it without a result.";

/// Count the nodes of an unbalanced tree (the UTS benchmark) in virtual time
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Uts {
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    setting: Setting,
    #[command(flatten)]
    output: Output,
}

/// What is said about the run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct Output {
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stories: Stories,
}

impl Uts {
    /// Counts the tree and says what came of it.
    pub fn run(&self) -> Outcome {
        let bad = |error: tautline::uts::ParamError| Failure::Usage(error.to_string());
        let chosen = self.tree.choose("D11").map_err(bad)?;
        let (config, machine) = self.setting.choose()?;
        let tree = Tree::new(chosen.params).map_err(bad)?;
        let files = self.output.stories.open()?;
        let began = Instant::now();
        let outcome = Simulation::new(config, machine).run(
            Bag::root(&tree),
            |_| Tree::new(chosen.params).expect("the parameters were checked"),
            Counts::default(),
            |_, _| self.output.stories.recorder(config.places as usize),
        );
        let report = Report::of(&chosen, config, machine, outcome, began);
        let delivered = deliver(&if self.output.json {
            report.json()
        } else {
            report.table()
        });
        let told = files.write(&Story {
            title: &format!("UTS {}, simulated", chosen.name),
            facts: &report.facts(),
            clock: Clock {
                began: 0,
                ticks_per_second: 1e9,
                seconds: report.virtual_seconds,
            },
            observers: &report.observers,
            places: &report.places,
        });
        delivered.and(told)?;
        match report.verdict {
            Verdict::Wrong(line) => Err(Failure::Check(line)),
            _ => Ok(()),
        }
    }
}

/// A simulated run and everything to be said about it.
struct Report<'a> {
    chosen: &'a Chosen,
    config: Config,
    machine: Machine,
    counts: Counts,
    verdict: Verdict,
    tasks: u64,
    virtual_seconds: f64,
    /// How long the simulation itself took.
    wall_seconds: f64,
    efficiency: f64,
    messages: u64,
    reports: u64,
    events: u64,
    places: Vec<PlaceRun>,
    observers: Vec<(PlaceId, WorkerId, Recorder)>,
}

impl<'a> Report<'a> {
    fn of(
        chosen: &'a Chosen,
        config: Config,
        machine: Machine,
        outcome: Simulated<Counts, Recorder>,
        began: Instant,
    ) -> Self {
        let place = |place: &tautline_sim::PlaceRun| PlaceRun {
            tally: place.tally,
            times: place.times,
        };
        Self {
            chosen,
            config,
            machine,
            counts: outcome.output,
            verdict: Verdict::of(&outcome.output, chosen.known, true),
            tasks: outcome.tasks,
            virtual_seconds: outcome.virtual_ns as f64 / 1e9,
            wall_seconds: began.elapsed().as_secs_f64(),
            efficiency: outcome.efficiency,
            messages: outcome.messages,
            reports: outcome.reports,
            events: outcome.events,
            places: outcome.places.iter().map(place).collect(),
            observers: outcome.observers,
        }
    }

    /// Nodes a virtual second.
    fn rate(&self) -> f64 {
        self.counts.nodes as f64 / self.virtual_seconds.max(1e-9)
    }

    /// The rate of one place that does nothing but the tasks.
    fn rate_alone(&self) -> f64 {
        let seconds = self.tasks as f64 * self.machine.task_ns as f64 / 1e9;
        self.counts.nodes as f64 / seconds.max(1e-9)
    }

    fn efficiency_line(&self) -> String {
        format!(
            "{:.1} % = {} tasks x {} ns / ({} places x virtual time)",
            self.efficiency * 100.0,
            grouped(self.tasks),
            self.machine.task_ns,
            self.config.places
        )
    }

    /// The run in a few words, for the head of the picture.
    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![
            ("tree", tree::describe(&self.chosen.params)),
            ("rule", self.chosen.rule().to_owned()),
            ("simulated places", self.config.places.to_string()),
            ("machine", setting::line(&self.machine)),
            ("balancer", balancer::line(&self.config)),
            ("nodes", grouped(self.counts.nodes)),
            ("virtual seconds", format!("{:.6}", self.virtual_seconds)),
            ("efficiency", self.efficiency_line()),
        ]
    }

    /// The table for people.
    fn table(&self) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<16}  {value}");
        };
        let tree = tree::describe(&self.chosen.params);
        row("tree", &format!("{}: {tree}", self.chosen.name));
        row("rule", self.chosen.rule());
        let places = self.config.places;
        let crew = format!("{places} x 1, simulated: rates and shares are of virtual time");
        row("places x workers", &crew);
        row("machine", &setting::line(&self.machine));
        row("balancer", &balancer::line(&self.config));
        for (name, value) in verdict::rows(&self.counts, &self.verdict) {
            row(name, &value);
        }
        row("virtual seconds", &format!("{:.6}", self.virtual_seconds));
        row("virtual rate", &format!("{}nodes/s", rate(self.rate())));
        row("efficiency", &self.efficiency_line());
        let (messages, reports) = (grouped(self.messages), grouped(self.reports));
        row(
            "messages",
            &format!("{messages}, {reports} of them to find the end"),
        );
        let (events, wall) = (grouped(self.events), self.wall_seconds);
        row(
            "events",
            &format!("{events}, simulated in {wall:.2} s of real time"),
        );
        text.push('\n');
        text + &place::table(&place::some(&self.places))
    }

    /// The object for programs.
    fn json(&self) -> String {
        let object = json!({
            "simulated": true,
            "tree": tree::json(self.chosen), "rule": self.chosen.rule(),
            "nodes": self.counts.nodes, "leaves": self.counts.leaves,
            "max_depth": self.counts.max_depth,
            "expected_nodes": self.chosen.known.map(|known| known.nodes),
            "verified": self.verdict.json(), "complete": true,
            "virtual_seconds": self.virtual_seconds, "nodes_per_s": self.rate(),
            "sequential_nodes_per_s": self.rate_alone(), "efficiency": self.efficiency,
            "tasks": self.tasks, "messages": self.messages, "reports": self.reports,
            "events": self.events, "wall_seconds": self.wall_seconds,
            "places": self.config.places, "workers": self.config.workers,
            "config": balancer::json(&self.config), "machine": setting::json(&self.machine),
            "per_place": place::json(&self.places),
        });
        format!("{object:#}\n")
    }
}
