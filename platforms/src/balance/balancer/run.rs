//! The ends of a computation on a runtime.

use super::Balancer;
use crate::Result;
use crate::balance::{Bag, IntoBag, Local, Observer, PlaceId, Run, WorkerId};
use std::ops::AddAssign;
use tautline_core::glb::Sum;

impl<F> Balancer<'_, F> {
    /// Does `roots` and every task that they lead to, and adds up the results. `task` does one
    /// task: it pushes the remaining work onto the deque and returns its result.
    ///
    /// ```
    /// use tautline::prelude::*;
    ///
    /// let run = tautline::balancer().sum([20u32], |n, todo| {
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
        self.run(Sum::of(roots), |_| &task, S::default())
    }

    /// Runs `work` to the end: an array or a vector of [`Task`](crate::balance::Task)s, or a
    /// [`Bag`]. `shared` creates the value that the workers of a place share; the results are added
    /// to `output`.
    ///
    /// ```
    /// use tautline::prelude::*;
    ///
    /// /// A node of a binary tree, by its height above the leaves, which are counted.
    /// struct Node(u32);
    ///
    /// impl Task for Node {
    ///     type Shared = ();
    ///     type Sum = u64;
    ///
    ///     fn run(self, todo: &mut Local<Self>, leaves: &mut u64, (): &()) {
    ///         match self.0 {
    ///             0 => *leaves += 1,
    ///             height => todo.extend([Node(height - 1), Node(height - 1)]),
    ///         }
    ///     }
    ///
    ///     fn add(leaves: &mut u64, other: u64) {
    ///         *leaves += other;
    ///     }
    /// }
    ///
    /// let run = tautline::balancer().run([Node(12)], |_place| (), 0)?;
    /// assert_eq!(run.output, 4096);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A setting out of bounds, a file that cannot be written, or a thread for
    /// [`progress`](Self::progress) or interrupts that the system refuses; nothing has run then.
    ///
    /// # Panics
    /// With the payload of the first panic of a task, after all workers have stopped.
    pub fn run<W: IntoBag, O: Observer>(
        &self,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Run<<W::Bag as Bag>::Output, O>>
    where
        F: Fn(PlaceId, WorkerId) -> O,
    {
        let run = self.start(|balancer| balancer.run(work, shared, output))?;
        Ok(run.expect("there is no scope around it that could be cancelled"))
    }
}
