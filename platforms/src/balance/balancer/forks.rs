//! Balanced computations whose work forks.

use super::Balancer;
use crate::Result;
use crate::balance::{Bag, Observer, PlaceId, Run, WorkerId};
use crate::execution::runtime::Cx;

impl<F> Balancer<'_, F> {
    /// As [`run`](Self::run), with a task context for the processing of the bag: `process` is
    /// called in place of [`Bag::process`], by the same rules, and may fork, run loops and wait. So
    /// workers without a task of the bag help with long ones. `process` may call `Bag::process`,
    /// for its short tasks for example.
    ///
    /// ```
    /// # use tautline::balance::Share;
    /// # use tautline::prelude::*;
    /// # impl Bag for Vectors {
    /// #     type Shared = ();
    /// #     type Output = u64;
    /// #     fn process(&mut self, _: usize, (): &()) -> usize {
    /// #         unreachable!("the computation calls the other one")
    /// #     }
    /// #     fn split(&mut self, share: Share) -> Option<Self> {
    /// #         let taken = share.of(self.todo.len());
    /// #         (taken > 0).then(|| Self { todo: self.todo.drain(..taken).collect(), sum: 0 })
    /// #     }
    /// #     fn merge(&mut self, other: Self) {
    /// #         self.todo.extend(other.todo);
    /// #         self.sum += other.sum;
    /// #     }
    /// #     fn len(&self) -> usize {
    /// #         self.todo.len()
    /// #     }
    /// #     fn submit(self, output: &mut u64) {
    /// #         *output += self.sum;
    /// #     }
    /// # }
    /// /// Vectors whose items are to be added up; the methods of `Bag` are left out.
    /// struct Vectors {
    ///     todo: Vec<Vec<u64>>,
    ///     sum: u64,
    /// }
    ///
    /// let process = |bag: &mut Vectors, n: usize, (): &(), cx: &mut Cx| {
    ///     let vectors = bag.todo.split_off(bag.todo.len().saturating_sub(n));
    ///     bag.sum += vectors.iter().map(|vector| cx.par(vector).sum::<u64>()).sum::<u64>();
    ///     vectors.len()
    /// };
    /// let vectors = Vectors { todo: vec![vec![1; 10], vec![2; 100_000]], sum: 0 };
    /// let run = tautline::balancer().run_with(process, vectors, |_place| (), 0)?;
    /// assert_eq!(run.output, 200_010);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run), also with a panic of what `process` has forked.
    pub fn run_with<B: Bag, O: Observer>(
        &self,
        process: impl Fn(&mut B, usize, &B::Shared, &mut Cx<'_, '_>) -> usize + Sync,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Run<B::Output, O>>
    where
        F: Fn(PlaceId, WorkerId) -> O,
    {
        let run = self.start(|balancer| balancer.run_with(process, bag, shared, output))?;
        Ok(run.expect("there is no scope around it that could be cancelled"))
    }
}
