//! Fixed blocks of a source.

use super::{Claimed, Indexed, PerIndex, Source};

/// A source as blocks of equal length, each of which `fold` makes one value of; the last one may be
/// shorter.
#[derive(Debug)]
pub(crate) struct Blocks<S, F> {
    source: S,
    size: usize,
    fold: F,
}

impl<S: Source, F> Blocks<S, F> {
    /// Divides `source` into `most` blocks at most. The division depends on its length only.
    pub(crate) fn new(source: S, most: usize, fold: F) -> Self {
        let size = source.len().div_ceil(most).max(1);
        Self { source, size, fold }
    }
}

/// The function that combines the items of a block into one value.
pub(crate) trait Fold<I>: Sync {
    /// The value of a block.
    type Value;

    /// Makes one value of all items.
    fn fold(&self, items: impl Iterator<Item = I>) -> Self::Value;
}

impl<S: Source, F: Fold<S::Item>> Source for Blocks<S, F> {
    type Item = F::Value;
    type State = S::State;
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.source.len().div_ceil(self.size)
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = F::Value> {
        let len = self.source.len();
        claimed.indices().map(move |block| {
            let start = len.min(block.saturating_mul(self.size));
            let indices = start..len.min(start.saturating_add(self.size));
            // SAFETY: blocks are disjoint, so the claim on the number of a block is the claim on
            // its indices. The closure is called once for each claimed number, and the inner source
            // receives no other claims.
            let claimed = unsafe { Claimed::new(indices) };
            self.fold.fold(self.source.items(claimed, state))
        })
    }
}

impl<S: Source, F: Fold<S::Item>> Indexed for Blocks<S, F> {}
