//! The bag of a program that has single tasks: a place-local deque of them and a running sum.

use crate::deque::Local;
use crate::glb::{Bag, Reason, Share};
use crate::lifeline::Bound;

/// A task that can be done anywhere, on its own, and may leave further tasks.
pub trait Task: Sized + Send {
    /// What all workers of a place see, one value a place.
    type Shared: Sync;
    /// What comes of the tasks; its default is the sum over none.
    type Sum: Default + Send;

    /// Does the task: what is found goes into `sum`, what is left to do onto `todo`.
    fn run(self, todo: &mut Local<Self>, sum: &mut Self::Sum, shared: &Self::Shared);

    /// Adds what another part of the computation found. Order must not matter.
    fn add(sum: &mut Self::Sum, other: Self::Sum);

    /// The bound that prunes this computation, if it has one.
    fn bound(_shared: &Self::Shared) -> Option<&Bound> {
        None
    }

    /// A reason to end the computation, given what has been found here.
    fn verdict(_sum: &Self::Sum) -> Option<Reason> {
        None
    }
}

/// Tasks to do and what has come of those done. The owner works depth first; thieves get the oldest
/// tasks, whose subtrees are the largest (Saraswat 2011).
#[derive(Debug)]
pub struct Tasks<T: Task> {
    todo: Local<T>,
    sum: T::Sum,
}

impl<T: Task> FromIterator<T> for Tasks<T> {
    /// The roots of a computation.
    fn from_iter<I: IntoIterator<Item = T>>(roots: I) -> Self {
        Self {
            todo: roots.into_iter().collect(),
            sum: T::Sum::default(),
        }
    }
}

impl<T: Task> Bag for Tasks<T> {
    type Shared = T::Shared;
    type Output = T::Sum;

    #[inline]
    fn process(&mut self, n: usize, shared: &T::Shared) -> usize {
        for done in 0..n {
            let Some(task) = self.todo.pop() else {
                return done;
            };
            task.run(&mut self.todo, &mut self.sum, shared);
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        (taken > 0).then(|| Self {
            todo: self.todo.steal(taken).into(),
            sum: T::Sum::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        T::add(&mut self.sum, other.sum);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn bound(shared: &T::Shared) -> Option<&Bound> {
        T::bound(shared)
    }

    fn verdict(&self) -> Option<Reason> {
        T::verdict(&self.sum)
    }

    fn submit(self, output: &mut T::Sum) {
        T::add(output, self.sum);
    }
}
