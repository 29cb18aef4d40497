//! Figures of a machine as a document that can be kept, published and compared.
#![forbid(unsafe_code)]

use super::comparison::is_disturbed;
use super::{Comparison, Distance, Doubt, RoundTrips, Spread};
use crate::SCHEMA;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::{env, fs};
use tautline_node::Machine;

/// Figures with the machine and the build that they are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of the keys.
    pub schema: u32,
    /// The machine on which the figures were measured.
    pub machine: Identity,
    /// The build that measured them.
    pub build: Build,
    /// The processors that were used, in the order in which threads were placed.
    pub processors: Vec<usize>,
    /// The figures, in the order in which they were measured.
    pub figures: Vec<Figure>,
    /// Round trips of a cache line by pair of processors.
    #[serde(default)]
    pub pairs: Vec<Pair>,
}

/// One quantity, of which less is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The benchmark, as the command names it.
    pub bench: String,
    /// The name, unique within the benchmark.
    pub figure: String,
    /// Nanoseconds, one sample a round.
    pub samples_ns: Vec<f64>,
    /// The reasons why the samples support no verdict; empty if they do.
    pub doubts: Vec<String>,
    /// Nanoseconds of a round trip of a cache line between the processors, measured with the
    /// figure. A host may run those of a virtual machine anywhere, and elsewhere later.
    #[serde(default)]
    pub line_ns: Option<f64>,
}

/// A round trip of a cache line between two processors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The processors.
    pub cpus: [usize; 2],
    /// Nanoseconds of a round trip.
    pub samples_ns: Vec<f64>,
}

/// A machine as far as figures depend on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The name of the processor.
    pub model: Option<String>,
    /// The instruction set.
    pub architecture: String,
    /// The release of the kernel; figures of two kernels may be compared.
    pub kernel: Option<String>,
    /// The processors that the process may use, in the order of the topology.
    pub cpus: Vec<Place>,
    /// Their caches of data.
    pub caches: Vec<Shared>,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Its number in the system.
    pub id: usize,
    /// Its core.
    pub core: usize,
    /// Its memory node.
    pub node: Option<usize>,
    /// Its package.
    pub package: Option<usize>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// 1 is nearest.
    pub level: u32,
    /// The processors that share it.
    pub cpus: Vec<usize>,
}

/// A build of this crate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// The version.
    pub version: String,
    /// The commit, if it was known.
    pub commit: Option<String>,
    /// `release` or `debug`.
    pub profile: String,
}

impl Build {
    fn own() -> Self {
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("BUILD_COMMIT").map(str::to_owned),
            profile: profile.to_owned(),
        }
    }
}

impl Identity {
    /// Returns what identifies `machine`.
    pub fn of(machine: &Machine) -> Self {
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        let cpus = by_topology(machine).into_iter().map(|cpu| Place {
            id: cpu.id,
            core: cpu.core,
            node: cpu.node,
            package: cpu.package,
        });
        let caches = machine.caches().iter();
        let caches = caches.filter(|cache| cache.kind != "Instruction");
        Self {
            model: machine.model().map(str::to_owned),
            architecture: env::consts::ARCH.to_owned(),
            kernel: kernel.map(|release| release.trim().to_owned()),
            cpus: cpus.collect(),
            caches: caches
                .map(|cache| Shared {
                    level: cache.level,
                    cpus: cache.cpus.clone(),
                })
                .collect(),
        }
    }

    /// Whether figures of both may be compared: all but the kernel is equal.
    pub fn is_like(&self, other: &Self) -> bool {
        let without_kernel = |of: &Self| Self {
            kernel: None,
            ..of.clone()
        };
        without_kernel(self) == without_kernel(other)
    }

    /// Returns the name of the processor and the number of processors.
    pub fn title(&self) -> String {
        let model = self.model.as_deref().unwrap_or("unknown processor");
        let (count, architecture) = (self.cpus.len(), &self.architecture);
        let s = if count == 1 { "" } else { "s" };
        format!("{model} ({architecture}), {count} processor{s}")
    }
}

/// Returns the allowed processors so that those that share more are closer to each other.
fn by_topology(machine: &Machine) -> Vec<&tautline_node::machine::Cpu> {
    let mut cpus: Vec<_> = machine.allowed().iter().collect();
    // The first processor of the outermost cache stands for the cache.
    let behind = |id: usize| {
        let caches = machine.caches().iter();
        let of = caches.filter(|cache| cache.kind != "Instruction" && cache.cpus.contains(&id));
        let outermost = of.max_by_key(|cache| cache.level);
        outermost.and_then(|cache| cache.cpus.iter().min().copied())
    };
    cpus.sort_by_key(|cpu| (cpu.package, cpu.node, behind(cpu.id), cpu.core, cpu.id));
    cpus
}

impl Record {
    /// Creates a record of `machine` without figures.
    pub fn of(machine: &Machine, processors: &[usize]) -> Self {
        Self {
            schema: SCHEMA,
            machine: Identity::of(machine),
            build: Build::own(),
            processors: processors.to_vec(),
            figures: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Adds round trips between processors of `machine`, and for each distance a figure of `bench`,
    /// whose name begins with `prefix`.
    pub fn add_round_trips(
        &mut self,
        machine: &Machine,
        [bench, prefix]: [&str; 2],
        round_trips: &RoundTrips,
    ) {
        let mut distances: Vec<(Distance, Vec<f64>, usize)> = Vec::new();
        for pair in &round_trips.pairs {
            let distance = Distance::between(machine, pair.cpus);
            match distances.iter_mut().find(|(known, ..)| *known == distance) {
                Some((_, samples, disturbed)) => {
                    samples.extend(&pair.samples);
                    *disturbed += pair.disturbed;
                }
                None => distances.push((distance, pair.samples.clone(), pair.disturbed)),
            }
        }
        distances.sort_by_key(|(distance, ..)| *distance);
        for (distance, samples_ns, disturbed) in distances {
            self.figures.push(Figure {
                doubts: doubts(&round_trips.doubts, is_disturbed(disturbed, &samples_ns)),
                bench: bench.to_owned(),
                figure: format!("{prefix}{distance}"),
                line_ns: median(&samples_ns),
                samples_ns,
            });
        }
        let pairs = round_trips.pairs.iter().cloned();
        self.pairs.extend(pairs.map(|pair| Pair {
            cpus: pair.cpus,
            samples_ns: pair.samples,
        }));
    }

    /// Adds the rows of a comparison as figures of `bench`, whose names begin with `prefix`.
    pub fn add_rows(&mut self, [bench, prefix]: [&str; 2], comparison: &Comparison) {
        let figures = comparison.rows.iter().map(|row| Figure {
            bench: bench.to_owned(),
            figure: format!("{prefix}{}", row.name),
            samples_ns: row.samples.clone(),
            doubts: doubts(&comparison.doubts, row.is_disturbed()),
            line_ns: median(&comparison.round_trips),
        });
        self.figures.extend(figures);
    }

    /// Reads a document that [`json`](Self::json) has written.
    ///
    /// # Errors
    /// The error, with the allowed values.
    pub fn read(path: &Path) -> Result<Self, String> {
        const ALLOWED: &str = "expected what tautline bench --json prints";
        let text = fs::read_to_string(path).map_err(|error| format!("{ALLOWED} ({error})"))?;
        let content: Value =
            serde_json::from_str(&text).map_err(|error| format!("{ALLOWED} ({error})"))?;
        match &content["schema"] {
            Value::Null => Err(format!("{ALLOWED} (it has no key schema)")),
            schema if *schema != SCHEMA => Err(format!("expected schema {SCHEMA}, found {schema}")),
            _ => serde_json::from_value(content).map_err(|error| format!("{ALLOWED} ({error})")),
        }
    }

    /// Returns the document: the record with the spread of each figure.
    pub fn json(&self) -> Value {
        let mut content = json!(self);
        let figures = content["figures"].as_array_mut().into_iter().flatten();
        for (object, figure) in figures.zip(&self.figures) {
            Spread::describe(object, &figure.samples_ns);
        }
        content
    }
}

fn median(samples: &[f64]) -> Option<f64> {
    Spread::of(samples).map(|spread| spread.median)
}

fn doubts(all: &[Doubt], is_disturbed: bool) -> Vec<String> {
    let disturbed = "threads of a quarter of the samples had to wait for their processors";
    let disturbed = is_disturbed.then(|| disturbed.to_owned());
    let all = all.iter().map(ToString::to_string);
    all.chain(disturbed).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::RoundTrip;
    use super::*;

    /// A record of this machine with two figures of this many samples each.
    pub(crate) fn record(samples: &[f64]) -> Record {
        let machine = Machine::discover();
        let figure = |name: &str| Figure {
            bench: "barrier".to_owned(),
            figure: name.to_owned(),
            samples_ns: samples.to_vec(),
            doubts: Vec::new(),
            line_ns: Some(80.0),
        };
        Record {
            figures: vec![figure("2 tasks: phaser"), figure("2 tasks: counter")],
            ..Record::of(&machine, &machine.cpus())
        }
    }

    #[test]
    fn a_document_is_read_back_with_all_samples() {
        let path = env::temp_dir().join(format!("tautline-record-{}.json", std::process::id()));
        let mut written = record(&[1.0, 2.5, 4.0]);
        let pair = RoundTrip {
            cpus: [0, 1],
            samples: vec![150.25, 160.0],
            disturbed: 1,
        };
        let round_trips = RoundTrips {
            pairs: vec![pair],
            doubts: vec![Doubt::Unpinned],
        };
        written.add_round_trips(&Machine::discover(), ["line", ""], &round_trips);
        let json = written.json();
        assert_eq!(json["figures"][0]["median_ns"], 2.5);
        assert_eq!(json["figures"][2]["bench"], "line");
        assert_eq!(written.figures[2].doubts.len(), 2, "{json}");
        fs::write(&path, json.to_string()).unwrap();
        let read = Record::read(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(read, Ok(written));
    }

    #[test]
    fn processors_that_share_a_cache_are_neighbours() {
        use tautline_node::machine::{Cache, Cpu};
        // Hardware threads numbered as Linux does: the second ones after all first ones.
        let cpu = |id| Cpu {
            id,
            thread: 0,
            core: id % 4,
            node: Some(0),
            package: Some(0),
        };
        let cache = |level, cpus: &[usize]| Cache {
            level,
            kind: "Unified".to_owned(),
            bytes: 0,
            cpus: cpus.into(),
        };
        let caches = vec![cache(3, &[0, 2, 4, 6]), cache(3, &[1, 3, 5, 7])];
        let machine = Machine::described(None, (0..8).map(cpu).collect(), caches, Vec::new());
        let order: Vec<_> = by_topology(&machine).iter().map(|cpu| cpu.id).collect();
        assert_eq!(order, [0, 4, 2, 6, 1, 5, 3, 7]);
    }

    #[test]
    fn another_kernel_is_the_same_machine_and_another_processor_is_not() {
        let one = Identity::of(&Machine::discover());
        let mut other = one.clone();
        other.kernel = Some("1.2.13".to_owned());
        assert!(one.is_like(&other));
        other.cpus[0].core += 1;
        assert!(!one.is_like(&other));
    }
}
