//! Phases, the configuration of a phaser, and its statistics.
#![forbid(unsafe_code)]

use core::fmt;

/// The largest leaf whose tasks watch each other's slots (see `shared::watch`).
pub(crate) const MAX_WATCHED: usize = 4;

/// A phase, counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Phase(pub usize);

impl Phase {
    /// The last phase that can be counted; signalling it is an error.
    pub const LAST: Self = Self(usize::MAX >> 3);
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The configuration of a phaser.
///
/// ```
/// # use tautline_core::phaser::Config;
/// // Every task has a processor, and the nearest cache is shared by eight of them.
/// let config = Config { degree: 8, ..Config::default() };
/// assert_eq!(config.first.0, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Children of a node, 2 to 1024.
    pub degree: usize,
    /// Failed polls after which a waiting task gathers in place of others. 0, immediately, suits
    /// oversubscribed processors.
    pub help_after: u32,
    /// The initial phase.
    pub first: Phase,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            degree: 4,
            help_after: 1000,
            first: Phase(0),
        }
    }
}

/// Statistics of a phaser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Phases that have ended.
    pub phases: usize,
    /// The number of those that a barrier line carried; approximate while one does.
    pub in_hardware: usize,
    /// Nodes gathered, in some phase, by a task other than their fixed master.
    pub helped: usize,
    /// Leaves allocated.
    pub leaves: usize,
    /// Levels of nodes.
    pub levels: usize,
}
