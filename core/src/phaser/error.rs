//! Misuses of a phaser.
#![forbid(unsafe_code)]

use super::config::Phase;
use super::mode::Mode;
use super::value::operator::Op;
use core::fmt;

/// A misuse of a phaser. The call has no effect on the phaser and its registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PhaserError {
    /// A task registered as `held` cannot register a child as `asked`.
    Capability {
        /// The parent's mode.
        held: Mode,
        /// The child's.
        asked: Mode,
    },
    /// A phaser that accumulates accepts only tasks registered signal-wait.
    Accumulates {
        /// The child's mode.
        asked: Mode,
    },
    /// A value or a statement for a phase that the task has already signalled.
    Signalled {
        /// The phase.
        phase: Phase,
    },
    /// The operator is not defined for values of this type.
    Operator {
        /// The operator.
        op: Op,
    },
    /// The phaser belongs to a scope other than the one that the child would join.
    Scope,
    /// A second wait for a phase, without a signal in between.
    DoubleWait {
        /// The phase that the task has not signalled.
        phase: Phase,
    },
    /// `next_single` by a task registered in a mode without statements.
    Single {
        /// The task's mode.
        mode: Mode,
    },
    /// The task is not registered on the phaser, or no longer.
    NotRegistered,
    /// The last phase that can be counted was reached.
    Overflow,
    /// Nodes of a tree have at least 2 and at most 1024 children.
    Degree {
        /// The degree requested.
        degree: usize,
    },
}

impl fmt::Display for PhaserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capability { held, asked } => {
                write!(f, "a task registered {held} cannot register one {asked}")
            }
            Self::Accumulates { asked } => {
                write!(
                    f,
                    "a phaser that accumulates accepts {} only, not {asked}",
                    Mode::SignalWait
                )
            }
            Self::Signalled { phase } => {
                write!(f, "the task has already signalled phase {phase}")
            }
            Self::Operator { op } => write!(f, "{op:?} is not defined for values of this type"),
            Self::Scope => {
                f.write_str("the phaser belongs to a scope other than the one that the task joins")
            }
            Self::DoubleWait { phase } => {
                write!(
                    f,
                    "a wait for phase {phase}, which the task has not signalled"
                )
            }
            Self::Single { mode } => {
                let needed = Mode::SignalWaitSingle;
                write!(
                    f,
                    "next_single by a task registered {mode}: it requires {needed}"
                )
            }
            Self::NotRegistered => f.write_str("the task is not registered on this phaser"),
            Self::Overflow => write!(f, "phase {} is the last one", Phase::LAST),
            Self::Degree { degree } => write!(f, "degree {degree}: allowed are 2 to 1024"),
        }
    }
}

impl core::error::Error for PhaserError {}
