//! What a program can do wrong with a phaser.
#![forbid(unsafe_code)]

use super::{Mode, Op, Phase};
use core::fmt;

/// A misuse of a phaser. Nothing has happened then: the phaser and all registrations are as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaserError {
    /// A task registered as `held` cannot give a child `asked`.
    Capability {
        /// The parent's mode.
        held: Mode,
        /// The child's.
        asked: Mode,
    },
    /// A task that accumulates can only have children registered signal-wait.
    Accumulates {
        /// The child's mode.
        asked: Mode,
    },
    /// A value or a statement for a phase that the task has signalled already.
    Signalled {
        /// That phase.
        phase: Phase,
    },
    /// The operator is none for values of this type.
    Operator {
        /// The operator.
        op: Op,
    },
    /// The phaser was created under another finish than the one that the child would join.
    Scope,
    /// A second wait for a phase, without a signal in between.
    DoubleWait {
        /// The phase that the task has not signalled.
        phase: Phase,
    },
    /// `next_single` by a task that is registered otherwise.
    Single {
        /// How it is registered.
        mode: Mode,
    },
    /// The task is not registered on the phaser, or no longer.
    NotRegistered,
    /// The last phase that can be counted.
    Overflow,
    /// Nodes of a tree have at least 2 and at most 1024 children.
    Degree {
        /// What was asked for.
        degree: usize,
    },
    /// More leaves than a tiered phaser can have, or no tier.
    Tiers {
        /// How many tiers were asked for.
        tiers: usize,
        /// Of which degree.
        degree: usize,
    },
    /// A tiered phaser takes only tasks that wait, so that each leaf has somebody who gathers it.
    NobodyGathers {
        /// How the task would be registered.
        asked: Mode,
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
                    "a phaser that accumulates takes {} only, not {asked}",
                    Mode::SignalWait
                )
            }
            Self::Signalled { phase } => {
                write!(
                    f,
                    "too late for phase {phase}, which the task has signalled"
                )
            }
            Self::Operator { op } => write!(f, "{op:?} is no operator for this type of value"),
            Self::Scope => f.write_str(
                "the phaser was created under another finish than the one that the task joins",
            ),
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
                    "next_single by a task registered {mode}: it takes {needed}"
                )
            }
            Self::NotRegistered => f.write_str("the task is not registered on this phaser"),
            Self::Overflow => write!(f, "phase {} is the last one", Phase::LAST),
            Self::Degree { degree } => write!(f, "degree {degree}: allowed are 2 to 1024"),
            Self::Tiers { tiers, degree } => {
                write!(
                    f,
                    "{tiers} tiers of degree {degree}: allowed are 1 and more, and 65536 leaves"
                )
            }
            Self::NobodyGathers { asked } => {
                write!(f, "a tiered phaser takes tasks that wait, not {asked}")
            }
        }
    }
}

impl core::error::Error for PhaserError {}
