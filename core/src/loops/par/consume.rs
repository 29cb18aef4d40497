//! Consumers: the methods that run a loop and return its result.

use super::super::body::LeaveOut;
use super::super::raw::{Consumer, Driven, Source};
use super::Par;
use super::accumulate::{Folding, Multiplying, Reducing, Summing};
use crate::port::Host;
use crate::task::Cx;
use core::iter::{Product, Sum, empty};
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

    /// Folds items into values that begin with what `identity` returns, and combines these values.
    /// Their number is not defined, nor the order of items unless the loop is
    /// [`in_order`](Par::in_order).
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

    /// Combines the items by `op`, which is associative, and commutative unless the loop is
    /// [`in_order`](Par::in_order). Begins with `identity`, any number of times.
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

    /// Combines the items by `op`, as [`reduce`](Self::reduce), without an identity. Returns `None`
    /// if there are no items.
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

    /// Calls `f` with each item and a value made by `init`, as [`map_init`](Par::map_init).
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let letters = AtomicUsize::new(0);
    /// cx.par(0..100).for_each_init(String::new, |buffer, _| {
    ///     buffer.push('x');
    ///     letters.fetch_add(1, Ordering::Relaxed);
    /// });
    /// assert_eq!(letters.into_inner(), 100);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a function.
    #[doc(alias = "for_each_with")]
    pub fn for_each_init<T>(self, init: impl Fn() -> T + Sync, f: impl Fn(&mut T, S::Item) + Sync) {
        self.map_init(init, f).for_each(|()| ());
    }

    /// Returns the sum of the items. Rounding errors of floating-point numbers depend on how the
    /// workers have divided the loop, unless it is [`in_order`](Par::in_order): then the sum has
    /// the same bits in every run.
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

    /// Returns the product of the items; of floating-point numbers as [`sum`](Self::sum).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// assert_eq!(cx.par(1..=10u64).product::<u64>(), 3_628_800);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a multiplication: integers may overflow.
    pub fn product<T: Send + Product<S::Item> + Product<T>>(self) -> T {
        let product = self.accumulate(&Multiplying(PhantomData));
        product.unwrap_or_else(|| empty::<S::Item>().product())
    }

    /// Returns a smallest item. Of several that are equal, which one is not defined, unless the
    /// loop is [`in_order`](Par::in_order): then the first.
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

    /// Returns a largest item. Of several that are equal, which one is not defined, unless the loop
    /// is [`in_order`](Par::in_order): then the last.
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
    ) -> ControlFlow<LeaveOut> {
        items.for_each(&self.0);
        ControlFlow::Continue(())
    }

    fn combine(&self, (): (), (): ()) {}
}
