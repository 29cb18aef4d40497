//! The outcome of a balanced computation, collected from its places and workers.

use crate::finish::Reason;
use crate::glb::{Account, Bag, Tally, Team, Times};
use crate::id::{PlaceId, WorkerId};
use alloc::vec::Vec;
use core::time::Duration;

/// The outcome of a balanced computation.
#[derive(Clone, Debug)]
pub struct Run<T, O = ()> {
    /// The result of the bags.
    pub output: T,
    /// Whether all work was done. If not, the computation was stopped and the output is partial.
    pub complete: bool,
    /// The reason for which it was stopped, if it was.
    pub stopped: Option<Reason>,
    /// The time from the start of the first worker to the end of the last.
    pub elapsed: Duration,
    /// Ticks per second of the clock behind `began`, the times and the observers.
    pub ticks_per_second: f64,
    /// The tick at which the computation began.
    pub began: u64,
    /// The statistics of each place, in order.
    pub places: Vec<PlaceRun>,
    /// The observers, place by place and worker by worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// The statistics of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceRun {
    /// Tasks, messages and loot.
    pub tally: Tally,
    /// The ticks that its workers spent in each state.
    pub times: Times,
}

/// The statistics of the places and workers of a computation that has ended.
#[derive(Debug)]
pub struct Collected<O> {
    /// Whether no work was left.
    pub complete: bool,
    /// By place.
    pub places: Vec<PlaceRun>,
    /// By place and worker.
    pub observers: Vec<(PlaceId, WorkerId, O)>,
}

/// Lets every bag of `teams` submit to `output`, and adds up the accounts of their workers, which
/// come place by place, `workers` for each.
pub fn collect<B: Bag, O>(
    teams: Vec<Team<B>>,
    workers: usize,
    accounts: impl IntoIterator<Item = Account<O>>,
    output: &mut B::Output,
) -> Collected<O> {
    let mut complete = true;
    let mut places = Vec::with_capacity(teams.len());
    for team in teams {
        let (tally, bags) = team.into_parts();
        for bag in bags {
            complete &= bag.is_empty();
            bag.submit(output);
        }
        let times = Times::default();
        places.push(PlaceRun { tally, times });
    }
    let mut observers = Vec::with_capacity(places.len() * workers);
    for (seat, account) in accounts.into_iter().enumerate() {
        let (place, worker) = (seat / workers, seat % workers);
        places[place].tally.tasks += account.tasks;
        places[place].times.merge(&account.times);
        let seat = (PlaceId(place as u32), WorkerId(worker as u32));
        observers.push((seat.0, seat.1, account.observer));
    }
    Collected {
        complete,
        places,
        observers,
    }
}
