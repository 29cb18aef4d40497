//! The format of a description, and its bounds.

mod judge;
mod network;
mod value;

use super::{Description, Rate, Speed, UNITS};
use crate::host::file::Mistake;
use judge::Judge;
use network::Given;
use serde::Deserialize;
use std::ops::RangeInclusive;
use tautline_core::lifeline::Crew;
use toml::Spanned;
use value::Figure;

const NODES_MAX: u64 = 1 << 20;
const CORES_MAX: u64 = 4_096;
/// The maximum number of simulated places.
const PLACES_MAX: u64 = 1 << 17;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    sources: Vec<String>,
    nodes: Figure,
    cores: Figure,
    workers: Figure,
    default_places: Figure,
    clock_mhz: Option<Figure>,
    memory_gib: Option<Figure>,
    speed: Spanned<SpeedForm>,
    costs: Given,
    network: Given,
    ranks: Option<Given>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpeedForm {
    slowdown: Option<Figure>,
    uts_binomial_nodes_per_s: Option<Figure>,
    uts_geometric_nodes_per_s: Option<Figure>,
}

/// Parses the description in `text`.
pub(super) fn description(text: &str) -> Result<Description, Mistake> {
    let form: Form = toml::from_str(text).map_err(|error| {
        // The parser's message may have several lines.
        let words = error.message().lines().collect::<Vec<_>>().join(", ");
        Mistake::at(error.span().unwrap_or_default().start, plain(&words))
    })?;
    let mut judge = Judge::default();
    let here = tautline_node::Machine::discover();
    let name = name(form.name)?;
    let nodes = judge.small("nodes", form.nodes, NODES_MAX)?;
    let own = here.cores() as u64;
    let cores = judge.found("cores", form.cores, 1..=CORES_MAX, Some(own))? as u32;
    let span = form.workers.span();
    let workers = judge.found("workers", form.workers, 1..=Crew::MAX as u64, Some(own))? as u32;
    if workers > cores {
        let message = format!("workers {workers}: at most the {cores} cores of a node");
        return Err(Mistake::at(span.start, message));
    }
    let span = form.default_places.span();
    let default_places = judge.small("default_places", form.default_places, PLACES_MAX)?;
    let room = u64::from(nodes) * u64::from(cores / workers);
    if u64::from(default_places) > room {
        let message = format!(
            "default_places {default_places}: at most {room}, as {nodes} nodes of {cores} cores have \
             room for with {workers} workers a place"
        );
        return Err(Mistake::at(span.start, message));
    }
    let clock_mhz = form.clock_mhz.map(|n| judge.small("clock_mhz", n, 100_000));
    let bytes: u64 = here.nodes().iter().map(|node| node.bytes).sum();
    let memory_gib = form.memory_gib.map(|number| {
        let own = Some(bytes.div_ceil(1 << 30));
        judge.found("memory_gib", number, 1..=1 << 20, own)
    });
    Ok(Description {
        name,
        title: form.title,
        sources: form.sources,
        nodes,
        cores,
        workers,
        default_places,
        clock_mhz: clock_mhz.transpose()?,
        memory_gib: memory_gib.transpose()?.map(|gib| gib as u32),
        speed: speed(form.speed, &mut judge)?,
        costs: network::machine(form.costs, form.network, form.ranks, nodes, &mut judge)?,
        figures: judge.figures,
    })
}

fn name(name: Spanned<String>) -> Result<String, Mistake> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let span = name.span();
    let name = name.into_inner();
    if name.is_empty() || name.len() > 40 || !name.chars().all(allowed) {
        let message = format!("name {name:?}: 1 to 40 letters, digits and any of - _ .");
        return Err(Mistake::at(span.start, message));
    }
    Ok(name)
}

fn speed(form: Spanned<SpeedForm>, judge: &mut Judge) -> Result<Speed, Mistake> {
    const RATES: RangeInclusive<u64> = 1..=10_000_000_000;
    let span = form.span();
    let form = form.into_inner();
    let slowdown = form.slowdown.map(|n| judge.slowdown("speed.slowdown", n));
    let mut speed = Speed {
        slowdown: slowdown.transpose()?,
        rates: Vec::new(),
    };
    let numbers = [
        form.uts_binomial_nodes_per_s,
        form.uts_geometric_nodes_per_s,
    ];
    for (unit, number) in UNITS.into_iter().zip(numbers) {
        if let Some(number) = number {
            let per_s = judge.whole(&format!("speed.{unit}_per_s"), number, RATES)?;
            speed.rates.push(Rate { unit, per_s });
        }
    }
    if speed == Speed::default() {
        let message = "speed is empty: one of slowdown, uts_binomial_nodes_per_s, \
                       uts_geometric_nodes_per_s is needed";
        return Err(Mistake::at(span.start, message));
    }
    Ok(speed)
}

/// Translates a parser's message into the terms of this description.
fn plain(words: &str) -> String {
    words.replace('`', "").replace("field", "key")
}
