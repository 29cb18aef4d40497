//! Deadlocks: the events that tasks await while nothing runs.

use crate::id::Rank;
use alloc::vec::Vec;
use core::fmt;
use core::panic::Location;

/// A place in the program.
pub type Site = &'static Location<'static>;

/// The sites of one kind that are displayed.
const SHOWN: usize = 8;

/// The waits of a pool in which nothing runs and nothing was woken for a while: only a thread
/// outside of the pool can continue it. Displayed as one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// The waits, by kind, in the order in which they were found.
    pub waits: Vec<Waits>,
}

/// Waits of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// The awaited event.
    pub on: &'static str,
    /// The number of waits.
    pub count: usize,
    /// The calls that wait, each once, as far as they are known.
    pub sites: Vec<Site>,
}

impl Stall {
    /// A cell that is not put.
    pub const CELL: &str = "a cell";
    /// The end of a phase.
    pub const PHASE: &str = "the end of a phase";
    /// The end of the tasks of a finish.
    pub const FINISH: &str = "the end of a finish";
    /// The end of a task that another one joins.
    pub const TASK: &str = "the end of a task";
    /// A task that a thread outside of the runtime spawns.
    pub const OUTSIDE: &str = "a task from outside";
    /// The release of a [hold](crate::task::Hold).
    pub const HOLD: &str = "the release of a hold";
    /// A future that does not state what it waits for: of another library, or of the program.
    pub const FUTURE: &str = "a future";

    /// Adds a wait for `on`, which the call at `site` began.
    pub fn add(&mut self, on: &'static str, site: Option<Site>) {
        let at = self.waits.iter().position(|waits| waits.on == on);
        let at = at.unwrap_or_else(|| {
            self.waits.push(Waits {
                on,
                count: 0,
                sites: Vec::new(),
            });
            self.waits.len() - 1
        });
        let waits = &mut self.waits[at];
        waits.count += 1;
        if let Some(site) = site.filter(|site| !waits.sites.contains(site)) {
            waits.sites.push(site);
        }
    }

    /// Returns whether there are only waits for tasks [from outside](Self::OUTSIDE): the pool has
    /// nothing to do.
    pub fn is_idle(&self) -> bool {
        self.waits.iter().all(|waits| waits.on == Self::OUTSIDE)
    }

    /// Returns whether a scope waits for a [hold](Self::HOLD), which may be released from outside:
    /// when a message arrives, by a device.
    pub fn has_holds(&self) -> bool {
        self.waits.iter().any(|waits| waits.on == Self::HOLD)
    }

    /// Returns whether a task waits for a [future](Self::FUTURE) of unknown origin, which may be
    /// woken from outside: by a timer, a socket, another rank.
    pub fn has_unknown(&self) -> bool {
        self.waits.iter().any(|waits| waits.on == Self::FUTURE)
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing can go on unless another thread acts: ")?;
        if self.waits.is_empty() {
            return f.write_str("no wait of a task is known");
        }
        for (n, Waits { on, count, sites }) in self.waits.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            let plural = if *count == 1 { "" } else { "s" };
            match *on {
                Self::HOLD => write!(f, "{comma}{count} hold{plural} not released, taken")?,
                on => write!(f, "{comma}{count} wait{plural} for {on}")?,
            }
            for (n, site) in sites.iter().take(SHOWN).enumerate() {
                let start = if n == 0 { " at" } else { " and" };
                write!(f, "{start} {site}")?;
            }
            if sites.len() > SHOWN {
                write!(f, " and {} more places", sites.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

/// An event at other ranks that a call of a group waits for, although all ranks have made it. Ranks
/// are those of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outstanding {
    /// Activities, by rank: of the whole call, or of a scope in it, by the call that spawned first
    /// in it. A rank with 0 of them must report how many it has. Without a rank, reports are
    /// missing.
    Activities(Option<Site>, Vec<(Rank, u64)>),
    /// This number of results of calls at other ranks.
    Results(usize),
    /// Room for activities on their way to these ranks, for which this number of tasks wait.
    Room(usize, Vec<Rank>),
    /// The notice of the end, of the rank that counts.
    End(Rank),
}
