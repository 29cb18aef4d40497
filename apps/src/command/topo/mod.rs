//! `tautline topo`: what the runtime discovers on this machine, or would discover on another.

mod ranks;
mod tree;

use super::number::{bytes, ranges};
use super::{Failure, Outcome, balancer, deliver, launch, sha_hardware};
use crate::command::known::Known;
use crate::command::show::document;
use clap::Args;
use ranks::Ranks;
use std::fmt::Write as _;
use std::path::PathBuf;
use tautline::Machine;
use tautline::balance::Config;
use tautline::internal::Division;
use tautline::internal::machine::{Cache, Node};
use tautline::phaser;
use tautline::phaser::rule::{Rules, Site, rule};
use tautline::pinning::PlaceList;
use tautline::platform::{Platform, machine_from_xml};
use tautline::runtime::Builder;
use tautline_cli::text::Text;

/// The longest description of a machine, in bytes.
const FILE_MAX: u64 = 1 << 24;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline topo                             this machine, as this process may use it
  tautline topo --explain                   with the reasons
  tautline topo --pin cores                 and where workers would go with TAUTLINE_PIN=cores
  lstopo --of xml > node.xml                on another machine, then here:
  tautline topo --what-if node.xml          what would be chosen there
  tautline topo --what-if node.xml --pin 'sockets(1)' --json
  tautline topo --what-if node.xml --ranks 4    how four ranks would divide it

A list of places is one of threads, cores, ll_caches, numa_domains and sockets, with (N) for the first N,
or sets of CPUs: {0,1},{2,3} or {0:4}:8:4 for 8 sets of 4. TAUTLINE_PIN, else OMP_PLACES, requests it in
runs; TAUTLINE_WARN=0 silences warnings about surprising placements.";

/// Show what the runtime discovers on this machine, and what it will use
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Topo {
    /// Another machine, in a file that `lstopo --of xml` wrote there (hwloc 1 to 3)
    #[arg(long, value_name = "FILE")]
    what_if: Option<PathBuf>,
    /// The places for workers, as in OMP_PLACES
    #[arg(long, value_name = "LIST", value_parser = Known::new(balancer::list, balancer::parts), hide_possible_values = true)]
    pin: Option<PlaceList>,
    /// Show how this number of ranks would divide the machine, 1 to 256: the places, workers and
    /// processors of each
    #[arg(long, value_name = "N", value_parser = launch::ranks, allow_negative_numbers = true)]
    #[arg(conflicts_with = "explain")]
    ranks: Option<u32>,
    /// Explain each setting: its source, and the reason
    #[arg(long)]
    explain: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// A machine and what is chosen on it.
struct Choice {
    machine: Machine,
    /// It is another one.
    elsewhere: bool,
    config: Config,
    choices: Vec<tautline::plan::Choice>,
    /// The processor of each worker.
    cpus: Vec<usize>,
    platform: Platform,
    /// All processors, in places of equally many workers.
    division: Division,
    /// For as many tasks as processors.
    phasers: Rules,
    /// The degree requested explicitly, if any.
    degree: Option<usize>,
}

impl Topo {
    /// Prints the machine.
    pub(super) fn run(&self) -> Outcome {
        let builder = self.builder()?;
        let ranks = self.ranks.map(|ranks| Ranks::of(self, &builder, ranks));
        let ranks = ranks.transpose()?;
        if let (Some(ranks), false) = (&ranks, self.json) {
            return deliver(&ranks.table());
        }
        let choice = self.choice(builder)?;
        deliver(&if self.json {
            json(&choice, ranks.as_ref())
        } else {
            let reasons = if self.explain {
                let phasers = choice.phasers.explain(choice.degree);
                balancer::rows([choice.choices.clone(), phasers].concat())
            } else {
                Vec::new()
            };
            let tree = tree::table(&choice.platform) + &tree::victims(&choice.platform);
            table(&choice, reasons) + &tree
        })
    }

    /// Returns the builder for the machine. The environment of this one does not apply to another
    /// one.
    fn builder(&self) -> Result<Builder, Failure> {
        let Some(file) = &self.what_if else {
            return Ok(Builder::new());
        };
        let machine = Text::read(file, FILE_MAX, |_| false)
            .and_then(|text| machine_from_xml(text.name(), text.as_str()))?;
        Ok(Builder::on(machine))
    }

    fn choice(&self, mut builder: Builder) -> Result<Choice, Failure> {
        if let Some(list) = &self.pin {
            builder = balancer::pinned_to(list, builder)?;
        }
        let plan = builder.plan()?;
        let machine = builder.machine().clone();
        let described = match self.what_if {
            None => Platform::from_environment(&machine)?,
            Some(_) => None,
        };
        let platform = described.unwrap_or_else(|| Platform::pinned(&machine, &plan.pinning));
        let (site, elsewhere) = (Site::of(&machine), self.what_if.is_some());
        let degree = if elsewhere { None } else { phaser::asked()? };
        Ok(Choice {
            phasers: rule(&site, Some(site.processors)),
            degree,
            config: plan.balancing,
            choices: plan.explain_now(),
            cpus: plan.cpus,
            elsewhere,
            division: Division::of(&machine),
            platform,
            machine,
        })
    }
}

fn table(choice: &Choice, reasons: Vec<(&'static str, String)>) -> String {
    let machine = &choice.machine;
    let ids: Vec<usize> = machine.allowed().iter().map(|cpu| cpu.id).collect();
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<15}  {value}");
    };
    row("processor", machine.model().unwrap_or("unknown").to_owned());
    row("CPUs allowed", format!("{} ({})", ids.len(), ranges(&ids)));
    let cores = machine.cores();
    row(
        "cores",
        format!(
            "{cores}, {}",
            match ids.len() == cores {
                true => "one allowed hardware thread each".to_owned(),
                false => format!("{} hardware threads", ids.len()),
            }
        ),
    );
    row(
        "CPU quota",
        match machine.quota() {
            Some(quota) => format!("{quota:.3} CPUs, by the control group"),
            None => "none".to_owned(),
        },
    );
    for cache in shared(machine.caches()) {
        row("cache", cache);
    }
    for Node {
        id,
        bytes: size,
        cpus,
    } in machine.nodes()
    {
        row(
            "memory node",
            format!("{id}: {}, CPUs {}", bytes(*size), ranges(cpus)),
        );
    }
    if !choice.elsewhere {
        row("SHA-1", sha_hardware().unwrap_or("software").to_owned());
    }
    row("default", crews(&choice.config));
    for (name, value) in divided(&choice.division) {
        row(name, value);
    }
    row("pinned to CPUs", ranges(&choice.cpus));
    row("balancer", balancer::line(&choice.config));
    for (setting, why) in reasons {
        row(setting, why);
    }
    text
}

/// The places that all processors make, as rows of a table.
fn divided(division: &Division) -> Vec<(&'static str, String)> {
    let whole = format!("{}: {}", crews(&division.config()), division.why());
    let mut rows = vec![("all CPUs", whole)];
    if division.places.len() > 1 {
        rows.extend(division.places.iter().enumerate().map(|(place, cpus)| {
            let mut cpus = cpus.clone();
            cpus.sort_unstable();
            ("", format!("place {place} on CPUs {}", ranges(&cpus)))
        }));
    }
    rows
}

/// Returns the number of places, and of workers each, in words.
fn crews(config: &Config) -> String {
    let places = plural(config.places as usize, "place");
    match config.smaller {
        0 => format!("{places} x {} workers", config.workers),
        _ => format!("{places}: {} workers", balancer::crews(config)),
    }
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Caches of one level, kind and size in one line.
fn shared(caches: &[Cache]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for cache in caches {
        let kind = cache.kind.to_lowercase();
        let name = format!("L{} {kind}, {}", cache.level, bytes(cache.bytes));
        let cpus = ranges(&cache.cpus);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(cpus),
            None => lines.push((name, vec![cpus])),
        }
    }
    let line = |(name, cpus): (String, Vec<String>)| {
        let count = cpus.len();
        format!("{count} x {name}, CPUs {}", cpus.join(" | "))
    };
    lines.into_iter().map(line).collect()
}

fn json(choice: &Choice, ranks: Option<&Ranks>) -> String {
    let machine = &choice.machine;
    let cpus = machine.allowed().iter().map(|cpu| {
        serde_json::json!({
            "id": cpu.id, "core": cpu.core, "thread": cpu.thread, "node": cpu.node,
            "package": cpu.package,
        })
    });
    let caches = machine.caches().iter().map(|cache| {
        serde_json::json!({
            "level": cache.level, "kind": cache.kind, "bytes": cache.bytes, "cpus": cache.cpus,
        })
    });
    let nodes = machine
        .nodes()
        .iter()
        .map(|node| serde_json::json!({"id": node.id, "bytes": node.bytes, "cpus": node.cpus}));
    let choices = choice.choices.iter().map(|choice| {
        serde_json::json!({
            "setting": choice.setting, "value": choice.value,
            "source": choice.source.to_string(), "why": choice.why,
        })
    });
    let mut object = serde_json::json!({
        "model": machine.model(),
        "cpus": cpus.collect::<Vec<_>>(),
        "cores": machine.cores(),
        "quota": machine.quota(),
        "caches": caches.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "sha_hardware": sha_hardware().filter(|_| !choice.elsewhere),
        "default_places": choice.config.places,
        "default_workers": choice.config.workers,
        "default_smaller_places": choice.config.smaller,
        "division": {
            "places": choice.division.places,
            "workers": choice.division.config().workers,
            "smaller_places": choice.division.config().smaller,
            "crossing": choice.division.crossing,
            "why": choice.division.why(),
        },
        "config": balancer::json(&choice.config, false),
        "choices": choices.collect::<Vec<_>>(),
        "phaser": {
            "tasks": choice.machine.cpus().len(),
            "degree": choice.degree.unwrap_or(choice.phasers.config.degree),
            "help_after": choice.phasers.config.help_after,
        },
        "pinning": choice.cpus,
        "hierarchy": tree::json(&choice.platform),
    });
    if let Some(ranks) = ranks {
        object["ranks"] = ranks.json();
    }
    document(object)
}
