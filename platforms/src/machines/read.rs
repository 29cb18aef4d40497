//! The format of a description, and its bounds.

use super::{Description, Figure, Origin, Rate, Speed, UNITS};
use crate::file::Mistake;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::ops::RangeInclusive;
use tautline_core::lifeline::Crew;
use tautline_sim::{Machine, Shape};
use toml::Spanned;

const NODES_MAX: u64 = 1 << 20;
const CORES_MAX: u64 = 4_096;
/// The maximum number of simulated places.
const PLACES_MAX: u64 = 1 << 17;
/// One second: more would overflow the virtual clock.
const COST_MAX_NS: u64 = 1_000_000_000;
const JITTER_MAX_PERCENT: u64 = 1_000;
const EXTENT_MAX: u64 = 1 << 16;
const SLOWDOWNS: RangeInclusive<f64> = 0.001..=1e6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    sources: Vec<String>,
    nodes: Number,
    cores: Number,
    workers: Number,
    default_places: Number,
    clock_mhz: Option<Number>,
    memory_gib: Option<Number>,
    speed: Spanned<SpeedForm>,
    costs: Costs,
    network: Network,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpeedForm {
    slowdown: Option<Number>,
    uts_binomial_nodes_per_s: Option<Number>,
    uts_geometric_nodes_per_s: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Costs {
    look_ns: Number,
    serve_ns: Number,
    send_ns: Number,
    split_ns: Number,
    merge_ns: Number,
    wake_ns: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    torus: Option<Spanned<Extents>>,
    near_ns: Number,
    far_ns: Option<Number>,
    hop_ns: Option<Number>,
    gap_ns: Option<Number>,
    loot_task_ns: Number,
    jitter_percent: Number,
}

type Number = Spanned<Stated<Value>>;
type Extents = Stated<[u32; 3]>;

/// A value, alone or with its origin.
struct Stated<T> {
    value: T,
    origin: Origin,
}

#[derive(Clone, Copy)]
enum Value {
    Whole(i64),
    Real(f64),
    Discovered,
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneValue;
        impl Visitor<'_> for OneValue {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Whole(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Real(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                match value {
                    "discovered" => Ok(Value::Discovered),
                    _ => Err(E::invalid_type(de::Unexpected::Str(value), &self)),
                }
            }
        }
        from.deserialize_any(OneValue)
    }
}

impl<'de> Deserialize<'de> for Stated<Value> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneNumber;
        impl<'de> Visitor<'de> for OneNumber {
            type Value = Stated<Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number, { value = 1, source = \"…\" } or { value = 1, assumed = \"…\" }",
                )
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Ok(unsaid(Value::Whole(value)))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                Ok(unsaid(Value::Real(value)))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                match value {
                    "discovered" => Ok(Stated {
                        value: Value::Discovered,
                        origin: Origin::Discovered,
                    }),
                    _ => Err(E::invalid_type(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                with_origin(map)
            }
        }
        from.deserialize_any(OneNumber)
    }
}

impl<'de> Deserialize<'de> for Extents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneTorus;
        impl<'de> Visitor<'de> for OneTorus {
            type Value = Extents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("three whole numbers [X, Y, Z], or { value = […], source = \"…\" }")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Extents, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(unsaid)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Extents, A::Error> {
                with_origin(map)
            }
        }
        from.deserialize_any(OneTorus)
    }
}

fn unsaid<T>(value: T) -> Stated<T> {
    Stated {
        value,
        origin: Origin::Unsaid,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: T,
    source: Option<String>,
    assumed: Option<String>,
}

/// A table of a value and its source, or the reason for which it is assumed.
fn with_origin<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<Stated<T>, A::Error> {
    let table = Sourced::deserialize(de::value::MapAccessDeserializer::new(map))?;
    let origin = match (table.source, table.assumed) {
        (Some(_), Some(_)) => {
            return Err(de::Error::custom("either a source or assumed, not both"));
        }
        (Some(source), None) => Origin::Source(source),
        (None, Some(reason)) => Origin::Assumed(reason),
        (None, None) => Origin::Unsaid,
    };
    Ok(Stated {
        value: table.value,
        origin,
    })
}

/// Checks numbers and stores their origins.
#[derive(Default)]
struct Judge {
    figures: Vec<Figure>,
}

impl Judge {
    /// Returns the number under `key`, within `bounds`.
    fn whole(
        &mut self,
        key: &str,
        number: Number,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, Mistake> {
        self.found(key, number, bounds, None)
    }

    /// Returns the number under `key`; a discovered one is `here`.
    fn found(
        &mut self,
        key: &str,
        number: Number,
        bounds: RangeInclusive<u64>,
        here: Option<u64>,
    ) -> Result<u64, Mistake> {
        let span = number.span();
        let Stated { value, origin } = number.into_inner();
        let (least, most) = (*bounds.start(), *bounds.end());
        let refuse = |found: String| {
            let message = format!("{key} {found}: a whole number from {least} to {most}");
            Err(Mistake::at(span.start, message))
        };
        let value = match (value, here) {
            (Value::Whole(whole), _) => match u64::try_from(whole) {
                Ok(value) if bounds.contains(&value) => value,
                _ => return refuse(whole.to_string()),
            },
            (Value::Real(real), _) => return refuse(format!("{real:?}")),
            (Value::Discovered, Some(here)) => here.clamp(least, most),
            (Value::Discovered, None) => return refuse("\"discovered\"".to_owned()),
        };
        self.keep(key, value as f64, origin);
        Ok(value)
    }

    fn small(&mut self, key: &str, number: Number, most: u64) -> Result<u32, Mistake> {
        let value = self.whole(key, number, 1..=most)?;
        Ok(value as u32)
    }

    fn cost(&mut self, key: &str, number: Number) -> Result<u64, Mistake> {
        self.whole(key, number, 0..=COST_MAX_NS)
    }

    fn slowdown(&mut self, key: &str, number: Number) -> Result<f64, Mistake> {
        let span = number.span();
        let Stated { value, origin } = number.into_inner();
        let (value, found) = match value {
            Value::Whole(whole) => (whole as f64, whole.to_string()),
            Value::Real(real) => (real, format!("{real:?}")),
            Value::Discovered => (f64::NAN, "\"discovered\"".to_owned()),
        };
        if !SLOWDOWNS.contains(&value) {
            let (least, most) = (SLOWDOWNS.start(), SLOWDOWNS.end());
            let message = format!("{key} {found}: a number from {least} to {most}");
            return Err(Mistake::at(span.start, message));
        }
        self.keep(key, value, origin);
        Ok(value)
    }

    fn torus(&mut self, torus: Spanned<Extents>, nodes: u32) -> Result<[u32; 3], Mistake> {
        let span = torus.span();
        let Stated { value, origin } = torus.into_inner();
        if !value
            .iter()
            .all(|&extent| (1..=EXTENT_MAX).contains(&extent.into()))
        {
            let message = format!("torus {value:?}: each extent from 1 to {EXTENT_MAX}");
            return Err(Mistake::at(span.start, message));
        }
        let room: u64 = value.iter().map(|&extent| u64::from(extent)).product();
        if room < u64::from(nodes) {
            let message = format!("torus {value:?}: room for {room} nodes, not for all {nodes}");
            return Err(Mistake::at(span.start, message));
        }
        self.keep("network.torus", room as f64, origin);
        Ok(value)
    }

    fn keep(&mut self, key: &str, value: f64, origin: Origin) {
        self.figures.push(Figure {
            key: key.to_owned(),
            value,
            origin,
        });
    }
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
        costs: machine(form.costs, form.network, nodes, &mut judge)?,
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

fn machine(
    costs: Costs,
    network: Network,
    nodes: u32,
    judge: &mut Judge,
) -> Result<Machine, Mistake> {
    let near = network.near_ns.span();
    let near_ns = judge.cost("network.near_ns", network.near_ns)?;
    let far_ns = match network.far_ns {
        Some(number) => judge.cost("network.far_ns", number)?,
        None if nodes == 1 => near_ns,
        None => {
            let message = format!("missing key far_ns: {nodes} nodes send to each other");
            return Err(Mistake::at(near.start, message));
        }
    };
    let mut optional = |key, number: Option<Number>| number.map_or(Ok(0), |n| judge.cost(key, n));
    let hop_ns = optional("network.hop_ns", network.hop_ns)?;
    let gap_ns = optional("network.gap_ns", network.gap_ns)?;
    let shape = match network.torus {
        Some(torus) => Shape::Torus(judge.torus(torus, nodes)?),
        None => Shape::Flat,
    };
    let jitter = 0..=JITTER_MAX_PERCENT;
    // A thread spins for about as long as a wake-up takes.
    let wake_ns = judge.cost("costs.wake_ns", costs.wake_ns)?;
    Ok(Machine {
        task_ns: 1,
        look_ns: judge.cost("costs.look_ns", costs.look_ns)?,
        serve_ns: judge.cost("costs.serve_ns", costs.serve_ns)?,
        send_ns: judge.cost("costs.send_ns", costs.send_ns)?,
        split_ns: judge.cost("costs.split_ns", costs.split_ns)?,
        merge_ns: judge.cost("costs.merge_ns", costs.merge_ns)?,
        wake_ns,
        spin_ns: wake_ns,
        node_places: 1,
        shape,
        near_ns,
        far_ns,
        hop_ns,
        loot_task_ns: judge.cost("network.loot_task_ns", network.loot_task_ns)?,
        gap_ns,
        jitter_percent: judge.whole("network.jitter_percent", network.jitter_percent, jitter)?,
    })
}

/// Translates a parser's message into the terms of this description.
fn plain(words: &str) -> String {
    words.replace('`', "").replace("field", "key")
}
