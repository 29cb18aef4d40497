//! Misuses of a baseline phaser.
#![forbid(unsafe_code)]

use core::fmt;
use tautline_core::phaser::{Mode, PhaserError};

/// A misuse of a baseline phaser. The call has no effect on the phaser and its registrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineError {
    /// A misuse of any phaser.
    Phaser(PhaserError),
    /// The number of tiers is zero, or gives more leaves than a tiered phaser can have.
    Tiers {
        /// The number of tiers requested.
        tiers: usize,
        /// Their degree.
        degree: usize,
    },
    /// A tiered phaser accepts only tasks that wait, so that each leaf has a task that gathers it.
    SignalOnly {
        /// The mode requested.
        asked: Mode,
    },
}

impl From<PhaserError> for BaselineError {
    fn from(error: PhaserError) -> Self {
        Self::Phaser(error)
    }
}

impl fmt::Display for BaselineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phaser(error) => error.fmt(f),
            Self::Tiers { tiers, degree } => write!(
                f,
                "{tiers} tiers of degree {degree}: at least 1 tier and at most 65536 leaves are allowed"
            ),
            Self::SignalOnly { asked } => {
                write!(f, "a tiered phaser accepts tasks that wait, not {asked}")
            }
        }
    }
}

impl core::error::Error for BaselineError {}
