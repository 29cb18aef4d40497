//! `tautline topo`: what the runtime sees of this machine.

use super::number::{bytes, ranges};
use super::{Outcome, deliver, sha_hardware};
use clap::Args;
use std::fmt::Write as _;
use tautline::Machine;
use tautline::glb::Glb;
use tautline::machine::{Cache, Node};

/// Show what the runtime sees of this machine, and what it will use
#[derive(Args, Debug)]
pub struct Topo {
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl Topo {
    /// Prints the machine.
    pub fn run(&self) -> Outcome {
        let machine = Machine::discover();
        let config = Glb::on(&machine).config()?;
        deliver(&if self.json {
            json(&machine, config.places, config.workers)
        } else {
            table(&machine, config.places, config.workers)
        })
    }
}

fn table(machine: &Machine, places: u32, workers: usize) -> String {
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
            Some(quota) => format!("{quota:.2} CPUs, by the control group"),
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
    row("SHA-1", sha_hardware().unwrap_or("software").to_owned());
    row("default", format!("{places} place x {workers} workers"));
    row("pinned to CPUs", ranges(&machine.cpus()));
    text
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

fn json(machine: &Machine, places: u32, workers: usize) -> String {
    let cpus = machine.allowed().iter().map(|cpu| {
        serde_json::json!({"id": cpu.id, "core": cpu.core, "thread": cpu.thread, "node": cpu.node})
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
    let object = serde_json::json!({
        "model": machine.model(),
        "cpus": cpus.collect::<Vec<_>>(),
        "cores": machine.cores(),
        "quota": machine.quota(),
        "caches": caches.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "sha_hardware": sha_hardware(),
        "default_places": places,
        "default_workers": workers,
        "pinning": machine.cpus(),
    });
    format!("{object:#}\n")
}
