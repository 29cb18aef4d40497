//! Barriers that are measured, ours and a peer.

use tautline_cli::bench::{Kind, kinds};

/// Degrees of the trees.
pub(crate) const DEGREES: &[usize] = &[2, 4, 8];

/// All barriers for threads, that of hurdles last.
pub(crate) fn for_threads() -> Vec<Kind> {
    kinds(DEGREES)
}
