//! Balanced computations in virtual time, with the workers that ship.
//!
//! A [`Simulation`] runs a [`Bag`] for real (every task is done, so counts
//! are exact) and counts the time that it would have taken on a [`Machine`].
//!
//! # Algorithm
//! The places are the shipped [`Team`](tautline_core::glb::Team)s and
//! [`Worker`](tautline_core::glb::Worker)s; the engine's world is their port, and the machine
//! defines the cost of a step. A reserve is locked while work is put in or taken out, and
//! others wait.

mod greedy;
mod phases;
mod port;
mod run;
mod worker;

use crate::Machine;
use crate::engine::Faults;
use tautline_core::glb::{Bag, Config, Observer, PlaceRun, Reason};
use tautline_core::{PlaceId, WorkerId};

pub use greedy::Bound;
pub use phases::Phases;

/// A configured computation on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    config: Config,
    machine: Machine,
    deadline_ns: u64,
    raceless: bool,
    faults: Option<Faults>,
}

/// Tasks done, and their duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// The number of tasks.
    pub tasks: usize,
    /// The time that they take.
    pub ns: u64,
}

/// The progress of a computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interim {
    /// The virtual time at the worker that takes the next step; others may be behind or ahead.
    pub virtual_ns: u64,
    /// Tasks done by all places.
    pub tasks: u64,
}

/// Steps between two polls of the watch: less than a millisecond with cheap tasks.
const WATCH_EVERY: u64 = 256;

/// The outcome of a simulated computation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome<T, O = ()> {
    /// The output that the bags submitted.
    pub output: T,
    /// Whether all work was done. If not, the computation was stopped and the output is partial.
    pub complete: bool,
    /// The reason why it was stopped, if it was.
    pub stopped: Option<Reason>,
    /// The place that could not be reached, if the computation was interrupted by that; the output
    /// is then partial.
    pub lost: Option<PlaceId>,
    /// From the start to the time at which the home knows that all work is done.
    pub virtual_ns: u64,
    /// Tasks done by all places.
    pub tasks: u64,
    /// The workers of all places.
    pub workers: u64,
    /// Sequential virtual time over workers times parallel virtual time, where the sequential time
    /// is that of the tasks alone: no polls, no messages (Saraswat 2011, footnote 3).
    pub efficiency: f64,
    /// The parts of the run, and what is lost in each.
    pub phases: Phases,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these messages, the messages of the finish.
    pub reports: u64,
    /// Activities of the finish: the first, and one for each loot sent along a lifeline.
    pub activities: u64,
    /// Loot by the number of hops; hop 0 is within a node.
    pub distances: Vec<u64>,
    /// Events simulated.
    pub events: u64,
    /// The counts of each place, in order.
    pub places: Vec<PlaceRun>,
    /// The observers, place by place and worker by worker; their ticks are nanoseconds.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

impl<T, O> Outcome<T, O> {
    /// Returns the speedup over the tasks alone on one worker.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// # use tautline_core::glb::{Config, Task, Tasks};
    /// # use tautline_sim::{Machine, Simulation};
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
    /// let machine = Machine { task_ns: 100_000, ..Machine::default() };
    /// let simulation = Simulation::new(Config { places: 8, ..Config::default() }, machine);
    /// // A binary tree of this height.
    /// let outcome = simulation.run(Tasks::from_iter([Node(12)]), |_| (), 0, |_, _| ());
    /// let alone = 100_000.0 * outcome.tasks as f64;
    /// assert_eq!(outcome.speedup().round(), (alone / outcome.virtual_ns as f64).round());
    /// assert!(outcome.speedup() > 4.0 && outcome.speedup() <= 8.0);
    /// ```
    pub fn speedup(&self) -> f64 {
        self.efficiency * self.workers as f64
    }
}

impl Simulation {
    /// Creates a simulation of this configuration on this machine.
    ///
    /// # Panics
    /// No place, no worker, places with different numbers of workers, or a fixed grain of 0.
    pub fn new(config: Config, machine: Machine) -> Self {
        assert!(config.places > 0, "no place");
        assert!(
            config.smaller == 0,
            "a simulated place is as large as another"
        );
        assert!(config.workers > 0, "no worker");
        assert!(config.grain.initial() > 0, "a grain of 0 does nothing");
        Self {
            config,
            machine,
            deadline_ns: u64::MAX,
            raceless: false,
            faults: None,
        }
    }

    /// Stops the computation once this much virtual time has passed.
    #[must_use]
    pub fn deadline_ns(mut self, ns: u64) -> Self {
        self.deadline_ns = ns;
        self
    }

    /// Lets no worker act between another's load of the flag of a reserve and its feeding, as if
    /// the flag were a counter: the control experiment for the merge/empty sensor.
    #[must_use]
    pub fn raceless(mut self) -> Self {
        self.raceless = true;
        self
    }

    /// Adds faults. A place that cannot be reached any more stops the computation: see
    /// [`Outcome::lost`].
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Runs `bag`, which starts at the home, to the end. `shared` is called once a place, `observe`
    /// once a thread.
    ///
    /// # Panics
    /// A task that panics, a bag that does not keep its contract (does nothing although not empty),
    /// and a run whose places together take more than 292 years of virtual time.
    pub fn run<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
        observe: impl FnMut(PlaceId, WorkerId) -> O,
    ) -> Outcome<B::Output, O> {
        self.run_watched(bag, shared, output, observe, &|_| None)
    }

    /// As [`run`](Self::run), polling `watch`: it is called before the first step and after some
    /// hundred more each time. A reason that it returns stops the computation; [`Outcome::output`]
    /// is then partial. Otherwise it does not affect the outcome.
    ///
    /// ```
    /// # use tautline_core::glb::{Bag, Config, Reason, Share};
    /// # use tautline_sim::{Machine, Simulation};
    /// # struct Steps(usize);
    /// # impl Bag for Steps {
    /// #     type Shared = ();
    /// #     type Output = usize;
    /// #     fn process(&mut self, n: usize, (): &()) -> usize {
    /// #         let n = n.min(self.0);
    /// #         self.0 -= n;
    /// #         n
    /// #     }
    /// #     fn split(&mut self, share: Share) -> Option<Self> {
    /// #         let part = share.of(self.0);
    /// #         self.0 -= part;
    /// #         (part > 0).then_some(Self(part))
    /// #     }
    /// #     fn merge(&mut self, other: Self) {
    /// #         self.0 += other.0;
    /// #     }
    /// #     fn len(&self) -> usize {
    /// #         self.0
    /// #     }
    /// #     fn submit(self, left: &mut usize) {
    /// #         *left += self.0;
    /// #     }
    /// # }
    /// let config = Config { places: 64, ..Config::default() };
    /// let simulation = Simulation::new(config, Machine::default());
    /// let outcome = simulation.run_watched(Steps(1 << 30), |_| (), 0, |_, _| (), &|interim| {
    ///     (interim.tasks > 100_000).then_some(Reason::Interrupted) // say, since a key was pressed
    /// });
    /// assert_eq!((outcome.complete, outcome.stopped), (false, Some(Reason::Interrupted)));
    /// assert_eq!(outcome.tasks + outcome.output as u64, 1 << 30);
    /// ```
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_watched<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
        observe: impl FnMut(PlaceId, WorkerId) -> O,
        watch: &dyn Fn(Interim) -> Option<Reason>,
    ) -> Outcome<B::Output, O> {
        let work = equal(self.machine.task_ns);
        run::run(self, bag, shared, output, observe, work, watch)
    }

    /// As [`run`](Self::run), for tasks of unequal durations: `work` calls [`Bag::process`] and
    /// returns, along with the number of tasks, the time that they take, in place of
    /// [`Machine::task_ns`].
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_timed<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
        observe: impl FnMut(PlaceId, WorkerId) -> O,
        work: impl Fn(&mut B, usize, &B::Shared) -> Worked,
    ) -> Outcome<B::Output, O> {
        run::run(self, bag, shared, output, observe, work, &|_| None)
    }

    /// Schedules the tasks of `bag` greedily on as many workers, where balancing costs nothing and
    /// takes no time: no worker is idle while a task waits anywhere. What is lost then is a
    /// property of the tasks, of which too few are ready at times. Tasks take [`Machine::task_ns`];
    /// the other costs, the network, faults and the deadline are ignored.
    ///
    /// Balancers that know no more about the tasks do not exceed this efficiency, except by chance:
    /// the tasks are processed in the order of the bags, and another order may be shorter. By
    /// Graham's theorem none, even if the tasks were known in advance, takes less than half of this
    /// time.
    ///
    /// # Panics
    /// A task that panics, and a bag that does nothing although it is not empty.
    pub fn bound<B: Bag>(&self, bag: B, shared: &B::Shared) -> Bound {
        let bound = self.bound_watched(bag, shared, &|_| None);
        bound.expect("the schedule is not stopped")
    }

    /// As [`bound`](Self::bound), polling `watch` as [`run_watched`](Self::run_watched) does.
    /// Returns `None` if `watch` returned a reason to stop.
    ///
    /// # Panics
    /// As [`bound`](Self::bound).
    pub fn bound_watched<B: Bag>(
        &self,
        bag: B,
        shared: &B::Shared,
        watch: &dyn Fn(Interim) -> Option<Reason>,
    ) -> Option<Bound> {
        let crew = [self.config.places, self.config.workers as u32];
        greedy::schedule(bag, shared, crew, self.machine.task_ns, watch)
    }
}

/// Returns the work of tasks of equal durations. A closure in [`Simulation::run`] would have a type
/// for each caller, and with it a copy of the worker.
fn equal<B: Bag>(task_ns: u64) -> impl Fn(&mut B, usize, &B::Shared) -> Worked {
    move |bag, n, shared| {
        let tasks = bag.process(n, shared);
        let ns = task_ns.saturating_mul(tasks as u64);
        Worked { tasks, ns }
    }
}
