//! Balanced computations in virtual time.

use super::{Bag, Config, Control, Glb, GreedyBound, Ground, IntoBag, Outcome, PlaceId, checked};
use crate::Result;
use crate::error::refuse;
use crate::simulated::machines::Description;
use std::sync::atomic::{AtomicU64, Ordering};
use tautline_sim::{Interim, Simulation};

impl<F> Glb<'_, F> {
    /// The maximum number of places of a simulation. Feature `sim`.
    pub const SIMULATED_MAX: u32 = 1 << 17;

    /// Returns all parameters, as [`simulate`](Self::simulate) will use them. Feature `sim`.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let jaguar = tautline::machines::find("jaguar")?;
    /// let config = Glb::new().places(64).workers(1).config_on(&jaguar)?;
    /// assert_eq!((config.places, config.random_steals), (64, 6));
    /// assert!(Glb::new().places(1 << 30).config_on(&jaguar).is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config_on(&self, machine: &Description) -> Result<Config> {
        let workers = self.setup.workers.unwrap_or(machine.workers as usize);
        let rules = match &self.setup.ground {
            Ground::Lent(runtime) => runtime.plan().rules,
            Ground::Own(builder, _) => builder.rules()?,
        };
        let config = checked(self.setup.rules.or(&rules).over(Config {
            places: self.setup.places.unwrap_or(1),
            workers,
            ..Config::default()
        }))?;
        let room = machine.places_max(config.workers as u32);
        let most = room.min(u64::from(Self::SIMULATED_MAX));
        if !(1..=most).contains(&u64::from(config.places)) {
            let name = &machine.name;
            let allowed = format!("from 1 to {most} of {} workers on {name}", config.workers);
            return refuse("places", config.places as usize, allowed);
        }
        Ok(config)
    }

    /// Runs `work`, as [`run`](Self::run) takes it, on another machine in virtual time: every task is done here, and is charged
    /// the time that it would take there, given that it takes `task_ns` nanoseconds here, which
    /// [`Run::task_ns`](super::Run::task_ns) measures. The [`deadline`](Self::deadline) is in virtual time; a
    /// [`control`](Self::control) stops it, too, but counts no progress; [reports](Self::progress) are in real time. Feature
    /// `sim`.
    ///
    /// ```
    /// # use tautline::glb::{Control, Reason};
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
    /// // As in the example of `run`.
    /// let cluster = tautline::machines::find("cluster")?;
    /// let outcome = Glb::new().places(64).simulate(&cluster, 100, [Node(12)], |_place| (), 0)?;
    /// assert_eq!(outcome.output, 4096);
    /// println!("{} ns, efficiency {:.2}", outcome.virtual_ns, outcome.efficiency);
    ///
    /// let control = Control::new();
    /// control.stop(Reason::Interrupted); // by any thread
    /// let glb = Glb::new().places(64).control(&control);
    /// let outcome = glb.simulate(&cluster, 100, [Node(12)], |_place| (), 0)?;
    /// assert_eq!((outcome.complete, outcome.stopped), (false, Some(Reason::Interrupted)));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A setting out of bounds, or more places than the machine has room for.
    ///
    /// # Panics
    /// With the payload of the first panic of a task.
    pub fn simulate<W: IntoBag>(
        &self,
        machine: &Description,
        task_ns: u64,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Outcome<<W::Bag as Bag>::Output>> {
        let bag = work.into_bag();
        let mut simulation = self.simulation(machine, task_ns)?;
        if let Some(after) = self.setup.deadline {
            simulation = simulation.deadline_ns(after.as_nanos() as u64);
        }
        let alone = Control::new();
        let control = self.control.unwrap_or(&alone);
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
        self.attended(control, None, tasks, run)
    }

    /// Returns what the same tasks would take on as many workers if balancing them cost nothing and took no time: a balancer that knows
    /// no more about the tasks exceeds this efficiency by chance only. What is missing to 1 is a property of the tasks, of which too few are
    /// ready at times. Feature `sim`.
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
    /// // As in the example of `run`.
    /// let cluster = tautline::machines::find("cluster")?;
    /// let glb = Glb::new().places(64);
    /// let outcome = glb.simulate(&cluster, 20_000, [Node(12)], |_place| (), 0)?;
    /// let bound = glb.bound(&cluster, 20_000, [Node(12)], &())?;
    /// assert!(outcome.efficiency < bound.efficiency);
    /// println!("{:.0} times as fast, of {:.0}", outcome.speedup(), bound.efficiency * outcome.workers as f64);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`simulate`](Self::simulate).
    ///
    /// # Panics
    /// With the payload of the first panic of a task.
    pub fn bound<W: IntoBag>(
        &self,
        machine: &Description,
        task_ns: u64,
        work: W,
        shared: &<W::Bag as Bag>::Shared,
    ) -> Result<GreedyBound> {
        let simulation = self.simulation(machine, task_ns)?;
        Ok(simulation.bound(work.into_bag(), shared))
    }

    fn simulation(&self, machine: &Description, task_ns: u64) -> Result<Simulation> {
        let config = self.config_on(machine)?;
        let (places, workers) = (config.places, config.workers as u32);
        let costs = machine.machine(places, workers, machine.task_ns(task_ns));
        Ok(Simulation::new(config, costs))
    }
}
