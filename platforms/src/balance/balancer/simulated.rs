//! Balanced computations in virtual time.

use super::Balancer;
use crate::Result;
use crate::balance::{Bag, Config, Control, GreedyBound, IntoBag, Local, Outcome, PlaceId};
use crate::error::refuse;
use crate::runtime::Builder;
use crate::setting::checked;
use crate::simulated::machines::Description;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use tautline_core::glb::Sum;
use tautline_sim::{Interim, Simulation};

/// A balanced computation on another machine in virtual time, created by [`Balancer::simulated`].
/// Feature `sim`.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Simulated<'a, 'm, F> {
    balancer: Balancer<'a, F>,
    machine: &'m Description,
    task_ns: u64,
}

impl<'a, F> Balancer<'a, F> {
    /// The maximum number of places of a simulation. Feature `sim`.
    pub const SIMULATED_MAX: u32 = 1 << 17;

    /// Runs on `machine` in virtual time: every task is done here, and is charged the time that it
    /// would take there, given that it takes `task_ns` nanoseconds here, which
    /// [`Run::task_ns`](crate::balance::Run::task_ns) measures. The [`deadline`](Self::deadline) is
    /// in virtual time; a [`control`](Self::control) stops it, too, but counts no progress;
    /// [reports](Self::progress) are in real time. No runtime is started. Feature `sim`.
    ///
    /// ```
    /// # use tautline::balance::{Control, Reason};
    /// # use tautline::prelude::*;
    /// # struct Node(u32);
    /// # impl Task for Node {
    /// #     type Shared = ();
    /// #     type Sum = u64;
    /// #     fn run(self, todo: &mut Local<Self>, leaves: &mut u64, (): &()) {
    /// #         match self.0 {
    /// #             0 => *leaves += 1,
    /// #             height => todo.extend([Node(height - 1), Node(height - 1)]),
    /// #         }
    /// #     }
    /// #     fn add(leaves: &mut u64, other: u64) {
    /// #         *leaves += other;
    /// #     }
    /// # }
    /// // As in the example of `Balancer::run`.
    /// let cluster = tautline::machines::find("cluster")?;
    /// let balancer = tautline::balancer().places(64);
    /// let outcome = balancer.clone().simulated(&cluster, 100).run([Node(12)], |_place| (), 0)?;
    /// assert_eq!(outcome.output, 4096);
    /// println!("{} ns, efficiency {:.2}", outcome.virtual_ns, outcome.efficiency);
    ///
    /// let control = Control::new();
    /// control.stop(Reason::Interrupted); // by any thread
    /// let stopped = balancer.control(&control).simulated(&cluster, 100);
    /// let outcome = stopped.run([Node(12)], |_place| (), 0)?;
    /// assert_eq!((outcome.complete, outcome.stopped), (false, Some(Reason::Interrupted)));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn simulated<'m>(self, machine: &'m Description, task_ns: u64) -> Simulated<'a, 'm, F> {
        Simulated {
            balancer: self,
            machine,
            task_ns,
        }
    }
}

impl<F> Simulated<'_, '_, F> {
    /// Returns all parameters, as [`run`](Self::run) will use them.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// let balancer = tautline::balancer().workers(1);
    /// let config = balancer.clone().places(64).simulated(&jaguar, 100).config()?;
    /// assert_eq!((config.places, config.random_steals), (64, 6));
    /// assert!(balancer.places(1 << 30).simulated(&jaguar, 100).config().is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first setting that is out of bounds, or more places than the machine has room for.
    pub fn config(&self) -> Result<Config> {
        let (balancer, machine) = (&self.balancer, self.machine);
        let workers = balancer.workers.unwrap_or(machine.workers as usize);
        let rules = match balancer.runtime {
            Some(runtime) => runtime.plan().rules,
            None => Builder::new().rules()?,
        };
        let config = checked(balancer.rules.or(&rules).over(Config {
            places: balancer.places.unwrap_or(1),
            workers,
            ..Config::default()
        }))?;
        let room = machine.places_max(config.workers as u32);
        let most = room.min(u64::from(<Balancer>::SIMULATED_MAX));
        if !(1..=most).contains(&u64::from(config.places)) {
            let name = &machine.name;
            let allowed = format!("from 1 to {most} of {} workers on {name}", config.workers);
            return refuse("places", config.places as usize, allowed);
        }
        Ok(config)
    }

    /// Does `roots` and every task that they lead to, and adds up the results, as [`Balancer::sum`]
    /// does.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let cluster = tautline::machines::find("cluster")?;
    /// let simulated = tautline::balancer().places(64).simulated(&cluster, 100);
    /// let outcome = simulated.sum([10u32], |height, todo| {
    ///     todo.extend(0..height);
    ///     1u64
    /// })?;
    /// assert_eq!(outcome.output, 1024);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn sum<T, S>(
        &self,
        roots: impl IntoIterator<Item = T>,
        task: impl Fn(T, &mut Local<T>) -> S + Sync,
    ) -> Result<Outcome<S>>
    where
        T: Send,
        S: AddAssign + Default + Send,
    {
        self.run(Sum::of(roots), |_| &task, S::default())
    }

    /// Runs `work`, as [`Balancer::run`] takes it.
    ///
    /// # Errors
    /// A setting out of bounds, or more places than the machine has room for.
    ///
    /// # Panics
    /// With the payload of the first panic of a task.
    pub fn run<W: IntoBag>(
        &self,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Outcome<<W::Bag as Bag>::Output>> {
        let bag = work.into_bag();
        let mut simulation = self.simulation()?;
        if let Some(after) = self.balancer.deadline {
            simulation = simulation.deadline_ns(after.as_nanos() as u64);
        }
        let alone = Control::new();
        let control = self.balancer.control.unwrap_or(&alone);
        let done = AtomicU64::new(0);
        let watch = |interim: Interim| {
            // ORDERING: Relaxed: a statistic.
            done.store(interim.tasks, Ordering::Relaxed);
            control.reason()
        };
        // ORDERING: Relaxed: a statistic.
        let tasks = || done.load(Ordering::Relaxed);
        let run = || {
            let outcome = simulation.run_watched(bag, shared, output, |_, _| (), &watch);
            // ORDERING: Relaxed: a statistic.
            done.store(outcome.tasks, Ordering::Relaxed);
            outcome
        };
        self.balancer.attended(control, None, tasks, run)
    }

    /// Returns the limit for the same tasks on as many workers, if balancing them cost nothing and
    /// took no time: a balancer that knows no more about the tasks exceeds this efficiency by
    /// chance only. The difference to 1 is a property of the tasks, of which too few are ready at
    /// times.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # struct Node(u32);
    /// # impl Task for Node {
    /// #     type Shared = ();
    /// #     type Sum = u64;
    /// #     fn run(self, todo: &mut Local<Self>, leaves: &mut u64, (): &()) {
    /// #         match self.0 {
    /// #             0 => *leaves += 1,
    /// #             height => todo.extend([Node(height - 1), Node(height - 1)]),
    /// #         }
    /// #     }
    /// #     fn add(leaves: &mut u64, other: u64) {
    /// #         *leaves += other;
    /// #     }
    /// # }
    /// // As in the example of `Balancer::run`.
    /// let cluster = tautline::machines::find("cluster")?;
    /// let simulated = tautline::balancer().places(64).simulated(&cluster, 20_000);
    /// let outcome = simulated.run([Node(12)], |_place| (), 0)?;
    /// let bound = simulated.bound([Node(12)], &())?;
    /// assert!(outcome.efficiency < bound.efficiency);
    /// let most = bound.efficiency * outcome.workers as f64;
    /// println!("{:.0} times as fast, of {:.0}", outcome.speedup(), most);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// With the payload of the first panic of a task.
    pub fn bound<W: IntoBag>(
        &self,
        work: W,
        shared: &<W::Bag as Bag>::Shared,
    ) -> Result<GreedyBound> {
        Ok(self.simulation()?.bound(work.into_bag(), shared))
    }

    fn simulation(&self) -> Result<Simulation> {
        let (config, machine) = (self.config()?, self.machine);
        let (places, workers) = (config.places, config.workers as u32);
        let costs = machine.machine(places, workers, machine.task_ns(self.task_ns));
        Ok(Simulation::new(config, costs))
    }
}
