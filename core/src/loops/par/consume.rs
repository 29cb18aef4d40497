//! What a loop computes: its consumers.

use super::super::raw::{Consumer, Driven, Source, collect, try_collect};
use super::Par;
use super::accumulate::{Folding, Reducing, Summing};
use crate::port::Host;
use crate::task::Cx;
use alloc::vec::Vec;
use core::iter::{Sum, empty};
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range};

impl<P: Host, S: Source> Par<'_, '_, '_, P, S> {
    /// Calls `f` with each item. The order is not defined.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut numbers = vec![1; 1000];
    /// cx.par(&mut numbers).for_each(|n| *n += 1);
    /// assert_eq!(numbers, [2; 1000]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn for_each(self, f: impl Fn(S::Item) + Sync) {
        Driven::run(self.cx, &self.settings, self.source, Each(f));
    }

    /// Folds items into values that begin with what `identity` returns, and combines these values. How many there are is not
    /// defined, nor the order of items unless the loop is [`in_order`](Par::in_order).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let digits = cx.par(0..1000u32).fold(
    ///     || [0; 10],
    ///     |mut counts, i| {
    ///         counts[i as usize % 10] += 1;
    ///         counts
    ///     },
    ///     |a, b| core::array::from_fn(|digit| a[digit] + b[digit]),
    /// );
    /// assert_eq!(digits, [100; 10]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a function.
    pub fn fold<T: Send>(
        self,
        identity: impl Fn() -> T + Sync,
        fold: impl Fn(T, S::Item) -> T + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let how = Folding {
            identity: &identity,
            fold,
            merge: combine,
        };
        self.accumulate(&how).unwrap_or_else(&identity)
    }

    /// Combines the items by `op`, which is associative, and commutative unless the loop is [`in_order`](Par::in_order). Begins
    /// with `identity`, any number of times.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(1..11u64).reduce(|| 1, |a, b| a * b), 3_628_800);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a function.
    pub fn reduce(
        self,
        identity: impl Fn() -> S::Item + Sync,
        op: impl Fn(S::Item, S::Item) -> S::Item + Sync,
    ) -> S::Item
    where
        S::Item: Send,
    {
        self.fold(identity, &op, &op)
    }

    /// Combines the items by `op`, as [`reduce`](Self::reduce), without an identity. Returns `None` if there are no items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(vec![2.5, 0.5, 1.5]).reduce_with(f64::min), Some(0.5));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `op`.
    pub fn reduce_with(self, op: impl Fn(S::Item, S::Item) -> S::Item + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        self.accumulate(&Reducing(op))
    }

    /// Returns the sum of the items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(0..1000u64).sum::<u64>(), 499_500);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of an addition: integers may overflow.
    pub fn sum<T: Send + Sum<S::Item> + Sum<T>>(self) -> T {
        let sum = self.accumulate(&Summing(PhantomData));
        sum.unwrap_or_else(|| empty::<S::Item>().sum())
    }

    /// Returns a smallest item.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[3, 1, 2]).min(), Some(&1));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a comparison.
    pub fn min(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.reduce_with(Ord::min)
    }

    /// Returns a largest item.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[3, 1, 2]).max(), Some(&3));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a comparison.
    pub fn max(self) -> Option<S::Item>
    where
        S::Item: Ord + Send,
    {
        self.reduce_with(Ord::max)
    }

    /// Returns the number of items.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(0..1000).filter(|i| i % 7 == 0).count(), 143);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of an adaptor's function.
    pub fn count(self) -> usize {
        self.fold(|| 0, |count, _| count + 1, |a, b| a + b)
    }

    /// Returns whether `f` returns true for any item. As soon as it does, the rest of the loop is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert!(cx.par(0..u64::MAX).any(|i| i * i == 144));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn any(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        self.map(f).find_any(|is| *is).is_some()
    }

    /// Returns whether `f` returns true for all items. As soon as it does not, the rest of the loop is left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert!(!cx.par(0..u64::MAX).all(|i| i < 1000));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn all(self, f: impl Fn(S::Item) -> bool + Sync) -> bool {
        !self.any(|item| !f(item))
    }

    /// Returns an item for which `f` returns true, not necessarily the first. As soon as there is one, the rest of the loop is
    /// left out.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(&[3, 4, 5]).find_any(|n| **n % 2 == 0), Some(&4));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn find_any(self, f: impl Fn(&S::Item) -> bool + Sync) -> Option<S::Item>
    where
        S::Item: Send,
    {
        Driven::run(self.cx, &self.settings, self.source, Find(f))
    }

    /// Returns a vector of the items, in the order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let words = vec!["a".to_string(), "bc".to_string()];
    /// assert_eq!(cx.par(words).map(|word| word + "!").collect(), ["a!", "bc!"]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of an adaptor's function; items that were made by then are dropped.
    pub fn collect(self) -> Vec<S::Item>
    where
        S::Item: Send,
    {
        if S::IS_INDEXED {
            return collect(self.cx, &self.settings, self.source);
        }
        match try_collect(self.cx, &self.settings, self.source) {
            Ok(items) => items,
            Err(source) => {
                let pieces = Driven::run(self.cx, &self.settings, source, Pieces(PhantomData));
                concatenate(pieces)
            }
        }
    }
}

/// Calls a function with each item.
struct Each<F>(F);

impl<'s, 'e, P: Host, I, F: Fn(I) + Sync> Consumer<'s, 'e, P, I> for Each<F> {
    type Part = ();

    fn begin(&self) {}

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        (): &mut (),
        _: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<()> {
        items.for_each(&self.0);
        ControlFlow::Continue(())
    }

    fn combine(&self, (): (), (): ()) {}
}

/// Searches an item.
struct Find<F>(F);

impl<'s, 'e, P: Host, I: Send, F: Fn(&I) -> bool + Sync> Consumer<'s, 'e, P, I> for Find<F> {
    type Part = Option<I>;

    fn begin(&self) -> Option<I> {
        None
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Option<I>,
        _: Range<usize>,
        mut items: impl Iterator<Item = I>,
    ) -> ControlFlow<()> {
        *part = items.find(&self.0);
        match part {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn combine(&self, left: Option<I>, right: Option<I>) -> Option<I> {
        left.or(right)
    }
}

/// The items of consecutive indices.
struct Piece<T> {
    start: usize,
    end: usize,
    items: Vec<T>,
}

/// Collects items of more indices than there is memory for items.
struct Pieces<T>(PhantomData<fn() -> T>);

impl<'s, 'e, P: Host, T: Send> Consumer<'s, 'e, P, T> for Pieces<T> {
    type Part = Vec<Piece<T>>;

    fn begin(&self) -> Vec<Piece<T>> {
        Vec::new()
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Vec<Piece<T>>,
        indices: Range<usize>,
        items: impl Iterator<Item = T>,
    ) -> ControlFlow<()> {
        match part.last_mut().filter(|piece| piece.end == indices.start) {
            Some(piece) => {
                piece.items.extend(items);
                piece.end = indices.end;
            }
            None => part.push(Piece {
                start: indices.start,
                end: indices.end,
                items: items.collect(),
            }),
        }
        ControlFlow::Continue(())
    }

    fn combine(&self, mut left: Vec<Piece<T>>, mut right: Vec<Piece<T>>) -> Vec<Piece<T>> {
        left.append(&mut right);
        left
    }
}

/// Returns the items of all pieces in the order of their indices.
fn concatenate<T>(mut pieces: Vec<Piece<T>>) -> Vec<T> {
    pieces.sort_unstable_by_key(|piece| piece.start);
    let len: usize = pieces.iter().map(|piece| piece.items.len()).sum();
    let mut pieces = pieces.into_iter();
    let mut all = pieces.next().map_or_else(Vec::new, |piece| piece.items);
    all.reserve_exact(len - all.len());
    for mut piece in pieces {
        all.append(&mut piece.items);
    }
    all
}
