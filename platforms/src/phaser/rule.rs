//! Configuration of phasers for a machine, with reasons.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 6, finds that the best degree depends on the machine and the number of
//! threads, and chooses by trial. The rule here: the tasks of a leaf share a cache, within bounds.
//! It has been measured on two processors only; elsewhere it is a starting point for `tautline
//! bench barrier --degree`.
#![forbid(unsafe_code)]

use super::Config;
use crate::Platform;
use crate::setting::{Choice, PHASER_DEGREE, Source};
use tautline_core::hierarchy::{Domain, Kind};
use tautline_node::{Machine, SpinThenYield};

/// At most this many tasks watch each other's slots, in one leaf.
const FEW: usize = 4;
/// The largest leaf: the task that gathers it reads a line of each slot.
const MOST: usize = 8;
/// The size of a leaf where tasks share workers.
const MANY: usize = 16;
/// Polls of the last missing signal before a task yields a shared processor: a large part of the
/// cost of yielding.
pub(crate) const BRIEF: u32 = 16;
/// The name, in descriptions, of memory near some processors that software fills.
pub const SCRATCH: &str = "scratch";

/// The properties of a machine that the rule depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The processors available: at most this many tasks have dedicated ones.
    pub processors: usize,
    /// The nearest cache that at least four processors share: its name, and their number.
    pub cache: Option<(String, usize)>,
    /// Memory near a processor that software fills: its name, and its bytes, 0 if unknown.
    pub scratch: Option<(String, u64)>,
}

impl Site {
    /// Returns the site of the processors to which workers are pinned by default.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::phaser::rule::Site;
    ///
    /// let site = Site::of(&Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]));
    /// assert_eq!((site.processors, site.cache), (4, None));
    /// ```
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

    /// Returns the site of a described node, with a processor for each worker.
    ///
    /// ```
    /// use tautline::Platform;
    /// use tautline::phaser::rule::Site;
    ///
    /// let text = "[place]\ntype = \"cache\"\nname = \"L3\"\nworkers = 4\n";
    /// let site = Site::described(&Platform::from_toml("l3.toml", text)?);
    /// assert_eq!(site.cache, Some(("L3".to_owned(), 4)));
    /// # Ok::<(), tautline::Error>(())
    /// ```
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

/// The memory for the words of a phaser that tasks spin on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Anywhere: caches bring them to the spinning thread.
    Anywhere,
    /// In that memory of the spinning thread.
    Scratch(String),
}

/// The settings chosen, with the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The structure of the phaser.
    pub config: Config,
    /// The memory for its words, for backends with such memory.
    pub placement: Placement,
    degree: String,
    help: String,
}

/// Chooses how a phaser of `tasks` tasks is built; `None` stands for any number of tasks that share
/// a runtime's workers.
///
/// ```
/// use tautline::phaser::rule::{rule, Site};
///
/// let site = Site { processors: 8, cache: Some(("L3".to_owned(), 8)), scratch: None };
/// assert_eq!(rule(&site, Some(8)).config.degree, 8); // the tasks of a leaf share a cache
/// assert_eq!(rule(&site, Some(2)).config.degree, 2);
/// ```
pub fn rule(site: &Site, tasks: Option<usize>) -> Rules {
    let (degree, why) = degree(site, tasks);
    let help_after = tasks.map_or(0, |tasks| help_after(tasks, site.processors));
    let help = match help_after {
        0 => "at once, as tasks share processors: the master of a node may be preempted".to_owned(),
        polls => {
            format!("after {polls} polls, a processor for each task: masters gather promptly")
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

/// Returns the port that defines how threads wait on a phaser built with `config`.
///
/// ```
/// use tautline::phaser::{Config, rule::port};
///
/// assert!(port(Config { help_after: 0, ..Config::default() }).spins < port(Config::default()).spins);
/// ```
pub fn port(config: Config) -> SpinThenYield {
    match config.help_after {
        0 => SpinThenYield { spins: BRIEF },
        _ => SpinThenYield::default(),
    }
}

/// Returns the number of failed polls after which a task helps.
///
/// ```
/// use tautline::phaser::rule::help_after;
///
/// assert_eq!(help_after(9, 8), 0); // a task without a processor may be the one that is waited for
/// assert!(help_after(8, 8) > 0);
/// ```
pub fn help_after(tasks: usize, processors: usize) -> u32 {
    if tasks > processors {
        0
    } else {
        Config::default().help_after
    }
}

fn degree(site: &Site, tasks: Option<usize>) -> (usize, String) {
    let Some(tasks) = tasks else {
        let why = "few levels: among tasks that share workers, the last one climbs all of them";
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
            let why = "no cache is shared by as many, so each read below a node costs the same";
            (FEW, format!("{FEW}, {why}"))
        }
    }
}

impl Rules {
    /// Returns the settings with their reasons; `asked` is a degree requested explicitly.
    ///
    /// ```
    /// use tautline::phaser::rule::{rule, Site};
    ///
    /// let site = Site { processors: 8, cache: Some(("L3".to_owned(), 8)), scratch: None };
    /// for choice in rule(&site, Some(8)).explain(None) {
    ///     println!("{}: {choice}", choice.setting);
    /// }
    /// ```
    pub fn explain(&self, asked: Option<usize>) -> Vec<Choice> {
        let placement = match &self.placement {
            Placement::Anywhere => "anywhere: caches bring them to the spinning thread".to_owned(),
            Placement::Scratch(name) => {
                format!("in {name} of the spinning thread: no cache brings them")
            }
        };
        let spins = port(self.config).spins;
        let spin = match self.config.help_after {
            0 => format!(
                "{spins} polls for the last signal, 0 for more: they may need this processor"
            ),
            _ => format!("{spins} polls, then yields"),
        };
        let choice = |setting, value: usize, why: &str| {
            Choice::chosen(setting, value, Source::Rule, why.to_owned())
        };
        let degree = choice("phaser degree", self.config.degree, &self.degree);
        let help = self.config.help_after as usize;
        let words = match &self.placement {
            Placement::Anywhere => "anywhere",
            Placement::Scratch(name) => name,
        };
        vec![
            match asked {
                Some(asked) => Choice {
                    value: asked.to_string(),
                    source: Source::Variable(PHASER_DEGREE.variable),
                    ..degree
                },
                None => degree,
            },
            choice("phaser help", help, &self.help),
            choice("phaser spin", spins as usize, &spin),
            Choice::chosen("phaser words", words, Source::Rule, placement),
        ]
    }
}
