//! Machines to simulate: descriptions that state the origin of each figure. Feature `sim`.
//!
//! [`find`] returns a built-in one or reads a file of the same form (TOML). A figure is a number,
//! or a number with its source, or with the reason for which it is assumed:
//!
//! ```toml
//! name = "two-racks"
//! title = "Two racks of 32 nodes"
//! sources = ["the data sheet of 2026"]
//! nodes = 64
//! cores = { value = 32, source = "data sheet" }   # of one node
//! workers = 8                                     # of one place
//! default_places = 16
//! clock_mhz = 2400                                # optional, as is memory_gib
//!
//! [speed]              # one of: slowdown, uts_binomial_nodes_per_s, uts_geometric_nodes_per_s
//! slowdown = { value = 4, assumed = "no SHA in hardware" }
//!
//! [costs]              # of a worker, in nanoseconds
//! look_ns = 100
//! serve_ns = 500
//! send_ns = 200
//! split_ns = 300
//! merge_ns = 100
//! wake_ns = 5000
//!
//! [network]            # of nodes; without a shape every node is one hop from every other
//! fat_tree = [8, 4, 4, 2] # nodes a leaf switch, leaf switches a pod, links up from a leaf switch and from
//!                      # each of the pod's upper switches; or torus = [X, Y, Z],
//!                      # or dragonfly = [nodes a router, routers a group, links from a router to other groups]
//! near_ns = 600
//! far_ns = 2500        # not needed with one node
//! hop_ns = 0           # each further hop: link of a torus, switch of the others
//! gap_ns = 100         # of an adapter, between two messages
//! mb_per_s = 12500     # of an adapter; or loot_task_ns = 6, the time of a task of loot
//! link_mb_per_s = 12500 # of a link between switches; without it, links are not simulated
//! message_bytes = 32   # of a message without its loot; 32 unless given
//! task_bytes = 32      # of a task of loot; 32 unless given
//! jitter_percent = 20
//! ordered = true       # no message overtakes another of the same two processes; false unless given
//!
//! [ranks]              # processes; without this section nothing is encoded
//! places = 1           # of one process; without this key all share one, unless `--rank-places` splits them
//! message_ns = 300     # of each message, on either side
//! encode_mb_per_s = 2000 # of its bytes; unlimited unless given
//! decode_mb_per_s = 1000
//! worker = true        # a thread for that alone encodes and decodes; false unless given
//! ```
//!
//! `cores`, `workers` and `memory_gib` may be `"discovered"`: those of the present machine.
#![forbid(unsafe_code)]

mod read;

use crate::host::file::{FileError, locate};
use std::path::Path;
use tautline_sim::{Cluster, Machine, Shape};

/// The rate of tree search on one core of the machine to which slowdowns refer, in nodes a second:
/// one core of an AMD EPYC (Zen 4) with SHA-1 in hardware; the sequential program reaches 39.5 M on
/// T1L and 42.6 M on T3L there.
pub const UTS_NODES_PER_S: u64 = 40_000_000;

/// The longest description that is read, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Name and text of every built-in description.
const BUILT_IN: [(&str, &str); 11] = [
    ("cluster", include_str!("../../../machines/cluster.toml")),
    ("host", include_str!("../../../machines/host.toml")),
    ("triloka", include_str!("../../../machines/triloka.toml")),
    (
        "bluegene-p",
        include_str!("../../../machines/bluegene-p.toml"),
    ),
    ("p7hv32", include_str!("../../../machines/p7hv32.toml")),
    (
        "oakforest-pacs",
        include_str!("../../../machines/oakforest-pacs.toml"),
    ),
    ("jaguar", include_str!("../../../machines/jaguar.toml")),
    ("davinci", include_str!("../../../machines/davinci.toml")),
    (
        "opteron16x8",
        include_str!("../../../machines/opteron16x8.toml"),
    ),
    ("piccolo", include_str!("../../../machines/piccolo.toml")),
    ("harp", include_str!("../../../machines/harp.toml")),
];

/// Returns the names of the built-in machines; the first is the default.
///
/// ```
/// println!("{}", tautline::machines::names().collect::<Vec<_>>().join(", "));
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Returns the built-in machine with this name, else the one that the file with this path
/// describes.
///
/// ```
/// let jaguar = tautline::machines::find("jaguar")?;
/// assert_eq!((jaguar.nodes, jaguar.cores), (18_688, 16));
/// assert!(tautline::machines::find("jaguah").is_err());
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// An unknown name, a file that cannot be read, and a description with a mistake: its line and
/// column, what was found and what is expected.
pub fn find(name_or_path: &str) -> Result<Description, FileError> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
        return parse(name, text);
    }
    let path = Path::new(name_or_path);
    let looks_like_one = path.extension().is_some() || path.components().count() > 1;
    if !looks_like_one && !path.exists() {
        return Err(FileError::Unknown {
            name: name_or_path.to_owned(),
            what: "machine",
            known: format!("the machines are {}", listed()),
        });
    }
    let text = FileError::read(path, BYTES_MAX)?;
    parse(name_or_path, &text)
}

/// Parses the machine that `text` describes; `file` is its name in errors.
///
/// ```
/// let error = tautline::machines::parse("mine.toml", "name = \"mine\"").unwrap_err();
/// assert!(error.to_string().starts_with("mine.toml:"));
/// ```
///
/// # Errors
/// [`FileError::Malformed`]
pub fn parse(file: &str, text: &str) -> Result<Description, FileError> {
    locate(file, text, read::description(text))
}

fn listed() -> String {
    names().collect::<Vec<_>>().join(", ")
}

/// A described machine.
///
/// ```
/// let cluster = tautline::machines::find("cluster")?;
/// assert_eq!(cluster.all_cores(), u64::from(cluster.nodes) * 16);
/// println!("a task of 50 ns takes {} ns there", cluster.task_ns(50));
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// A short name.
    pub name: String,
    /// A title, in some words.
    pub title: String,
    /// The works from which the figures are taken.
    pub sources: Vec<String>,
    /// Nodes.
    pub nodes: u32,
    /// Cores of a node.
    pub cores: u32,
    /// The default number of workers of a place: 1 to 64.
    pub workers: u32,
    /// The default number of places of that many workers.
    pub default_places: u32,
    /// The clock of a core.
    pub clock_mhz: Option<u32>,
    /// The memory of a node.
    pub memory_gib: Option<u32>,
    /// The speed of computation.
    pub speed: Speed,
    /// Costs, with a task of 1 ns and one place a node.
    costs: Machine,
    /// The origin of each figure, in the order in which they are read.
    pub figures: Vec<Figure>,
}

/// The speed of one core: a slowdown, or at least one rate.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Speed {
    /// The ratio of the duration of a task to that on the machine of [`UTS_NODES_PER_S`].
    pub slowdown: Option<f64>,
    /// Rates of sequential programs.
    pub rates: Vec<Rate>,
}

/// The amount of a unit that one core processes in a second.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rate {
    /// The unit, one of [`UNITS`].
    pub unit: &'static str,
    /// The number of units done in a second.
    pub per_s: u64,
}

/// The units in which descriptions give rates: nodes of a binomial and of a geometric tree of the
/// UTS benchmark, in sequential search. The machine that slowdowns refer to does
/// [`UTS_NODES_PER_S`] of each.
pub const UNITS: [&str; 2] = ["uts_binomial_nodes", "uts_geometric_nodes"];

/// One number of a description.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// Its key: `network.far_ns`.
    pub key: String,
    /// The number.
    pub value: f64,
    /// Its origin.
    pub origin: Origin,
}

/// The origin of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Measured or published at this source.
    Source(String),
    /// Assumed, for this reason.
    Assumed(String),
    /// Discovered at run time.
    Discovered,
    /// Not stated by the description.
    Unsaid,
}

impl Description {
    /// Returns the number of cores of all nodes.
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// assert_eq!(jaguar.all_cores(), 18_688 * 16);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn all_cores(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.cores)
    }

    /// Returns the largest number of places of `workers` workers each, every worker with a
    /// dedicated core; a place does not span nodes.
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// assert_eq!(jaguar.places_max(16), 18_688); // a place on each node
    /// assert_eq!(jaguar.places_max(17), 0);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn places_max(&self, workers: u32) -> u64 {
        u64::from(self.nodes) * u64::from(self.cores / workers.max(1))
    }

    /// Returns the ratio of the duration of a task on a core of this machine to that on the machine
    /// of
    /// [`UTS_NODES_PER_S`]: as described, or by the rate of tree search (binomial, else geometric).
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// println!("a task takes {:.1} times as long there", jaguar.slowdown());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn slowdown(&self) -> f64 {
        let rates = UNITS.iter().filter_map(|unit| self.rate(unit));
        let by = |rate: u64| UTS_NODES_PER_S as f64 / rate as f64;
        let speed = &self.speed;
        speed.slowdown.or(rates.map(by).next()).unwrap_or(1.0)
    }

    /// Returns the duration of one `unit`, in nanoseconds: by the machine's rate where it is known,
    /// else by its slowdown, as if it were one of [`UNITS`].
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// let unit = tautline::machines::UNITS[0];
    /// println!("{} ns for a node of a binomial tree", jaguar.unit_ns(unit));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn unit_ns(&self, unit: &str) -> u64 {
        let ns = match self.rate(unit) {
            Some(rate) => 1e9 / rate as f64,
            None => 1e9 / UTS_NODES_PER_S as f64 * self.slowdown(),
        };
        (ns.round() as u64).max(1)
    }

    fn rate(&self, unit: &str) -> Option<u64> {
        let known = self.speed.rates.iter().find(|rate| rate.unit == unit);
        known.map(|rate| rate.per_s)
    }

    /// Returns the duration here, in nanoseconds, of a task that takes `present_ns` on the machine
    /// of [`UTS_NODES_PER_S`]; at least 1.
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// assert_eq!(jaguar.task_ns(1000), (1000.0 * jaguar.slowdown()).round() as u64);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn task_ns(&self, present_ns: u64) -> u64 {
        ((present_ns as f64 * self.slowdown()).round() as u64).max(1)
    }

    /// Returns this machine for a simulation of `places` places of `workers` workers, with tasks of
    /// `task_ns`. Nodes are filled with places in order. Of a torus the smallest partition that
    /// holds the places is used: extents are doubled, the shortest first, until it is large enough.
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// // 32 places of 8 workers are on 16 nodes of 16 cores.
    /// let machine = jaguar.machine(32, 8, 1000);
    /// assert_eq!((machine.task_ns, machine.cluster.node_places), (1000, 2));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn machine(&self, places: u32, workers: u32, task_ns: u64) -> Machine {
        let node_places = (self.cores / workers.max(1)).max(1);
        let nodes = places.div_ceil(node_places);
        Machine {
            task_ns,
            cluster: Cluster {
                node_places,
                shape: match self.costs.cluster.shape {
                    Shape::Torus(whole) => Shape::Torus(partition(whole, nodes)),
                    shape => shape,
                },
                ..self.costs.cluster
            },
            ..self.costs
        }
    }

    /// Returns the costs and the network, for tables: a task takes 1 ns, every place has a whole
    /// node, and a torus is complete.
    ///
    /// ```
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// assert_eq!(jaguar.costs().task_ns, 1);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn costs(&self) -> &Machine {
        &self.costs
    }
}

/// Returns the smallest block of a torus of `whole` extents, by doubling, that has `nodes` nodes.
fn partition(whole: [u32; 3], nodes: u32) -> [u32; 3] {
    let mut block = [1; 3];
    let volume = |block: [u32; 3]| {
        block
            .iter()
            .map(|&extent| u64::from(extent))
            .product::<u64>()
    };
    while volume(block) < u64::from(nodes) {
        let growing = (0..3).filter(|&axis| block[axis] < whole[axis]);
        let Some(axis) = growing.min_by_key(|&axis| block[axis]) else {
            break;
        };
        block[axis] = (block[axis] * 2).min(whole[axis]);
    }
    block
}

#[cfg(test)]
mod tests;
