//! The tree of ranks.

use crate::id::Rank;
use alloc::vec::Vec;
use core::ops::Range;

/// The latency of a message, and the interval at which a rank can send messages, in about the same
/// unit: only the ratio matters.
const LATENCY: u64 = 10;
const GAP: u64 = 1;

/// The position of a rank in the tree: its subtree is a range of ranks, of which it is the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Branch {
    here: Rank,
    parent: Option<Rank>,
    /// The subtrees of the children.
    below: Vec<Range<u32>>,
}

impl Branch {
    /// Returns the position of `here` among `ranks`, in a tree in which values travel soon over
    /// common networks.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn of(here: Rank, ranks: u32) -> Self {
        Self::new(here, ranks, radix(ranks, LATENCY, GAP))
    }

    /// Returns the position of `here` among `ranks`, each of which has at most `radix` children.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or if `radix` is zero.
    pub fn new(here: Rank, ranks: u32, radix: u32) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks} ranks");
        assert!(radix > 0, "each inner rank has a child");
        let (mut parent, mut range) = (None, 0..ranks);
        loop {
            let below = divided(range.start + 1..range.end, radix);
            if here.0 == range.start {
                return Self {
                    here,
                    parent,
                    below,
                };
            }
            parent = Some(Rank(range.start));
            let mut below = below.into_iter();
            let next = below.find(|child| child.contains(&here.0));
            range = next.expect("the children's ranges cover all but the first rank");
        }
    }

    /// Returns the rank whose position it is.
    pub fn here(&self) -> Rank {
        self.here
    }

    /// Returns the parent; `None` at rank 0.
    pub fn parent(&self) -> Option<Rank> {
        self.parent
    }

    /// Returns the children, in order.
    pub fn children(&self) -> impl ExactSizeIterator<Item = Rank> + '_ {
        self.below.iter().map(|range| Rank(range.start))
    }

    /// Returns the number of ranks in each child's subtree.
    pub fn sizes(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.below.iter().map(ExactSizeIterator::len)
    }

    /// Returns the position of `rank` among the children.
    pub(super) fn child(&self, rank: Rank) -> Option<usize> {
        self.children().position(|child| child == rank)
    }
}

/// Returns the radix of the tree in which a value travels soonest from rank 0 to all ranks, if a
/// message takes `latency`, and a rank sends one message every `gap`: the smallest that minimizes
/// the depth times what a level takes, `latency + radix * gap`.
///
/// ```
/// use tautline_core::collective::radix;
/// assert_eq!(radix(1000, 100, 100), 3);
/// // Rank 0 sends to all ranks itself if messages cost it nothing.
/// assert_eq!(radix(1000, 100, 0), 999);
/// ```
pub fn radix(ranks: u32, latency: u64, gap: u64) -> u32 {
    let cost = |radix: u32| {
        let level = u128::from(latency) + u128::from(radix) * u128::from(gap);
        u128::from(depth(ranks, radix)) * level
    };
    (2..ranks.max(3))
        .min_by_key(|&radix| cost(radix))
        .unwrap_or(2)
}

/// Returns the number of levels below rank 0.
fn depth(ranks: u32, radix: u32) -> u32 {
    let (mut depth, mut level, mut all) = (0, 1_u64, 1_u64);
    while all < u64::from(ranks) {
        level = level.saturating_mul(u64::from(radix));
        all = all.saturating_add(level);
        depth += 1;
    }
    depth
}

/// Divides a range into at most `parts`, whose lengths differ by one at most. None is empty.
fn divided(range: Range<u32>, parts: u32) -> Vec<Range<u32>> {
    let parts = parts.min(range.len() as u32);
    let mut begin = range.start;
    let part = |i| {
        let len = (range.end - begin).div_ceil(parts - i);
        let part = begin..begin + len;
        begin = part.end;
        part
    };
    (0..parts).map(part).collect()
}
