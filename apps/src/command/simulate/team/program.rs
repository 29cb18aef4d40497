//! The programs by name.

use crate::command::Failure;
use crate::command::quote::shown;
use crate::command::refusal::expected;
use crate::command::simulate::costs::unknown;
use std::fmt;
use tautline_sim::teams::TeamOp;

/// More ranks would take gigabytes: they have some 60 activities each.
const STORM_MAX: u64 = 1 << 14;

/// A program over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// A call of a team.
    Call(TeamOp),
    /// Finishes with activities at random.
    Storm,
    /// A phase of the tasks of all ranks.
    Phase,
}

impl Program {
    /// Returns all programs.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let calls = TeamOp::ALL.into_iter().map(|(_, call)| Self::Call(call));
        calls.chain([Self::Storm, Self::Phase])
    }

    /// Returns their names.
    pub(super) fn names() -> Vec<String> {
        Self::all().map(|program| program.to_string()).collect()
    }

    /// Returns the program of this name.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let found = Self::all().find(|program| program.to_string() == name);
        found.ok_or_else(|| {
            let names = Self::names();
            let rule = unknown(name, names.iter().map(String::as_str));
            Failure::Usage(format!("PROGRAM {}: {}", shown(name), expected(&rule)))
        })
    }

    /// Returns the ranks that it is simulated at, at most.
    pub(super) fn most_ranks(self) -> u64 {
        match self {
            Self::Call(call) => call.most_ranks().into(),
            Self::Storm => STORM_MAX,
            Self::Phase => TeamOp::AllReduce.most_ranks().into(),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call) => call.fmt(f),
            Self::Storm => f.pad("storm"),
            Self::Phase => f.pad("phase"),
        }
    }
}
