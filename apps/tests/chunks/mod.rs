//! Settings of a search over ranks: chunks and intervals of fixed sizes.

/// The trees with their nodes.
const TREES: [(&str, u64); 2] = [("T1", 4_130_071), ("T3", 4_112_897)];

/// A tree, and how it is divided among ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) tree: &'static str,
    pub(crate) nodes: u64,
    pub(crate) ranks: u32,
    /// Of each rank.
    pub(crate) workers: usize,
    /// The nodes that a thief gets, `--steal`; one along whose lifeline work comes later gets its
    /// share instead.
    pub(crate) chunk: usize,
    /// The nodes that a worker counts between two polls, at which it sets a chunk aside unless one
    /// is: `--grain`.
    pub(crate) interval: usize,
}

/// Returns every combination of 1 to 4 ranks, 1 and 2 workers, three chunks and three intervals,
/// for each tree.
pub(crate) fn all() -> Vec<Setting> {
    let mut all = Vec::new();
    for (tree, nodes) in TREES {
        for (ranks, workers) in (1..=4).flat_map(|ranks| [(ranks, 1), (ranks, 2)]) {
            for (chunk, interval) in [4, 8, 15]
                .into_iter()
                .flat_map(|c| [(c, 4), (c, 8), (c, 16)])
            {
                all.push(Setting {
                    tree,
                    nodes,
                    ranks,
                    workers,
                    chunk,
                    interval,
                });
            }
        }
    }
    all
}
