//! The outcome of a balanced computation, collected from its places and workers.

use crate::finish::Reason;
use crate::glb::{Account, Bag, Config, State, Tally, Team, Times};
use crate::id::{PlaceId, WorkerId};
use alloc::vec::Vec;
use core::time::Duration;

/// The outcome of a balanced computation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run<T, O = ()> {
    /// The result of the bags.
    pub output: T,
    /// Whether all work was done. If not, the computation was stopped and the output is partial.
    pub complete: bool,
    /// The reason for which it was stopped, if it was.
    pub stopped: Option<Reason>,
    /// The time from the start of the first worker to the end of the last.
    pub elapsed: Duration,
    /// Ticks per second of the clock of `began`, the times and the observers.
    pub ticks_per_second: f64,
    /// The tick at which the computation began.
    pub began: u64,
    /// The statistics of each place, in order.
    pub places: Vec<PlaceRun>,
    /// The statistics of each worker of this rank, place by place.
    pub workers: Vec<WorkerRun>,
    /// The messages that left a rank for another while workers ran; 0 at a single one.
    pub messages: u64,
    /// The bytes of these messages.
    pub bytes: u64,
    /// The observers, place by place and worker by worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

impl<T, O> Run<T, O> {
    /// Returns the number of tasks that were done: the sum of what the places' bags returned from
    /// [`process`](Bag::process).
    pub fn tasks(&self) -> u64 {
        self.places.iter().map(|place| place.tally.tasks).sum()
    }

    /// Returns the mean time of a task in nanoseconds, rounded up, from the time that workers were
    /// computing; 0 without a task. For a simulation measure it on one worker, which shares neither
    /// its processor nor its caches:
    ///
    /// ```
    /// # use tautline_core::glb::Run;
    /// # fn f(run: &Run<u64>) {
    /// // let run = Runtime::builder().workers(1).build()?.balancer().run([root], |_place| (), 0)?;
    /// println!("{} ns a task", run.task_ns());
    /// # }
    /// ```
    pub fn task_ns(&self) -> u64 {
        let computing = |place: &PlaceRun| place.times.of(State::Computing);
        let ticks: u64 = self.places.iter().map(computing).sum();
        let ns = ticks as f64 * (1e9 / self.ticks_per_second);
        match self.tasks() {
            0 => 0,
            tasks => (ns / tasks as f64) as u64 + 1,
        }
    }
}

/// The statistics of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct PlaceRun {
    /// Tasks, messages and loot.
    pub tally: Tally,
    /// The ticks that its workers spent in each state.
    pub times: Times,
}

/// The statistics of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct WorkerRun {
    /// Its place.
    pub place: PlaceId,
    /// Its number within the place.
    pub worker: WorkerId,
    /// Tasks done.
    pub tasks: u64,
    /// The ticks that it spent in each state.
    pub times: Times,
}

/// The statistics of the places and workers of a computation that has ended.
#[derive(Debug)]
pub struct Collected<O> {
    /// Whether all work was done.
    pub complete: bool,
    /// By place.
    pub places: Vec<PlaceRun>,
    /// By place and worker.
    pub workers: Vec<WorkerRun>,
    /// By place and worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// Lets every bag of `teams` submit to `output`, and adds up the `accounts` of their workers, which
/// come in the order of [`seats`](Config::seats).
pub fn collect<B: Bag, O>(
    teams: Vec<Team<B>>,
    config: &Config,
    accounts: impl IntoIterator<Item = Account<O>>,
    output: &mut B::Output,
) -> Collected<O> {
    let gathered = gather(teams, config.seats(), accounts);
    let mut complete = true;
    for bag in gathered.bags {
        complete &= bag.is_empty();
        bag.submit(output);
    }
    Collected {
        complete,
        places: gathered.places,
        workers: gathered.workers,
        observers: gathered.observers,
    }
}

/// The remains of some places of a computation that has ended.
#[derive(Debug)]
pub struct Gathered<B, O> {
    /// The bags, empty or not.
    pub bags: Vec<B>,
    /// The statistics, by place.
    pub places: Vec<PlaceRun>,
    /// The statistics, by place and worker.
    pub workers: Vec<WorkerRun>,
    /// By place and worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// Takes `teams` of consecutive places apart, and adds up the `accounts` of their workers, which
/// come in the order of their `seats`.
pub fn gather<B: Bag, O>(
    teams: Vec<Team<B>>,
    seats: impl IntoIterator<Item = (PlaceId, WorkerId)>,
    accounts: impl IntoIterator<Item = Account<O>>,
) -> Gathered<B, O> {
    let (mut all, mut places) = (Vec::new(), Vec::with_capacity(teams.len()));
    for team in teams {
        let (tally, bags) = team.into_parts();
        all.extend(bags);
        let times = Times::default();
        places.push(PlaceRun { tally, times });
    }
    let (mut first, mut workers, mut observers) = (None, Vec::new(), Vec::new());
    for ((place, worker), account) in seats.into_iter().zip(accounts) {
        let first = *first.get_or_insert(place.index());
        let counted = &mut places[place.index() - first];
        counted.tally.tasks += account.tasks;
        counted.times.merge(&account.times);
        workers.push(WorkerRun {
            place,
            worker,
            tasks: account.tasks,
            times: account.times,
        });
        observers.push((place, worker, account.observer));
    }
    Gathered {
        bags: all,
        places,
        workers,
        observers,
    }
}
