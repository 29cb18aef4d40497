//! Some of the indices of a source, in another order or not.

use super::super::{Claimed, Indexed, PerIndex, Source};
use core::ops::Range;

/// Consecutive indices of a source.
#[derive(Debug)]
pub struct Within<S> {
    source: S,
    within: Range<usize>,
}

impl<S: Indexed> Within<S> {
    /// Selects the indices of `within` that the source has.
    pub fn new(source: S, within: Range<usize>) -> Self {
        let end = within.end.min(source.len());
        let within = within.start.min(end)..end;
        Self { source, within }
    }
}

impl<S: Indexed> Source for Within<S> {
    type Item = S::Item;
    type State = S::State;
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.within.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = S::Item> {
        let Range { start, end } = claimed.indices();
        assert!(end <= self.within.len());
        let indices = self.within.start + start..self.within.start + end;
        // SAFETY: an index of the source corresponds to one index of this one, so the claim on the
        // latter is the claim on the former. The source receives no other claims.
        let claimed = unsafe { Claimed::new(indices) };
        self.source.items(claimed, state)
    }
}

impl<S: Indexed> Indexed for Within<S> {}

/// An index of a source for each index.
pub trait Order: Sync {
    /// Returns the number of `len` indices of the source that are selected.
    fn len(&self, len: usize) -> usize;

    /// Returns the index of the source for `index`, which is below the number of those selected.
    fn at(&self, index: usize, len: usize) -> usize;
}

/// All indices, from the last to the first.
#[derive(Debug)]
pub struct Backwards;

impl Order for Backwards {
    fn len(&self, len: usize) -> usize {
        len
    }

    #[inline]
    fn at(&self, index: usize, len: usize) -> usize {
        len - 1 - index
    }
}

/// The first index, and each that is a multiple of the step after it.
#[derive(Debug)]
pub struct Step(pub usize);

impl Order for Step {
    fn len(&self, len: usize) -> usize {
        len.div_ceil(self.0)
    }

    #[inline]
    fn at(&self, index: usize, _: usize) -> usize {
        index * self.0
    }
}

/// The items of a source in an order.
#[derive(Debug)]
pub struct Ordered<S, O> {
    source: S,
    order: O,
}

impl<S: Indexed> Ordered<S, Backwards> {
    pub fn backwards(source: S) -> Self {
        let order = Backwards;
        Self { source, order }
    }
}

impl<S: Indexed> Ordered<S, Step> {
    /// Selects every `step`-th index of `source`; `step` is positive.
    pub fn steps(source: S, step: usize) -> Self {
        let order = Step(step);
        Self { source, order }
    }
}

impl<S: Indexed, O: Order> Source for Ordered<S, O> {
    type Item = S::Item;
    type State = S::State;
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.order.len(self.source.len())
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = S::Item> {
        let len = self.source.len();
        claimed.indices().map(move |index| {
            let at = self.order.at(index, len);
            // SAFETY: both orders map different indices to different ones, and the range yields
            // each claimed index once, so this is the only claim on `at`.
            let claimed = unsafe { Claimed::new(at..at + 1) };
            let mut items = self.source.items(claimed, state);
            items.next().expect("an item for each index")
        })
    }
}

impl<S: Indexed, O: Order> Indexed for Ordered<S, O> {}
