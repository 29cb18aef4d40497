//! Operations whose values begin or end at rank 0 alone. All of them go up and down the tree of
//! ranks, as the others do: a rank that had only sent its value could run ahead of rank 0 by any
//! number of calls, which would have to be kept.

use tautline_core::collective::{Deal, Operation};

/// An operation whose result rank 0 has; the others are notified only of its completion.
pub(crate) struct AtRoot<O: Operation> {
    operation: O,
    /// At rank 0.
    all: Option<O::Up>,
}

impl<O: Operation> AtRoot<O> {
    /// Creates the operation that combines values as `operation` does.
    pub(crate) fn of(operation: O) -> Self {
        Self {
            operation,
            all: None,
        }
    }
}

impl<O: Operation> Operation for AtRoot<O> {
    type Own = O::Own;
    type Up = O::Up;
    type Down = ();
    type Output = Option<O::Up>;

    fn combine(&mut self, own: O::Own, children: Vec<O::Up>) -> O::Up {
        self.operation.combine(own, children)
    }

    fn turn(&mut self, all: O::Up) {
        self.all = Some(all);
    }

    fn spread(
        &mut self,
        (): (),
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Option<O::Up>, Vec<()>)> {
        Some((self.all.take(), vec![(); sizes.len()]))
    }
}

/// Values of rank 0, one for each rank, which it sends when all ranks have made the call.
pub(crate) struct FromRoot<T> {
    values: Vec<T>,
}

impl<T> FromRoot<T> {
    /// Creates the operation with these values, which count at rank 0.
    pub(crate) fn of(values: Vec<T>) -> Self {
        Self { values }
    }
}

impl<T> Operation for FromRoot<T> {
    type Own = ();
    type Up = ();
    type Down = Vec<T>;
    type Output = T;

    fn combine(&mut self, (): (), _: Vec<()>) {}

    fn turn(&mut self, (): ()) -> Vec<T> {
        std::mem::take(&mut self.values)
    }

    fn spread(
        &mut self,
        values: Vec<T>,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<Vec<T>>)> {
        Deal::default().spread(values, sizes)
    }
}

/// A value of rank 0, which it sends to all when all ranks have made the call.
pub(crate) struct FromRootToAll<T> {
    value: Option<T>,
}

impl<T> FromRootToAll<T> {
    /// Creates the operation with this value, which counts at rank 0.
    pub(crate) fn of(value: T) -> Self {
        Self { value: Some(value) }
    }
}

impl<T: Clone> Operation for FromRootToAll<T> {
    type Own = ();
    type Up = ();
    type Down = T;
    type Output = T;

    fn combine(&mut self, (): (), _: Vec<()>) {}

    fn turn(&mut self, (): ()) -> T {
        self.value.take().expect("it turns once")
    }

    fn spread(
        &mut self,
        value: T,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(T, Vec<T>)> {
        let all = vec![value.clone(); sizes.len()];
        Some((value, all))
    }
}
