//! Two sources by one claim.

use super::{Claimed, Indexed, Source};

/// Pairs of the items of two sources; as many as the shorter one has.
#[derive(Debug)]
pub struct Zip<A, B> {
    first: A,
    second: B,
}

impl<A, B> Zip<A, B> {
    pub fn new(first: A, second: B) -> Self {
        Self { first, second }
    }
}

impl<A: Source, B: Source> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);
    const IS_INDEXED: bool = A::IS_INDEXED && B::IS_INDEXED;

    fn len(&self) -> usize {
        self.first.len().min(self.second.len())
    }

    #[inline]
    fn items(&self, claimed: Claimed) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the new claim is passed to the second source only, and the given one to the first; they are different values,
        // owned by this one, and receive no other claims.
        let again = unsafe { Claimed::new(claimed.indices()) };
        self.first.items(claimed).zip(self.second.items(again))
    }
}

impl<A: Indexed, B: Indexed> Indexed for Zip<A, B> {}
