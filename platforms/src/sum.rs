//! The shortest form of a balanced computation: a sum over tasks.

use crate::Result;
use crate::glb::{Bag, Glb, Local, Observer, PlaceId, Run, Share, WorkerId, split_oldest};
use std::ops::AddAssign;

impl<F> Glb<'_, F> {
    /// Does `roots` and every task that they lead to, and adds up the results. `task` does one
    /// task: it pushes the remaining work onto the deque and returns its result.
    ///
    /// ```
    /// use tautline::prelude::*;
    ///
    /// let run = Glb::new().workers(2).sum([20u32], |n, todo| {
    ///     todo.extend([1, 2].into_iter().filter(|k| *k <= n).map(|k| n - k));
    ///     u64::from(n == 0)
    /// })?;
    /// assert_eq!(run.output, 10_946); // the ways to climb 20 stairs by ones and twos
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn sum<T, S, O>(
        &self,
        roots: impl IntoIterator<Item = T>,
        task: impl Fn(T, &mut Local<T>) -> S + Sync,
    ) -> Result<Run<S, O>>
    where
        F: Fn(PlaceId, WorkerId) -> O + Sync,
        O: Observer,
        T: Send,
        S: AddAssign + Default + Send,
    {
        let todo = roots.into_iter().collect();
        let bag = Sum {
            todo,
            sum: S::default(),
            task: &task,
        };
        self.run(bag, |_| (), S::default())
    }
}

/// Tasks that are done by one function, and their sum so far.
struct Sum<'a, T, S, D> {
    todo: Local<T>,
    sum: S,
    task: &'a D,
}

impl<T, S, D> Bag for Sum<'_, T, S, D>
where
    T: Send,
    S: AddAssign + Default + Send,
    D: Fn(T, &mut Local<T>) -> S + Sync,
{
    type Shared = ();
    type Output = S;

    fn process(&mut self, n: usize, (): &()) -> usize {
        for done in 0..n {
            let Some(task) = self.todo.pop() else {
                return done;
            };
            self.sum += (self.task)(task, &mut self.todo);
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let todo = split_oldest(&mut self.todo, share)?;
        let sum = S::default();
        let task = self.task;
        Some(Self { todo, sum, task })
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        self.sum += other.sum;
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn submit(self, output: &mut S) {
        *output += self.sum;
    }
}
