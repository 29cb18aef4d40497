//! How large a tiered phaser is made.
#![forbid(unsafe_code)]

use crate::phaser::PhaserError;

const MOST_LEAVES: usize = 1 << 16;

/// How a tiered phaser is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiers {
    /// Levels of nodes; with 1 the root is the only leaf.
    pub tiers: usize,
    /// Children of a node, and tasks of a leaf while there is room elsewhere; 2 to 1024.
    pub degree: usize,
    /// After how many failed looks a node is gathered by who waits for it.
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
    /// How many leaves that makes.
    pub(super) fn leaves(self) -> Result<usize, PhaserError> {
        let Self { tiers, degree, .. } = self;
        if !(2..=1024).contains(&degree) {
            return Err(PhaserError::Degree { degree });
        }
        let above = tiers.checked_sub(1).and_then(|n| u32::try_from(n).ok());
        let leaves = above.and_then(|n| degree.checked_pow(n));
        leaves
            .filter(|leaves| *leaves <= MOST_LEAVES)
            .ok_or(PhaserError::Tiers { tiers, degree })
    }
}
