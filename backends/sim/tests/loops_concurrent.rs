//! Two loops on 64 threads in virtual time: how much earlier they end together than one after the
//! other.
//!
//! | fact | test |
//! |---|---|
//! | Lucco, acceptance fact 43: an irregular and a regular loop at a time | `an_irregular_and_a_regular_loop_end_earlier_together` |

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tautline_core::PlaceId;
use tautline_core::loops::{Dispatched, Dispatcher, Sharing};
use tautline_core::taper::{Instance, Overhead, Policy, Summary, Taper};
use tautline_sim::engine::{Actor, Engine, Here, Turn, Weigh, World};
use tautline_sim::{Cluster, Machine};

const P: u32 = 64;
const SHARE: usize = 16;
const MEAN_NS: f64 = 100_000.0;
const CHUNK_NS: u64 = MEAN_NS as u64 / 10;
const RUNS: u64 = 20;

/// Random numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    /// Returns a number in [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The times of an irregular loop.
#[derive(Clone, Copy, Debug)]
enum Tasks {
    Exponential,
    /// A tenth of the tasks has almost all of the work.
    Bimodal,
}

impl Tasks {
    fn draw(self, random: &mut Random) -> u64 {
        let x = random.unit();
        let ns = match self {
            Self::Exponential => -MEAN_NS * (1.0 - x).ln(),
            Self::Bimodal if x < 0.1 => 9.7 * MEAN_NS,
            Self::Bimodal => 0.03 * MEAN_NS,
        };
        ns.round() as u64
    }
}

/// No message is sent: the threads share a memory.
struct Nothing;

impl Weigh for Nothing {
    const KINDS: usize = 1;

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> u64 {
        0
    }
}

/// State shared by the threads.
struct Shared<'a> {
    dispatcher: RefCell<Dispatcher>,
    /// By loop, the times of its iterations.
    times: &'a [Vec<u64>],
    parked: RefCell<Vec<u32>>,
    ended: RefCell<u64>,
}

impl Shared<'_> {
    /// Wakes threads that are to join.
    fn wake(&self, count: u32, here: &Here<'_, Nothing>) {
        let mut parked = self.parked.borrow_mut();
        let from = parked.len() - count as usize;
        parked.drain(from..).for_each(|thread| here.wake(thread, 0));
    }
}

/// A thread in virtual time.
struct Thread<'a> {
    number: u32,
    shared: &'a Shared<'a>,
    running: Option<Dispatched>,
}

impl Actor for Thread<'_> {
    type Message = Nothing;

    fn step(&mut self, here: &Here<'_, Nothing>) -> Turn {
        if let Some(chunk) = self.running.take() {
            let times = &self.shared.times[chunk.of][chunk.positions.clone()];
            let mut summary = Summary::NONE;
            let blocks = times.chunks_exact(chunk.block);
            blocks.for_each(|block| summary.record(block.iter().sum()));
            let more = self
                .shared
                .dispatcher
                .borrow_mut()
                .complete(&chunk, &summary);
            *self.shared.ended.borrow_mut() = here.world().now();
            self.shared.wake(more, here);
        }
        let Some(chunk) = self.shared.dispatcher.borrow_mut().take(self.number) else {
            self.shared.parked.borrow_mut().push(self.number);
            return Turn::Parked;
        };
        let times = &self.shared.times[chunk.of][chunk.positions.clone()];
        let ns = CHUNK_NS + times.iter().sum::<u64>();
        self.running = Some(chunk);
        Turn::Took { ns, private: false }
    }

    fn on(&mut self, _: PlaceId, _: Nothing, _: &Here<'_, Nothing>) {}
}

/// Returns when the loops with these times have ended. With `barrier`, the second begins after the
/// first.
fn run(sharing: Sharing, times: &[Vec<u64>], barrier: bool) -> u64 {
    let overhead = Overhead {
        chunk_ns: CHUNK_NS,
        band: 0,
    };
    let mut dispatcher = Dispatcher::new(sharing, P, overhead, 1);
    for times in times {
        let number = dispatcher.add(times.len(), Policy::Taper(Taper::default()));
        if barrier && number > 0 {
            dispatcher.order(number, number - 1);
        }
    }
    let first = dispatcher.start();
    let shared = Shared {
        dispatcher: RefCell::new(dispatcher),
        times,
        parked: RefCell::new((0..P).rev().collect()),
        ended: RefCell::new(0),
    };
    let cluster = Cluster {
        wake_ns: 0,
        spin_ns: 0,
        ..Machine::default().cluster
    };
    let world = World::new(cluster, 1, P as usize, 1);
    let thread = |number| Thread {
        number,
        shared: &shared,
        running: None,
    };
    let mut engine = Engine::new(&world, (0..P).map(thread).collect());
    shared.wake(first, &world.at(PlaceId(0)));
    engine.run(u64::MAX, || ());
    assert!(shared.dispatcher.borrow().is_over());
    shared.ended.into_inner()
}

/// Returns the duration of a loop alone, if its mean and variation are known from the start: the
/// queue without contention of spec 5.4 of Lucco 1995, model M1.
fn known(times: &[u64]) -> u64 {
    let mut summary = Summary::NONE;
    times.iter().for_each(|ns| summary.record(*ns));
    let overhead = Overhead {
        chunk_ns: CHUNK_NS,
        band: 0,
    };
    let estimate = summary.estimate();
    let cx = Instance::new(times.len() as u64, P).with_overhead(overhead, &estimate);
    let mut ends: BinaryHeap<Reverse<u64>> = (0..P).map(|_| Reverse(0)).collect();
    let (mut at, mut last) = (0, 0);
    for chunk in Policy::Taper(Taper::default()).dry_run(estimate, &cx) {
        let Reverse(now) = ends.pop().expect("there are processors");
        let to = at + chunk as usize;
        let end = now + CHUNK_NS + times[at..to].iter().sum::<u64>();
        ends.push(Reverse(end));
        (at, last) = (to, last.max(end));
    }
    last
}

/// Returns the time of one loop after the other over that of both at a time, with fill and with
/// partition, and the same if the loops one after the other have the advantage that their times are
/// known.
fn ratios(tasks: Tasks) -> [f64; 4] {
    let (mut sums, mut work) = ([0; 4], 0);
    for seed in 0..RUNS {
        let mut random = Random(seed);
        let n = SHARE * P as usize;
        let irregular: Vec<u64> = (0..n).map(|_| tasks.draw(&mut random)).collect();
        // The same work, nearly alike in each iteration.
        let mean = irregular.iter().sum::<u64>() as f64 / n as f64;
        let regular = (0..n)
            .map(|_| (mean * (0.95 + 0.1 * random.unit())) as u64)
            .collect();
        let times = [irregular, regular];
        work += times.iter().flatten().sum::<u64>();
        sums[0] += run(Sharing::Fill, &times, true);
        sums[1] += run(Sharing::Fill, &times, false);
        sums[2] += run(Sharing::Partition, &times, false);
        sums[3] += times.iter().map(|times| known(times)).sum::<u64>();
    }
    let efficiencies = sums.map(|sum| work as f64 / (f64::from(P) * sum as f64));
    println!(
        "{tasks:?}: efficiencies with a barrier, fill, partition, barrier and known times {efficiencies:.3?}"
    );
    [(0, 1), (0, 2), (3, 1), (3, 2)].map(|(slow, fast)| sums[slow] as f64 / sums[fast] as f64)
}

#[test]
fn an_irregular_and_a_regular_loop_end_earlier_together() {
    let [exponential, bimodal] = [Tasks::Exponential, Tasks::Bimodal].map(ratios);
    println!("ratios: exponential {exponential:.3?}, bimodal {bimodal:.3?}");
    for fill in [exponential[0], exponential[2], bimodal[0], bimodal[2]] {
        assert!(fill >= 1.05, "{fill}");
    }
    assert!(exponential[1] >= 0.97 && exponential[3] >= 0.97);
}
