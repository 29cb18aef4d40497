//! How phasers are built on a machine, and why.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 6, finds that the best degree depends on machine and number of threads, and chooses by trial. The rule
//! here: a leaf is what shares a cache, within bounds. It has been measured on two processors only; elsewhere it is a
//! starting point for `tautline bench barrier --degree`.
#![forbid(unsafe_code)]

use super::Config;
use crate::Platform;
use crate::choice::Choice;
use tautline_core::hierarchy::{Domain, Kind};
use tautline_node::{Machine, SpinThenYield};

/// Up to so many tasks watch each other's slots, if they are in one leaf.
const FEW: usize = 4;
/// What a leaf has at most: whoever gathers it reads a line of each.
const MOST: usize = 8;
/// What a leaf has where tasks share workers.
const MANY: usize = 16;
/// Looks at the last signal missing before a processor that tasks share is offered: a good part of what that costs.
const BRIEF: u32 = 16;
/// How descriptions call memory that software fills, near some of the processors.
pub const SCRATCH: &str = "scratch";

/// What the rule looks at of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// So many tasks do not share processors.
    pub processors: usize,
    /// The nearest cache that at least four processors share: what it is called, and how many they are.
    pub cache: Option<(String, usize)>,
    /// Memory near a processor that software fills: what it is called, and its bytes, 0 if not known.
    pub scratch: Option<(String, u64)>,
}

impl Site {
    /// The processors that workers are pinned to by default.
    pub fn of(machine: &Machine) -> Self {
        let used = machine.cpus();
        let shared = machine.caches().iter().filter(|c| c.kind != "Instruction");
        let shared = shared.map(|cache| {
            let cpus = cache.cpus.iter().filter(|cpu| used.contains(cpu));
            (format!("L{}", cache.level), cpus.count())
        });
        Self {
            processors: used.len(),
            cache: shared
                .filter(|(_, cpus)| *cpus >= FEW)
                .min_by_key(|(_, cpus)| *cpus),
            scratch: None,
        }
    }

    /// A described node, a processor for each worker.
    pub fn described(platform: &Platform) -> Self {
        let tree = platform.hierarchy();
        let named = |place: Domain| match tree.label(place) {
            "" => tree.kind(place).name().to_owned(),
            label => label.to_owned(),
        };
        let caches = tree
            .domains()
            .filter(|&place| matches!(tree.kind(place), Kind::Cache | Kind::Core));
        let shared = caches.map(|place| (named(place), tree.num_workers(place) as usize));
        let scratch = Kind::named(SCRATCH);
        let scratch = tree.domains_of_kind(&scratch).next();
        Self {
            processors: tree.workers() as usize,
            cache: shared
                .filter(|(_, cpus)| *cpus >= FEW)
                .min_by_key(|(_, cpus)| *cpus),
            scratch: scratch.map(|place| (named(place), tree.bytes(place))),
        }
    }
}

/// Where the words of a phaser that are spun on had better be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere: caches bring them to whoever spins.
    Anywhere,
    /// In that memory of the thread that spins.
    Scratch(String),
}

/// What is chosen, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How a phaser is built.
    pub config: Config,
    /// Where its words had better be: for backends with such memory.
    pub placement: Placement,
    degree: String,
    help: String,
}

/// How a phaser of so many tasks is built; of none: any number of tasks that a runtime's workers share.
pub fn rule(site: &Site, tasks: Option<usize>) -> Rules {
    let (degree, why) = degree(site, tasks);
    let help_after = tasks.map_or(0, |tasks| help_after(tasks, site.processors));
    let help = match help_after {
        0 => "at once, as tasks share processors: who is to gather may have none".to_owned(),
        looks => {
            format!("after {looks} looks, a processor for each task: who is to gather soon does")
        }
    };
    let placement = site
        .scratch
        .as_ref()
        .map_or(Placement::Anywhere, |(name, _)| {
            Placement::Scratch(name.clone())
        });
    Rules {
        config: Config {
            degree,
            help_after,
            ..Config::default()
        },
        placement,
        degree: why,
        help,
    }
}

/// How threads wait on a phaser that is built so.
pub fn port(config: Config) -> SpinThenYield {
    match config.help_after {
        0 => SpinThenYield { looks: BRIEF },
        _ => SpinThenYield::default(),
    }
}

/// After how many failed looks a task helps.
pub fn help_after(tasks: usize, processors: usize) -> u32 {
    if tasks > processors {
        0
    } else {
        Config::default().help_after
    }
}

fn degree(site: &Site, tasks: Option<usize>) -> (usize, String) {
    let Some(tasks) = tasks else {
        let why = "few levels: of tasks that share workers, whoever comes last goes up all of them";
        return (MANY, format!("{MANY}, {why}"));
    };
    if tasks <= FEW {
        let degree = tasks.max(2);
        let why = "one leaf: each task watches the others' signals itself";
        return (degree, format!("{degree}, {why}"));
    }
    match &site.cache {
        Some((name, cpus)) => {
            let degree = (*cpus).min(MOST);
            let bound = if degree < *cpus {
                ", but a leaf has at most 8"
            } else {
                ""
            };
            (
                degree,
                format!("{degree}, of the {cpus} processors that share {name}{bound}"),
            )
        }
        None => {
            let why = "no cache is shared by as many, so each look below a node costs the same";
            (FEW, format!("{FEW}, {why}"))
        }
    }
}

impl Rules {
    /// The settings with their reasons; `asked` is the degree that somebody asked for.
    pub fn explain(&self, asked: Option<usize>) -> Vec<Choice> {
        let placement = match &self.placement {
            Placement::Anywhere => "anywhere: caches bring them to who spins".to_owned(),
            Placement::Scratch(name) => {
                format!("in {name} of the thread that spins: no cache brings them")
            }
        };
        let looks = port(self.config).looks;
        let spin = match self.config.help_after {
            0 => format!(
                "{looks} looks for the last signal, none for more: they may need this processor"
            ),
            _ => format!("{looks} looks, then the processor is offered"),
        };
        let choice = |setting, chosen, why: &str| Choice {
            setting,
            chosen,
            why: why.to_owned(),
        };
        vec![
            choice("phaser degree", asked.is_none(), &self.degree),
            choice("phaser help", true, &self.help),
            choice("phaser spin", true, &spin),
            choice("phaser words", true, &placement),
        ]
    }
}
