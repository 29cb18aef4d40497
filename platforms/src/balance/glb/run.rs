//! The first methods of a computation: its creation, and its run.

use super::setup::{Ground, Setup};
use super::sum::Sum;
use super::{Bag, Control, Glb, IntoBag, Local, Observer, PlaceId, Run, Unobserved, WorkerId};
use crate::execution::plan::Builder;
use crate::setting::Rules;
use crate::{Machine, Result};
use std::ops::AddAssign;
use std::sync::Arc;

fn unobserved(_: PlaceId, _: WorkerId) {}

impl<'a> Glb<'a> {
    /// Creates a computation on the processors that [`Machine::discover`] finds, with the settings of
    /// the environment.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let run = Glb::new().sum(1..=10u64, |n, _todo| n)?;
    /// assert_eq!(run.output, 55);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::with(Builder::new())
    }

    /// Creates a computation on the processors of `machine`.
    pub fn on(machine: &Machine) -> Self {
        Self::with(Builder::on(machine.clone()))
    }

    /// Creates a computation on a dedicated runtime with the settings of `builder`.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let glb = Glb::with(Runtime::builder().workers(2).pinned(false));
    /// assert_eq!(glb.sum(0..100u64, |n, _| n)?.output, 4950);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn with(builder: Builder) -> Self {
        Self::over(Ground::Own(Box::new(builder), Arc::default()))
    }

    pub(super) fn over(ground: Ground<'a>) -> Self {
        Self {
            setup: Setup {
                ground,
                places: None,
                workers: None,
                rules: Rules::default(),
                deadline: None,
            },
            control: None,
            reports: None,
            is_interruptible: false,
            observe: unobserved as Unobserved,
        }
    }
}

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
        self.run(Sum::of(roots), |_| &task, S::default())
    }

    /// Runs `work` to the end: an array or a vector of [`Task`](super::Task)s, or a [`Bag`]. `shared` creates the value that
    /// the workers of a place share; the results are added to `output`.
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
    /// let run = Glb::new().run([Node(12)], |_place| (), 0)?;
    /// assert_eq!(run.output, 4096);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A setting out of bounds, a file that cannot be written, or a thread for [`progress`](Self::progress) or interrupts that the system
    /// refuses; nothing has run then.
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
        let bag = work.into_bag();
        let alone = Control::new();
        let (runtime, balance) = self.balance(&alone)?;
        let control = balance.control;
        let run = || runtime.run(|cx| cx.balance_as(balance, bag, shared, output));
        let run = self.attended(control, self.setup.deadline, || control.done() as u64, run)?;
        Ok(run.expect("there is no scope around it that could be cancelled"))
    }
}

impl Default for Glb<'_> {
    fn default() -> Self {
        Self::new()
    }
}
