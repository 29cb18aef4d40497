//! Balanced computations over the ranks of a program.

use super::Balancer;
use crate::balance::{Bag, IntoBag, Local, Observer, PlaceId, Run, WorkerId};
use crate::observe::story::Recorder;
use crate::ranks::error::RankError;
use crate::ranks::world::World;
use crate::{Error, Result};
use std::ops::AddAssign;
use std::panic::Location;
use std::time::Duration;
use tautline_core::balance::Across as Ranks;
use tautline_core::glb::Sum;
use tautline_core::wire::Portable;

/// A balanced computation over all ranks of a [`World`], created by [`Balancer::across`]. Feature
/// `serde`.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Across<'a, 'w, F> {
    balancer: Balancer<'a, F>,
    world: &'w World,
}

impl<'a, F> Balancer<'a, F> {
    /// Runs over all ranks of `world`. Feature `serde`. The settings are those of each rank, which
    /// all should have alike: with two places of three workers, four ranks have eight places and 24
    /// workers.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let runs = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
    ///     let run = rt.balancer().across(world).sum(0..100u64, |n, _todo| n)?;
    ///     Ok::<_, tautline::Error>((run.output, run.places.len()))
    /// });
    /// for run in runs {
    ///     assert_eq!(run?, (4950, 3));
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// Each rank of a process needs a runtime of its own. By default only the first runtime of a
    /// process would pin its workers: [`pinned(false)`](crate::runtime::Builder::pinned) leaves the
    /// choice to the system.
    pub fn across<'w>(self, world: &'w World) -> Across<'a, 'w, F> {
        let balancer = self;
        Across { balancer, world }
    }
}

impl<F> Across<'_, '_, F> {
    /// Runs rank 0's `work` to the end, as [`Balancer::run`]; the other ranks' is dropped. Every
    /// rank makes this call, and ends with the same output and statistics. `shared` creates the
    /// value that the workers of a place of this rank share; the results are added to `output`.
    ///
    /// If a rank stops the computation, all stop, and the output is what all of them had found.
    ///
    /// A bag of the program's own derives `Serialize` and `Deserialize`, and owns its data; what it
    /// only reads belongs into `shared`. Its encoding is at most 256 MiB. It should implement
    /// [`drop_tasks`](Bag::drop_tasks), or the result of a computation that was stopped carries all
    /// tasks that were left. Observers are those of this rank. Several threads of a rank that run
    /// computations over one world must do so in the same order as those of the other ranks.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// /// A node of a tree, by its height; it travels between ranks.
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Node(u32);
    ///
    /// impl Task for Node {
    ///     type Shared = ();
    ///     type Sum = u64;
    ///
    ///     fn run(self, todo: &mut Local<Self>, nodes: &mut u64, (): &()) {
    ///         *nodes += 1;
    ///         todo.extend((0..self.0).map(Node));
    ///     }
    ///
    ///     fn add(nodes: &mut u64, other: u64) {
    ///         *nodes += other;
    ///     }
    /// }
    ///
    /// let runs = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
    ///     rt.balancer().across(world).run([Node(10)], |_place| (), 0)
    /// });
    /// for run in runs {
    ///     assert_eq!(run?.output, 1024);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A setting out of bounds, a runtime that serves another rank, or a file that cannot be
    /// written: then this rank should end, as the others wait until it does. While it runs: the
    /// loss of a rank, a panic at another rank, or ranks that do not make the same calls.
    ///
    /// # Panics
    /// With the payload of the first panic of a task at this rank, after its workers have stopped.
    #[track_caller]
    pub fn run<W, O>(
        &self,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Run<<W::Bag as Bag>::Output, O>>
    where
        W: IntoBag<Bag: Portable + 'static>,
        O: Observer,
        F: Fn(PlaceId, WorkerId) -> O,
    {
        let site = Location::caller();
        let exchange = self.world.exchange();
        let address = std::ptr::from_ref(exchange).addr();
        let serve = || {
            self.balancer
                .runtime()?
                .serves()
                .serve(self.world.rank(), address)
        };
        let _serving = (self.world.ranks() > 1).then(serve).transpose()?;
        let ranks = Ranks { exchange, site };
        let run = self
            .balancer
            .start(|balancer| balancer.across(&ranks, work, shared, output))?;
        run.map_err(|error| Error::Rank(RankError::balanced(error, self.world.rank())))
    }

    /// Adds the workers and observers of the other ranks to rank 0's `run`, in the order of places,
    /// with the times of all on the clock of rank 0; leaves those of the others empty. Every rank
    /// makes this call, with the result of [`run`](Self::run) or [`sum`](Self::sum) of this very
    /// value, whose runtime has the clock. Returns the maximum clock error, at rank 0 that of any.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::story::{Life, Recorder, Written};
    /// use tautline::world;
    ///
    /// let pages = world::loopback(2, |world| {
    ///     let watch = |_, _| Recorder { life: Some(Life::default()), trace: None };
    ///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
    ///     let balancer = rt.balancer().observed(watch).across(world);
    ///     let mut run = balancer.sum(0..100u64, |n, _| n)?;
    ///     balancer.collect(&mut run)?;
    ///     assert_eq!(run.observers.len(), if world.is_home() { 2 } else { 0 });
    ///     // run.write_life("life.html")? at rank 0 draws the workers of both
    ///     Ok::<_, tautline::Error>(())
    /// });
    /// pages.into_iter().collect::<Result<(), _>>()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The loss of a rank, a panic at another rank, or ranks that do not make the same calls. `run`
    /// is unchanged then.
    pub fn collect<T>(&self, run: &mut Run<T, Recorder>) -> Result<Duration> {
        let runtime = self.balancer.runtime()?;
        let offset = self.world.clock_offset(|| runtime.now())?;
        let mut observers = run.observers.clone();
        for (_, _, recorder) in &mut observers {
            recorder.shift(offset.ticks);
        }
        let own = (run.workers.clone(), observers, offset.error);
        let all = self.world.gather(own)?;
        (run.workers, run.observers) = Default::default();
        let mut most = offset.error;
        for (workers, observers, error) in all.unwrap_or_default() {
            run.workers.extend(workers);
            run.observers.extend(observers);
            most = most.max(error);
        }
        Ok(Duration::from_secs_f64(most as f64 / run.ticks_per_second))
    }

    /// Does rank 0's `roots` and every task that they lead to, and adds up the results, as
    /// [`Balancer::sum`] does. Every rank has its own `task`, which must own what it uses.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world;
    ///
    /// let runs = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().workers(1).pinned(false).build()?;
    ///     rt.balancer().across(world).sum([10u32], |height, todo| {
    ///         todo.extend(0..height);
    ///         1u64
    ///     })
    /// });
    /// for run in runs {
    ///     assert_eq!(run?.output, 1024);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn sum<T, S, O, D>(&self, roots: impl IntoIterator<Item = T>, task: D) -> Result<Run<S, O>>
    where
        F: Fn(PlaceId, WorkerId) -> O,
        O: Observer,
        T: Portable + 'static,
        S: AddAssign + Default + Portable + 'static,
        D: Fn(T, &mut Local<T>) -> S + Clone + Send + Sync + 'static,
    {
        self.run(Sum::of(roots), |_| task.clone(), S::default())
    }
}
