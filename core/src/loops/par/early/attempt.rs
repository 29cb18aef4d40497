//! Bodies that may fail.

use super::super::super::raw::Source;
use super::super::Par;
use super::super::accumulate::Accumulate;
use super::Wanted;
use crate::port::Host;
use core::marker::PhantomData;
use core::ops::ControlFlow;

/// The result of a body that may fail: `Result`, `Option` or `ControlFlow`.
pub trait Try: Sized {
    /// The value of a body that has not failed.
    type Output;

    /// The result if a body has failed.
    type Failure;

    /// Makes a value of an output.
    fn from_output(output: Self::Output) -> Self;

    /// Makes a value of a failure.
    fn from_failure(failure: Self::Failure) -> Self;

    /// Returns the output, or breaks with the failure.
    fn branch(self) -> ControlFlow<Self::Failure, Self::Output>;

    /// Returns whether this is a failure.
    fn has_failed(&self) -> bool;
}

impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Failure = E;

    fn from_output(output: T) -> Self {
        Ok(output)
    }

    fn from_failure(failure: E) -> Self {
        Err(failure)
    }

    #[inline]
    fn branch(self) -> ControlFlow<E, T> {
        match self {
            Ok(output) => ControlFlow::Continue(output),
            Err(failure) => ControlFlow::Break(failure),
        }
    }

    fn has_failed(&self) -> bool {
        self.is_err()
    }
}

impl<T> Try for Option<T> {
    type Output = T;
    type Failure = ();

    fn from_output(output: T) -> Self {
        Some(output)
    }

    fn from_failure((): ()) -> Self {
        None
    }

    #[inline]
    fn branch(self) -> ControlFlow<(), T> {
        match self {
            Some(output) => ControlFlow::Continue(output),
            None => ControlFlow::Break(()),
        }
    }

    fn has_failed(&self) -> bool {
        self.is_none()
    }
}

impl<B, C> Try for ControlFlow<B, C> {
    type Output = C;
    type Failure = B;

    fn from_output(output: C) -> Self {
        Self::Continue(output)
    }

    fn from_failure(failure: B) -> Self {
        Self::Break(failure)
    }

    #[inline]
    fn branch(self) -> Self {
        self
    }

    fn has_failed(&self) -> bool {
        self.is_break()
    }
}

impl<P: Host, S: Source> Par<'_, '_, '_, P, S> {
    /// Calls `f` with each item, unless it fails. As soon as it does, items after that one are left
    /// out, of a loop that is [`in_order`](Par::in_order) those of the same block. The failure that
    /// is returned is the first in the order of the source.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let check = |text: &'static str| text.parse::<i32>().map(drop).map_err(|_| text);
    /// assert_eq!(cx.par(&["1", "2", "3"]).copied().try_for_each(check), Ok(()));
    /// assert_eq!(cx.par(&["1", "b", "c"]).copied().try_for_each(check), Err("b"));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `f`.
    pub fn try_for_each<R>(self, f: impl Fn(S::Item) -> R + Sync) -> R
    where
        R: Try<Output = (), Failure: Send>,
    {
        self.try_fold(|| (), |(), item| f(item), |(), ()| R::from_output(()))
    }

    /// Folds items as [`fold`](Self::fold), unless a function fails. As soon as `fold` does, items
    /// after that one are left out, as by [`try_for_each`](Self::try_for_each). The failure that is
    /// returned is the first in the order of the source, if it is one of `fold`.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut sum = |numbers: &[u8]| {
    ///     let numbers = cx.par(numbers).copied();
    ///     numbers.try_fold(|| 0, u8::checked_add, u8::checked_add)
    /// };
    /// assert_eq!(sum(&[100, 100]), Some(200));
    /// assert_eq!(sum(&[100, 100, 100]), None);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a function.
    pub fn try_fold<R>(
        self,
        identity: impl Fn() -> R::Output + Sync,
        fold: impl Fn(R::Output, S::Item) -> R + Sync,
        combine: impl Fn(R::Output, R::Output) -> R + Sync,
    ) -> R
    where
        R: Try<Output: Send, Failure: Send>,
    {
        let how = Attempting {
            identity: &identity,
            fold,
            combine,
            result: PhantomData::<fn() -> R>,
        };
        let folded = match self.in_order {
            true => self.accumulate(&how),
            false => self.breaking(&how, Wanted::First),
        };
        match folded {
            None => R::from_output(identity()),
            Some(ControlFlow::Continue(output)) => R::from_output(output),
            Some(ControlFlow::Break(failure)) => R::from_failure(failure),
        }
    }

    /// Combines the outputs of the items by `op`, as [`reduce`](Self::reduce), unless an item has
    /// failed or `op` does; then as [`try_fold`](Self::try_fold).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let numbers = cx.par(&["3", "4"]).map(|text| text.parse::<u8>().ok());
    /// assert_eq!(numbers.try_reduce(|| 1, u8::checked_mul), Some(12));
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of a function.
    pub fn try_reduce<T: Send>(
        self,
        identity: impl Fn() -> T + Sync,
        op: impl Fn(T, T) -> S::Item + Sync,
    ) -> S::Item
    where
        S::Item: Try<Output = T, Failure: Send>,
    {
        let fold = |value, item: S::Item| match item.branch() {
            ControlFlow::Continue(output) => op(value, output),
            ControlFlow::Break(failure) => S::Item::from_failure(failure),
        };
        self.try_fold(identity, fold, &op)
    }
}

/// Folds items by functions that may fail.
struct Attempting<N, F, M, R> {
    identity: N,
    fold: F,
    combine: M,
    result: PhantomData<fn() -> R>,
}

impl<I, N, F, M, R> Accumulate<I> for Attempting<N, F, M, R>
where
    R: Try<Output: Send, Failure: Send>,
    N: Fn() -> R::Output + Sync,
    F: Fn(R::Output, I) -> R + Sync,
    M: Fn(R::Output, R::Output) -> R + Sync,
{
    type Value = ControlFlow<R::Failure, R::Output>;

    #[inline]
    fn add(
        &self,
        value: Option<Self::Value>,
        mut items: impl Iterator<Item = I>,
    ) -> Option<Self::Value> {
        Some(match value {
            Some(ControlFlow::Break(failure)) => ControlFlow::Break(failure),
            Some(ControlFlow::Continue(value)) => {
                items.try_fold(value, |value, item| (self.fold)(value, item).branch())
            }
            None => items.try_fold((self.identity)(), |value, item| {
                (self.fold)(value, item).branch()
            }),
        })
    }

    fn merge(&self, left: Self::Value, right: Self::Value) -> Self::Value {
        match (left, right) {
            (ControlFlow::Continue(left), ControlFlow::Continue(right)) => {
                (self.combine)(left, right).branch()
            }
            (ControlFlow::Break(failure), _) | (_, ControlFlow::Break(failure)) => {
                ControlFlow::Break(failure)
            }
        }
    }
}
