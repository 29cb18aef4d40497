//! Two sources by one claim.

use super::super::{Claimed, Indexed, PerIndex, Source};

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

impl<A: Indexed, B: Indexed> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type State = (A::State, B::State);
    const PER_INDEX: PerIndex = PerIndex::One;

    fn len(&self) -> usize {
        self.first.len().min(self.second.len())
    }

    fn begin(&self) -> Self::State {
        (self.first.begin(), self.second.begin())
    }

    #[inline]
    fn items(
        &self,
        claimed: Claimed,
        (first, second): &mut Self::State,
    ) -> impl Iterator<Item = Self::Item> {
        // SAFETY: the new claim is passed to the second source only, and the given one to the
        // first; they are different values, owned by this one, and receive no other claims.
        let again = unsafe { Claimed::new(claimed.indices()) };
        let firsts = self.first.items(claimed, first);
        firsts.zip(self.second.items(again, second))
    }
}

impl<A: Indexed, B: Indexed> Indexed for Zip<A, B> {}

/// The items of a source, then those of another.
#[derive(Debug)]
pub struct Chain<A, B> {
    first: A,
    second: B,
}

impl<A: Source, B: Source> Chain<A, B> {
    /// # Panics
    /// If there are more than `usize::MAX` indices.
    pub fn new(first: A, second: B) -> Self {
        let len = first.len().checked_add(second.len());
        assert!(len.is_some(), "a loop longer than usize::MAX");
        Self { first, second }
    }
}

impl<A: Source, B: Source<Item = A::Item>> Source for Chain<A, B> {
    type Item = A::Item;
    type State = (A::State, B::State);
    const PER_INDEX: PerIndex = A::PER_INDEX.or(B::PER_INDEX);

    fn len(&self) -> usize {
        self.first.len() + self.second.len()
    }

    fn begin(&self) -> Self::State {
        (self.first.begin(), self.second.begin())
    }

    #[inline]
    fn items(
        &self,
        claimed: Claimed,
        (first, second): &mut Self::State,
    ) -> impl Iterator<Item = A::Item> {
        let (indices, len) = (claimed.indices(), self.first.len());
        let firsts = indices.start.min(len)..indices.end.min(len);
        let seconds = indices.start.max(len) - len..indices.end.max(len) - len;
        // SAFETY: each claimed index is one of the first source or, less its length, one of the
        // second, so the claims on these are as exclusive as the given one. Each is passed to its
        // source, which receives no others.
        let (firsts, seconds) = unsafe { (Claimed::new(firsts), Claimed::new(seconds)) };
        let items = self.first.items(firsts, first);
        items.chain(self.second.items(seconds, second))
    }
}

impl<A: Indexed, B: Indexed<Item = A::Item>> Indexed for Chain<A, B> {}
