//! The measurements: the shipped workers, reserves and parkers, and a clock.

use std::io;
use std::time::Instant;
use tautline::balance::{Bag, Config, Control, PlaceId, Share, WorkerId};
use tautline_cli::bench::{Distance, Lines, Spread, pairs, ping_pong};
use tautline_cli::uts::{Tree, Uts, named};
use tautline_core::glb::{Message, Step, Team, Worker};
use tautline_core::lifeline::Reserve;
use tautline_core::port::{Clock, Park, Relax, Spin, Transport, Unpark};

/// The number of measurements of each cost, and of repetitions in one of them.
const MEASUREMENTS: usize = 15;
const TIMES: usize = 2_000;
const TURNS: usize = 200_000;
const WAKES: usize = 101;
/// The number of bags that are divided, and of nodes before that.
const BAGS: usize = 200;
const NODES: usize = 2_000;
const ROUND_TRIPS: u32 = 20_000;
/// The number of messages that wait in an inbox at once.
const LETTERS: usize = 64;

/// Returns the spread of at least one measurement.
pub(super) fn spread(all: &[f64]) -> Spread {
    Spread::of(all).expect("a measurement")
}

/// Formats the spread of nanoseconds.
pub(super) fn words(spread: &Spread) -> String {
    let Spread {
        least,
        median,
        most,
        samples,
        ..
    } = spread;
    format!("median of {samples}: {median:.1} ns, {least:.1} to {most:.1}")
}

/// Takes one additional measurement, the first of all, which is discarded: it warms up.
fn repeated(one: impl Fn() -> f64) -> Spread {
    one();
    spread(&(0..MEASUREMENTS).map(|_| one()).collect::<Vec<_>>())
}

/// Returns nanoseconds each of `times`.
fn each(start: Instant, times: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / times as f64
}

/// A worker's turn when its poll finds nothing.
pub(super) fn look() -> Spread {
    repeated(|| {
        let (team, port, control) = (team(), Nowhere(Instant::now()), Control::new());
        let mut worker = busy(&team, &port, &control);
        let start = Instant::now();
        for _ in 0..TURNS {
            while !matches!(worker.step(), Step::Worked(_)) {}
        }
        each(start, TURNS)
    })
}

/// Putting a message into an inbox, and serving one, on the only thread.
pub(super) fn message() -> [Spread; 2] {
    let measured = || {
        let (team, port, control) = (team(), Nowhere(Instant::now()), Control::new());
        let mut worker = busy(&team, &port, &control);
        let rounds = TIMES / LETTERS;
        let mut sums = [0.0; 2];
        for _ in 0..rounds {
            let start = Instant::now();
            for _ in 0..LETTERS {
                team.deliver(PlaceId(1), Message::Request { lifeline: false }, &port);
            }
            sums[0] += each(start, LETTERS);
            let start = Instant::now();
            let mut served = 0;
            while served < LETTERS {
                served += usize::from(worker.step() == Step::Served);
            }
            sums[1] += each(start, LETTERS);
        }
        sums.map(|sum| sum / rounds as f64)
    };
    measured();
    let all: Vec<[f64; 2]> = (0..MEASUREMENTS).map(|_| measured()).collect();
    [0, 1].map(|which| spread(&all.iter().map(|pair| pair[which]).collect::<Vec<_>>()))
}

/// Dividing a bag.
pub(super) fn split() -> Spread {
    repeated(|| {
        let mut bags = bags();
        let mut parts = Vec::with_capacity(BAGS);
        let start = Instant::now();
        for bag in &mut bags {
            parts.push(bag.split(Share::Half));
        }
        each(start, parts.len())
    })
}

/// Putting work into a reserve, or taking it out.
pub(super) fn merge() -> Spread {
    repeated(|| {
        let reserve = Reserve::new();
        let bags = bags();
        let mut taken = Vec::with_capacity(BAGS);
        let start = Instant::now();
        for bag in bags {
            reserve.feed(bag, Uts::merge, &Spin);
            taken.push(reserve.take(|_| None, &Spin));
        }
        each(start, 2 * taken.len())
    })
}

/// A cache line that goes to another processor, if there are two: preferably to one of another
/// core.
///
/// # Errors
/// A thread that the system refused.
pub(super) fn near() -> io::Result<Option<Spread>> {
    let machine = tautline_node::Machine::discover();
    let distances = pairs(&machine, &machine.cpus(), 1);
    let other_core = distances
        .iter()
        .find(|(distance, _)| *distance != Distance::SameCore);
    let Some((_, pair)) = other_core.or(distances.first()) else {
        return Ok(None);
    };
    let (lines, never) = (Lines::new(Some(pair[0][0]))?, Control::new());
    let one = || ping_pong(&lines, pair[0], ROUND_TRIPS, &never);
    one()?;
    let all: io::Result<Vec<f64>> = (0..MEASUREMENTS).map(|_| Ok(one()?.ns / 2.0)).collect();
    Ok(Some(spread(&all?)))
}

/// From a wake-up until the thread that slept runs.
///
/// # Errors
/// A thread that the system refused.
pub(super) fn wake() -> io::Result<Spread> {
    let wakes = tautline_node::wakes(WAKES)?;
    let ns = wakes.iter().map(|latency| latency.as_nanos() as f64);
    Ok(spread(&ns.collect::<Vec<_>>()))
}

/// Bags of tree search. New ones each time: one that was put together again from halves has more
/// pieces.
fn bags() -> Vec<Uts> {
    let known = named::find("T1").expect("a named tree");
    let tree = Tree::new(known.params).expect("named trees are valid");
    let bag = |_| {
        let mut bag = Uts::root(&tree);
        bag.process(NODES, &tree);
        bag
    };
    (0..BAGS).map(bag).collect()
}

/// Place 0 of two, which polls after every task.
fn team() -> Team<Endless> {
    let config = Config {
        places: 2,
        grain: 1.into(),
        ..Config::default()
    };
    Team::new(PlaceId::HOME, &config, ())
}

/// Its worker, computing.
fn busy<'a>(
    team: &'a Team<Endless>,
    port: &'a Nowhere,
    control: &'a Control,
) -> Worker<'a, Endless, &'a Nowhere, ()> {
    team.begin(Endless, port);
    let mut worker = Worker::new(team, WorkerId(0), port, control, ());
    while !matches!(worker.step(), Step::Worked(_)) {}
    worker
}

/// A task that takes no time and never ends.
struct Endless;

impl Bag for Endless {
    type Shared = ();
    type Output = ();

    fn process(&mut self, n: usize, (): &()) -> usize {
        n
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, _: Self) {}

    fn len(&self) -> usize {
        1
    }

    fn submit(self, (): &mut ()) {}
}

/// A machine of one thread, whose messages are discarded.
struct Nowhere(Instant);

impl Clock for Nowhere {
    fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

impl Relax for Nowhere {
    fn relax(&self, turn: u32) {
        Spin.relax(turn);
    }
}

impl Unpark for Nowhere {
    fn unpark(&self, _: WorkerId) {}
}

impl Park for Nowhere {
    fn park(&self, _: WorkerId) {}
}

impl Transport<Message<Endless>> for Nowhere {
    fn send(&self, _: PlaceId, _: Message<Endless>) {}

    fn close(&self) {}

    fn is_closed(&self) -> bool {
        false
    }
}
