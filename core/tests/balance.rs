//! Balanced computations among tasks: the assignment of seats to workers of the pool.

#[cfg(feature = "wire")]
#[path = "balance/across.rs"]
mod across;
#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;
#[cfg(feature = "wire")]
#[path = "balance/lending.rs"]
mod lending;

use crew::Crew;
use std::sync::Mutex;
use tautline_core::glb::{Bag, Config, Observer, Share, State};
use tautline_core::task::Pool;
use tautline_core::{PlaceId, WorkerId};

/// A number of tasks, each of which only counts.
struct Count(usize, u64);

impl Bag for Count {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = n.min(self.0);
        self.0 -= done;
        self.1 += done as u64;
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0);
        self.0 -= taken;
        (taken > 0).then_some(Self(taken, 0))
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }

    fn len(&self) -> usize {
        self.0
    }

    fn submit(self, sum: &mut u64) {
        *sum += self.1;
    }
}

/// Notes its seat when the worker begins.
struct Note<'n>(Option<(u32, u32)>, &'n Mutex<Vec<(u32, u32)>>);

impl Observer for Note<'_> {
    fn span(&mut self, _: State, _: u64, _: u64) {
        self.1.lock().unwrap().extend(self.0.take());
    }
}

/// Returns the seats of `config` in the order in which the only thread of a pool of four, as
/// `worker`, takes them.
fn taken_by(worker: u32, config: Config) -> Vec<(u32, u32)> {
    let pool = &Pool::new(Crew::new(4), 4);
    let order = Mutex::new(Vec::new());
    let note = |place: PlaceId, worker: WorkerId| Note(Some((place.0, worker.0)), &order);
    let run = pool.with_seat(WorkerId(worker), |seat| {
        seat.run(|cx| {
            let balancer = cx.balancer().config(config).observed(note);
            balancer.run(Count(1000, 0), |_| (), 0)
        })
    });
    let run = run.expect("the seat is free").expect("nothing cancels it");
    assert_eq!((run.output, run.complete), (1000, true));
    let seats = run.observers.iter();
    let seats: Vec<_> = seats.map(|&(place, worker, _)| (place, worker)).collect();
    assert_eq!(seats, config.seats().collect::<Vec<_>>());
    order.into_inner().unwrap()
}

fn places(places: u32, workers: usize) -> Config {
    Config {
        places,
        workers,
        ..Config::default()
    }
}

/// The places are shares of the pool, in its order: a worker takes its own seat, the others of its
/// place, then those of other places.
#[test]
fn a_worker_prefers_the_seats_of_its_place() {
    let [a, b, c, d] = [(0, 0), (0, 1), (1, 0), (1, 1)];
    assert_eq!(taken_by(0, places(2, 2)), [a, b, c, d]);
    assert_eq!(taken_by(1, places(2, 2)), [b, a, c, d]);
    assert_eq!(taken_by(2, places(2, 2)), [c, d, a, b]);
    assert_eq!(taken_by(3, places(2, 2)), [d, c, a, b]);
}

/// Also if there are more seats than workers, or fewer.
#[test]
fn more_seats_and_fewer_are_divided_in_the_same_way() {
    let eight = taken_by(2, places(4, 2));
    assert_eq!(eight[..2], [(2, 0), (2, 1)]);
    assert_eq!(eight.len(), 8);
    assert_eq!(taken_by(3, places(2, 1)), [(1, 0), (0, 0)]);
    assert_eq!(taken_by(3, places(1, 1)), [(0, 0)]);
}
