//! The size of a tiered phaser.
#![forbid(unsafe_code)]

use super::error::BaselineError;
use tautline_core::phaser::PhaserError;

const MOST_LEAVES: usize = 1 << 16;

/// The configuration of a tiered phaser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Levels of nodes; with 1 the root is the only leaf.
    pub tiers: usize,
    /// Children of a node, and tasks of a leaf while another leaf has room; 2 to 1024.
    pub degree: usize,
    /// Failed polls after which a task that waits for a node gathers it.
    pub help_after: u32,
}

impl Default for Tiers {
    fn default() -> Self {
        Self {
            tiers: 2,
            degree: 4,
            help_after: 1000,
        }
    }
}

impl Tiers {
    /// Returns the number of leaves.
    pub(super) fn leaves(self) -> Result<usize, BaselineError> {
        let Self { tiers, degree, .. } = self;
        if !(2..=1024).contains(&degree) {
            return Err(PhaserError::Degree { degree }.into());
        }
        let above = tiers.checked_sub(1).and_then(|n| u32::try_from(n).ok());
        let leaves = above.and_then(|n| degree.checked_pow(n));
        leaves
            .filter(|leaves| *leaves <= MOST_LEAVES)
            .ok_or(BaselineError::Tiers { tiers, degree })
    }
}
