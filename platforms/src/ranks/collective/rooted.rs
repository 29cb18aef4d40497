//! Operations whose values begin or end at one rank, the root. All of them go up and down the tree
//! of ranks, as the others do: a rank that had only sent its value could run ahead of the root by
//! any number of calls, which would have to be kept.

use tautline_core::Rank;
use tautline_core::collective::{Deal, Operation};

/// An operation whose result the root has; the others are notified only of its completion.
pub(crate) struct AtRoot<O: Operation> {
    operation: O,
    here: Rank,
    root: Rank,
}

impl<O: Operation> AtRoot<O> {
    /// Creates the part of `here` in the operation that combines values as `operation` does.
    pub(super) fn new(here: Rank, root: Rank, operation: O) -> Self {
        Self {
            operation,
            here,
            root,
        }
    }
}

impl<O: Operation> Operation for AtRoot<O> {
    type Own = O::Own;
    type Up = O::Up;
    /// The result, for the subtree that contains the root.
    type Down = Option<O::Up>;
    type Output = Option<O::Up>;

    fn combine(&mut self, own: O::Own, children: Vec<O::Up>) -> O::Up {
        self.operation.combine(own, children)
    }

    fn turn(&mut self, all: O::Up) -> Option<O::Up> {
        Some(all)
    }

    fn spread(
        &mut self,
        mut all: Option<O::Up>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Option<O::Up>, Vec<Option<O::Up>>)> {
        let own = all.take_if(|_| self.here == self.root);
        let mut below = 0..u64::from(self.here.0) + 1;
        let part = |size| {
            below = below.end..below.end + size as u64;
            all.take_if(|_| below.contains(&u64::from(self.root.0)))
        };
        let parts = sizes.map(part).collect();
        // A result for a subtree without the root, or none for the root.
        let is_lost = all.is_some() || self.here == self.root && own.is_none();
        (!is_lost).then_some((own, parts))
    }
}

/// Values of the root, one for each rank, which are sent when all ranks have made the call.
pub(crate) struct FromRoot<T>(Deal<T>);

impl<T> Default for FromRoot<T> {
    fn default() -> Self {
        Self(Deal::default())
    }
}

impl<T> Operation for FromRoot<T> {
    /// The values, at the root.
    type Own = Option<Vec<T>>;
    type Up = Option<Vec<T>>;
    type Down = Vec<T>;
    type Output = T;

    fn combine(&mut self, own: Option<Vec<T>>, children: Vec<Option<Vec<T>>>) -> Option<Vec<T>> {
        children.into_iter().fold(own, Option::or)
    }

    fn turn(&mut self, all: Option<Vec<T>>) -> Vec<T> {
        all.unwrap_or_default()
    }

    fn spread(
        &mut self,
        values: Vec<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<Vec<T>>)> {
        self.0.spread(values, sizes)
    }
}

/// A value of the root, which is sent to all when all ranks have made the call.
pub(crate) struct FromRootToAll<T>(std::marker::PhantomData<T>);

impl<T> Default for FromRootToAll<T> {
    fn default() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Clone> Operation for FromRootToAll<T> {
    /// The value, at the root.
    type Own = Option<T>;
    type Up = Option<T>;
    type Down = Option<T>;
    type Output = T;

    fn combine(&mut self, own: Option<T>, children: Vec<Option<T>>) -> Option<T> {
        children.into_iter().fold(own, Option::or)
    }

    fn turn(&mut self, all: Option<T>) -> Option<T> {
        all
    }

    fn spread(
        &mut self,
        value: Option<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<Option<T>>)> {
        let all = vec![value.clone(); sizes.len()];
        Some((value?, all))
    }
}
