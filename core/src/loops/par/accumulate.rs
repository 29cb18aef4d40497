//! Reductions, in any order or in a fixed one.

use super::super::body::LeaveOut;
use super::super::raw::{Blocks, Consumer, Driven, Fold, Source, collect};
use super::Par;
use crate::port::Host;
use crate::task::Cx;
use core::iter::{Product, Sum};
use core::marker::PhantomData;
use core::ops::{ControlFlow, Range};

/// The largest number of blocks of a reduction in a fixed order: enough for hundreds of workers,
/// and a small part of the work if each has many items.
const BLOCKS: usize = 4096;

/// The combination of items into one value.
pub(super) trait Accumulate<I>: Sync {
    /// The result.
    type Value: Send;

    /// Adds `items` to `value`. Returns `None` if there was neither.
    fn add(
        &self,
        value: Option<Self::Value>,
        items: impl Iterator<Item = I>,
    ) -> Option<Self::Value>;

    /// Combines two values.
    fn merge(&self, left: Self::Value, right: Self::Value) -> Self::Value;

    /// Combines the values that there are.
    fn merge_some(
        &self,
        left: Option<Self::Value>,
        right: Option<Self::Value>,
    ) -> Option<Self::Value> {
        match (left, right) {
            (Some(left), Some(right)) => Some(self.merge(left, right)),
            (one, None) | (None, one) => one,
        }
    }
}

impl<P: Host, S: Source> Par<'_, '_, '_, P, S> {
    /// Returns the combination of all items by `how`; `None` without items.
    pub(super) fn accumulate<A: Accumulate<S::Item>>(self, how: &A) -> Option<A::Value> {
        if self.in_order {
            let source = Blocks::new(self.source, BLOCKS, Block(how));
            let blocks = collect(self.cx, &self.settings, source);
            let count = blocks.len();
            tree(how, &mut blocks.into_iter().flatten(), count)
        } else {
            Driven::run(self.cx, &self.settings, self.source, Unordered(how))
        }
    }
}

/// Combines the next `count` values by a tree that depends on their number only.
fn tree<I, A: Accumulate<I>>(
    how: &A,
    values: &mut impl Iterator<Item = A::Value>,
    count: usize,
) -> Option<A::Value> {
    if count <= 1 {
        return values.take(count).next();
    }
    let left = tree(how, values, count - count / 2);
    let right = tree(how, values, count / 2);
    how.merge_some(left, right)
}

/// Makes a value of a block.
struct Block<'a, A>(&'a A);

impl<I, A: Accumulate<I>> Fold<I> for Block<'_, A> {
    type Value = Option<A::Value>;

    #[inline]
    fn fold(&self, items: impl Iterator<Item = I>) -> Option<A::Value> {
        self.0.add(None, items)
    }
}

/// Accumulates items in the order in which they are taken.
struct Unordered<'a, A>(&'a A);

impl<'s, 'e, P: Host, I, A: Accumulate<I>> Consumer<'s, 'e, P, I> for Unordered<'_, A> {
    type Part = Option<A::Value>;

    fn begin(&self) -> Option<A::Value> {
        None
    }

    #[inline]
    fn take(
        &self,
        _: &mut Cx<'s, 'e, P>,
        part: &mut Option<A::Value>,
        _: Range<usize>,
        items: impl Iterator<Item = I>,
    ) -> ControlFlow<LeaveOut> {
        *part = self.0.add(part.take(), items);
        ControlFlow::Continue(())
    }

    fn combine(&self, left: Option<A::Value>, right: Option<A::Value>) -> Option<A::Value> {
        self.0.merge_some(left, right)
    }
}

/// Folds items into values that begin with an identity.
pub(super) struct Folding<N, F, M> {
    pub(super) identity: N,
    pub(super) fold: F,
    pub(super) merge: M,
}

impl<I, T, N, F, M> Accumulate<I> for Folding<N, F, M>
where
    T: Send,
    N: Fn() -> T + Sync,
    F: Fn(T, I) -> T + Sync,
    M: Fn(T, T) -> T + Sync,
{
    type Value = T;

    #[inline]
    fn add(&self, value: Option<T>, items: impl Iterator<Item = I>) -> Option<T> {
        let value = value.unwrap_or_else(&self.identity);
        Some(items.fold(value, &self.fold))
    }

    fn merge(&self, left: T, right: T) -> T {
        (self.merge)(left, right)
    }
}

/// Combines the items themselves.
pub(super) struct Reducing<F>(pub(super) F);

impl<T: Send, F: Fn(T, T) -> T + Sync> Accumulate<T> for Reducing<F> {
    type Value = T;

    #[inline]
    fn add(&self, value: Option<T>, items: impl Iterator<Item = T>) -> Option<T> {
        match value {
            Some(value) => Some(items.fold(value, &self.0)),
            None => items.reduce(&self.0),
        }
    }

    fn merge(&self, left: T, right: T) -> T {
        (self.0)(left, right)
    }
}

/// Sums items.
pub(super) struct Summing<S>(pub(super) PhantomData<fn() -> S>);

impl<I, S: Send + Sum<I> + Sum<S>> Accumulate<I> for Summing<S> {
    type Value = S;

    #[inline]
    fn add(&self, value: Option<S>, items: impl Iterator<Item = I>) -> Option<S> {
        let sum = items.sum();
        Some(match value {
            Some(value) => Accumulate::<I>::merge(self, value, sum),
            None => sum,
        })
    }

    #[inline]
    fn merge(&self, left: S, right: S) -> S {
        [left, right].into_iter().sum()
    }
}

/// Multiplies items.
pub(super) struct Multiplying<T>(pub(super) PhantomData<fn() -> T>);

impl<I, T: Send + Product<I> + Product<T>> Accumulate<I> for Multiplying<T> {
    type Value = T;

    #[inline]
    fn add(&self, value: Option<T>, items: impl Iterator<Item = I>) -> Option<T> {
        let product = items.product();
        Some(match value {
            Some(value) => Accumulate::<I>::merge(self, value, product),
            None => product,
        })
    }

    #[inline]
    fn merge(&self, left: T, right: T) -> T {
        [left, right].into_iter().product()
    }
}
