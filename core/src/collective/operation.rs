//! The operations whose values travel along the tree.

use super::wave::{Operation, Wave};
use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// No rank ends before all have begun.
pub type Barrier = Wave<Meet>;
/// Rank 0 ends with the combination of all values; the others end with `None` when theirs is sent.
pub type Reduce<T, F> = Wave<Combine<T, F>>;
/// All ranks end with the combination of all values.
pub type AllReduce<T, F> = Wave<CombineForAll<T, F>>;
/// Each rank ends with the combination of the values of all ranks before it; rank 0 with `None`.
pub type Scan<T, F> = Wave<CombineBefore<T, F>>;
/// Rank 0 ends with all values, by rank; the others end with `None` when theirs is sent.
pub type Gather<T> = Wave<Collect<T>>;
/// All ranks end with all values, by rank.
pub type AllGather<T> = Wave<CollectForAll<T>>;
/// All ranks end with the value of rank 0.
pub type Broadcast<T> = Wave<Copies<T>>;
/// Each rank ends with its value of those that rank 0 begins with, by rank.
pub type Scatter<T> = Wave<Deal<T>>;

/// See [`Barrier`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Meet;

impl Operation for Meet {
    type Own = ();
    type Up = ();
    type Down = ();
    type Output = ();

    fn combine(&mut self, (): (), _: Vec<()>) {}

    fn turn(&mut self, (): ()) {}

    fn spread(
        &mut self,
        (): (),
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<((), Vec<()>)> {
        Some(((), vec![(); sizes.len()]))
    }
}

/// See [`Reduce`]. The operator must be associative, and need not be commutative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Combine<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(T, T) -> T> Combine<T, F> {
    /// Creates the operation with this operator.
    pub fn by(operator: F) -> Self {
        Self(operator, PhantomData)
    }
}

impl<T, F: FnMut(T, T) -> T> Operation for Combine<T, F> {
    type Own = T;
    type Up = T;
    type Down = T;
    type Output = Option<T>;

    fn combine(&mut self, own: T, children: Vec<T>) -> T {
        children.into_iter().fold(own, &mut self.0)
    }

    fn turn(&mut self, all: T) -> T {
        all
    }

    fn spread(
        &mut self,
        all: T,
        _: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Option<T>, Vec<T>)> {
        Some((Some(all), Vec::new()))
    }

    fn passed(&mut self) -> Option<Option<T>> {
        Some(None)
    }
}

/// See [`AllReduce`]. The operator must be associative, and need not be commutative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombineForAll<T, F>(Combine<T, F>);

impl<T, F: FnMut(T, T) -> T> CombineForAll<T, F> {
    /// Creates the operation with this operator.
    pub fn by(operator: F) -> Self {
        Self(Combine::by(operator))
    }
}

impl<T: Clone, F: FnMut(T, T) -> T> Operation for CombineForAll<T, F> {
    type Own = T;
    type Up = T;
    type Down = T;
    type Output = T;

    fn combine(&mut self, own: T, children: Vec<T>) -> T {
        self.0.combine(own, children)
    }

    fn turn(&mut self, all: T) -> T {
        all
    }

    fn spread(
        &mut self,
        all: T,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<T>)> {
        let copies = vec![all.clone(); sizes.len()];
        Some((all, copies))
    }
}

/// See [`Scan`]. The operator must be associative, and need not be commutative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CombineBefore<T, F> {
    operator: F,
    /// The value of this rank, then those of its children's subtrees.
    parts: Vec<T>,
}

impl<T, F: FnMut(T, T) -> T> CombineBefore<T, F> {
    /// Creates the operation with this operator.
    pub fn by(operator: F) -> Self {
        let parts = Vec::new();
        Self { operator, parts }
    }
}

impl<T: Clone, F: FnMut(T, T) -> T> Operation for CombineBefore<T, F> {
    type Own = T;
    type Up = T;
    type Down = Option<T>;
    type Output = Option<T>;

    fn combine(&mut self, own: T, children: Vec<T>) -> T {
        self.parts.push(own.clone());
        self.parts.extend(children.iter().cloned());
        children.into_iter().fold(own, &mut self.operator)
    }

    fn turn(&mut self, _: T) -> Option<T> {
        None
    }

    fn spread(
        &mut self,
        before: Option<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Option<T>, Vec<Option<T>>)> {
        let mut sum = before.clone();
        let next = |part| {
            let next = match sum.take() {
                Some(sum) => (self.operator)(sum, part),
                None => part,
            };
            sum = Some(next.clone());
            Some(next)
        };
        let parts = self.parts.drain(..).take(sizes.len());
        Some((before, parts.map(next).collect()))
    }
}

/// See [`Gather`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collect<T>(PhantomData<T>);

impl<T> Default for Collect<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Operation for Collect<T> {
    type Own = T;
    type Up = Vec<T>;
    type Down = Vec<T>;
    type Output = Option<Vec<T>>;

    fn combine(&mut self, own: T, children: Vec<Vec<T>>) -> Vec<T> {
        let below = children.into_iter().flatten();
        core::iter::once(own).chain(below).collect()
    }

    fn turn(&mut self, all: Vec<T>) -> Vec<T> {
        all
    }

    fn spread(
        &mut self,
        all: Vec<T>,
        _: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Option<Vec<T>>, Vec<Vec<T>>)> {
        Some((Some(all), Vec::new()))
    }

    fn passed(&mut self) -> Option<Option<Vec<T>>> {
        Some(None)
    }
}

/// See [`AllGather`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CollectForAll<T>(Collect<T>);

impl<T> Default for CollectForAll<T> {
    fn default() -> Self {
        Self(Collect::default())
    }
}

impl<T: Clone> Operation for CollectForAll<T> {
    type Own = T;
    type Up = Vec<T>;
    type Down = Vec<T>;
    type Output = Vec<T>;

    fn combine(&mut self, own: T, children: Vec<Vec<T>>) -> Vec<T> {
        self.0.combine(own, children)
    }

    fn turn(&mut self, all: Vec<T>) -> Vec<T> {
        all
    }

    fn spread(
        &mut self,
        all: Vec<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Vec<T>, Vec<Vec<T>>)> {
        let copies = vec![all.clone(); sizes.len()];
        Some((all, copies))
    }
}

/// See [`Broadcast`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Copies<T>(PhantomData<T>);

impl<T> Default for Copies<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Clone> Operation for Copies<T> {
    type Own = T;
    type Up = T;
    type Down = T;
    type Output = T;

    const GATHERS: bool = false;

    fn combine(&mut self, own: T, _: Vec<T>) -> T {
        own
    }

    fn turn(&mut self, own: T) -> T {
        own
    }

    fn spread(
        &mut self,
        value: T,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<T>)> {
        let copies = vec![value.clone(); sizes.len()];
        Some((value, copies))
    }
}

/// See [`Scatter`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deal<T>(PhantomData<T>);

impl<T> Default for Deal<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Operation for Deal<T> {
    type Own = Vec<T>;
    type Up = Vec<T>;
    type Down = Vec<T>;
    type Output = T;

    const GATHERS: bool = false;

    fn combine(&mut self, own: Vec<T>, _: Vec<Vec<T>>) -> Vec<T> {
        own
    }

    fn turn(&mut self, own: Vec<T>) -> Vec<T> {
        own
    }

    fn spread(
        &mut self,
        values: Vec<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<Vec<T>>)> {
        let mut sizes = sizes.collect::<Vec<_>>();
        sizes.insert(0, 1);
        if sizes.iter().sum::<usize>() != values.len() {
            return None;
        }
        let mut values = values.into_iter();
        let mut parts = sizes
            .into_iter()
            .map(|size| values.by_ref().take(size).collect());
        let own: Vec<T> = parts.next()?;
        let below = parts.collect();
        Some((own.into_iter().next()?, below))
    }
}
