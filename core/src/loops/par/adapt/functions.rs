//! Sources that apply functions to the items of others.

use super::super::super::raw::{Claimed, Indexed, PerIndex, Source};
use super::super::Try;
use crate::sync::{AtomicUsize, Ordering};
use core::iter;
use core::marker::PhantomData;

/// The results of a function for the items of a source.
#[derive(Debug)]
pub struct Map<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, R, F: Fn(S::Item) -> R + Sync> Source for Map<S, F> {
    type Item = R;
    type State = S::State;
    const PER_INDEX: PerIndex = S::PER_INDEX;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = R> {
        self.source.items(claimed, state).map(&self.f)
    }
}

impl<S: Indexed, R, F: Fn(S::Item) -> R + Sync> Indexed for Map<S, F> {}

/// The results of a function of the items of a source and of a value that the items of a part
/// share.
#[derive(Debug)]
pub struct MapInit<S, T, N, F> {
    source: S,
    init: N,
    f: F,
    made: PhantomData<fn() -> T>,
}

impl<S, T, N, F> MapInit<S, T, N, F> {
    pub(super) fn new(source: S, init: N, f: F) -> Self {
        Self {
            source,
            init,
            f,
            made: PhantomData,
        }
    }
}

impl<S, T, R, N, F> Source for MapInit<S, T, N, F>
where
    S: Source,
    N: Fn() -> T + Sync,
    F: Fn(&mut T, S::Item) -> R + Sync,
{
    type Item = R;
    type State = (S::State, Option<T>);
    const PER_INDEX: PerIndex = S::PER_INDEX;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> Self::State {
        (self.source.begin(), None)
    }

    #[inline]
    fn items(
        &self,
        claimed: Claimed,
        (state, shared): &mut Self::State,
    ) -> impl Iterator<Item = R> {
        let shared = shared.get_or_insert_with(&self.init);
        let items = self.source.items(claimed, state);
        items.map(|item| (self.f)(shared, item))
    }
}

impl<S, T, R, N, F> Indexed for MapInit<S, T, N, F>
where
    S: Indexed,
    N: Fn() -> T + Sync,
    F: Fn(&mut T, S::Item) -> R + Sync,
{
}

/// The items of a source that satisfy a predicate.
#[derive(Debug)]
pub struct Filter<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, F: Fn(&S::Item) -> bool + Sync> Source for Filter<S, F> {
    type Item = S::Item;
    type State = S::State;
    const PER_INDEX: PerIndex = S::PER_INDEX.filtered();

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = S::Item> {
        self.source.items(claimed, state).filter(&self.f)
    }
}

/// The results of a function for some items of a source.
#[derive(Debug)]
pub struct FilterMap<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, R, F: Fn(S::Item) -> Option<R> + Sync> Source for FilterMap<S, F> {
    type Item = R;
    type State = S::State;
    const PER_INDEX: PerIndex = S::PER_INDEX.filtered();

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = R> {
        self.source.items(claimed, state).filter_map(&self.f)
    }
}

/// The items of the collections that a function makes of the items of a source.
#[derive(Debug)]
pub struct FlatMap<S, F> {
    pub(super) source: S,
    pub(super) f: F,
}

impl<S: Source, R: IntoIterator, F: Fn(S::Item) -> R + Sync> Source for FlatMap<S, F> {
    type Item = R::Item;
    type State = S::State;
    const PER_INDEX: PerIndex = PerIndex::Any;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = R::Item> {
        self.source.items(claimed, state).flat_map(&self.f)
    }
}

/// The items of a source up to one that has failed, and others before it. Items that are above one
/// that has failed may be missing; none below it are.
#[derive(Debug)]
pub(crate) struct UntilFailure<S> {
    pub(super) source: S,
    /// The least first index of a claim with an item that has failed.
    pub(super) failed: AtomicUsize,
}

impl<S: Source<Item: Try>> Source for UntilFailure<S> {
    type Item = S::Item;
    type State = S::State;
    const PER_INDEX: PerIndex = S::PER_INDEX.filtered();

    fn len(&self) -> usize {
        self.source.len()
    }

    fn begin(&self) -> S::State {
        self.source.begin()
    }

    #[inline]
    fn is_over(&self, from: usize) -> bool {
        // ORDERING: Relaxed: a hint; a value that is out of date is higher, and leaves out less.
        from > self.failed.load(Ordering::Relaxed)
    }

    #[inline]
    fn items(&self, claimed: Claimed, state: &mut S::State) -> impl Iterator<Item = S::Item> {
        let start = claimed.indices().start;
        let mut items = Some(self.source.items(claimed, state));
        iter::from_fn(move || {
            let item = items.as_mut()?.next()?;
            if item.has_failed() {
                // ORDERING: Relaxed: as the load.
                self.failed.fetch_min(start, Ordering::Relaxed);
                items = None;
            }
            Some(item)
        })
    }
}
