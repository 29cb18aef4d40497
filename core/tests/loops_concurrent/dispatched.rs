//! The dispatcher alone: random graphs of loops, with workers that take and complete chunks in any
//! order.

use super::SHARINGS;
use super::reference::Random;
use std::ops::Range;
use tautline_core::loops::{Dispatched, Dispatcher, Sharing};
use tautline_core::taper::{Overhead, Policy, Q16, Summary, Taper};

/// Loops, their orders, and what their positions wait for.
struct Graph {
    lens: Vec<usize>,
    orders: Vec<(usize, usize)>,
    waits: Vec<((usize, usize), (usize, usize))>,
    ends: Vec<((usize, usize), usize)>,
}

impl Graph {
    fn random(random: &mut Random) -> Self {
        let count = 1 + random.below(5) as usize;
        let lens: Vec<usize> = (0..count).map(|_| random.below(30) as usize).collect();
        let mut graph = Self {
            lens,
            orders: Vec::new(),
            waits: Vec::new(),
            ends: Vec::new(),
        };
        for later in 1..count {
            for earlier in 0..later {
                let (len, on) = (graph.lens[later] as u64, graph.lens[earlier] as u64);
                match random.below(4) {
                    0 => graph.orders.push((later, earlier)),
                    1 if len > 0 && on > 0 => {
                        for _ in 0..random.below(20) {
                            let position = (later, random.below(len) as usize);
                            match random.below(10) {
                                0 => graph.ends.push((position, earlier)),
                                _ => graph
                                    .waits
                                    .push((position, (earlier, random.below(on) as usize))),
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        graph
    }

    fn dispatcher(&self, sharing: Sharing, workers: u32, random: &mut Random) -> Dispatcher {
        let mut dispatcher = Dispatcher::new(sharing, workers, Overhead::default(), 1000);
        for len in &self.lens {
            let policies = [
                Policy::Taper(Taper::default()),
                Policy::Guided,
                Policy::Factoring,
                Policy::SelfScheduling,
            ];
            dispatcher.add(*len, policies[random.below(4) as usize]);
        }
        self.orders
            .iter()
            .for_each(|(later, on)| dispatcher.order(*later, *on));
        self.waits
            .iter()
            .for_each(|(later, on)| dispatcher.depend(*later, *on));
        self.ends
            .iter()
            .for_each(|(later, on)| dispatcher.depend_on_end(*later, *on));
        dispatcher
    }
}

/// The positions that were completed, by loop.
struct Seen(Vec<Vec<u8>>);

const TAKEN: u8 = 1;
const DONE: u8 = 2;

impl Seen {
    fn is_over(&self, of: usize) -> bool {
        self.0[of].iter().all(|state| *state == DONE)
    }

    fn take(&mut self, graph: &Graph, chunk: &Dispatched) {
        let of = chunk.of;
        for position in chunk.positions.clone() {
            assert_eq!(
                self.0[of][position], 0,
                "position {position} of {of} was taken before"
            );
            self.0[of][position] = TAKEN;
            let orders = graph.orders.iter().filter(|order| order.0 == of);
            assert!(
                orders.clone().all(|order| self.is_over(order.1)),
                "{of} began early"
            );
            let mine = |waits: (usize, usize)| waits == (of, position);
            let waits = graph.waits.iter().filter(|wait| mine(wait.0));
            assert!(waits.clone().all(|(_, (on, at))| self.0[*on][*at] == DONE));
            let ends = graph.ends.iter().filter(|end| mine(end.0));
            assert!(ends.clone().all(|end| self.is_over(end.1)));
        }
    }

    fn complete(&mut self, chunk: &Dispatched) {
        self.0[chunk.of][chunk.positions.clone()].fill(DONE);
    }
}

#[test]
fn any_order_of_chunks_respects_the_declarations() {
    let mut random = Random(11);
    let mut waited = 0;
    for run in 0..4000 {
        let graph = Graph::random(&mut random);
        let workers = 1 + random.below(6) as u32;
        let mut dispatcher = graph.dispatcher(SHARINGS[run % 2], workers, &mut random);
        let mut seen = Seen(graph.lens.iter().map(|len| vec![0; *len]).collect());
        // Workers that have joined, each with the chunk that it runs.
        let mut joined: Vec<Option<Dispatched>> = vec![None; dispatcher.start() as usize];
        let mut numbers: Vec<u32> = (0..workers).collect();
        while !joined.is_empty() {
            assert!(joined.len() <= workers as usize);
            let at = random.below(joined.len() as u64) as usize;
            if let Some(chunk) = joined[at].take() {
                seen.complete(&chunk);
                let mut times = Summary::NONE;
                let blocks = chunk.positions.len() / chunk.block;
                (0..blocks).for_each(|_| times.record(random.of_any_length(14)));
                let more = dispatcher.complete(&chunk, &times);
                joined.extend((0..more).map(|_| None));
                continue;
            }
            numbers.rotate_left(1);
            match dispatcher.take(numbers[0]) {
                Some(chunk) => {
                    seen.take(&graph, &chunk);
                    joined[at] = Some(chunk);
                }
                None => {
                    joined.swap_remove(at);
                    waited += 1;
                }
            }
        }
        assert!(dispatcher.is_over(), "all workers have left");
        assert!((0..graph.lens.len()).all(|of| seen.is_over(of)));
    }
    assert!(waited > 4000);
}

/// Completes a chunk whose positions lasted so long.
fn complete(dispatcher: &mut Dispatcher, chunk: &Dispatched, ns: impl Fn(usize) -> u64) -> u32 {
    let mut times = Summary::NONE;
    let Range { start, end } = chunk.positions.clone();
    let whole = (end - start) / chunk.block * chunk.block;
    for block in (start..start + whole).step_by(chunk.block) {
        times.record((block..block + chunk.block).map(&ns).sum());
    }
    dispatcher.complete(chunk, &times)
}

#[test]
fn fill_serves_the_most_irregular_loop_first() {
    let mut dispatcher = Dispatcher::new(Sharing::Fill, 2, Overhead::default(), 1);
    let policy = Policy::Taper(Taper::default());
    let (regular, irregular) = (dispatcher.add(1000, policy), dispatcher.add(1000, policy));
    assert_eq!(dispatcher.start(), 2);
    let mut order = Vec::new();
    while let Some(chunk) = dispatcher.take(0) {
        let ns = |at: usize| match chunk.of == regular {
            true => 1000,
            false => 200 + 1600 * (at as u64 % 2),
        };
        complete(&mut dispatcher, &chunk, ns);
        order.push(chunk.of);
    }
    assert!(dispatcher.is_over());
    let first = order.iter().rposition(|of| *of == irregular).unwrap();
    let rest = &order[first + 1..];
    assert!(
        rest.len() > 3 && rest.iter().all(|of| *of == regular),
        "{order:?}"
    );
    // Before, the other one is served only until its times are known.
    let early = order[..first].iter().filter(|of| **of == regular).count();
    assert!(early <= 10, "{order:?}");
}

#[test]
fn partition_gives_each_loop_its_share() {
    let mut dispatcher = Dispatcher::new(Sharing::Partition, 64, Overhead::default(), 1);
    let policy = Policy::Taper(Taper::default());
    let (heavy, light) = (
        dispatcher.add(10_000, policy),
        dispatcher.add(10_000, policy),
    );
    assert_eq!(dispatcher.start(), 64);
    assert_eq!(
        dispatcher.shares(),
        [32, 32],
        "as many, as long as no time is known"
    );
    for worker in (0..64).cycle().take(200) {
        let chunk = dispatcher.take(worker).unwrap();
        let ns = |_| if chunk.of == heavy { 30_000 } else { 10_000 };
        complete(&mut dispatcher, &chunk, ns);
    }
    let shares = dispatcher.shares().to_vec();
    assert_eq!(shares.iter().sum::<u32>(), 64);
    // Three times the work of the other one at first; what is left changes while chunks are taken.
    assert!((40..=52).contains(&shares[heavy]), "{shares:?}");
    // A worker serves the loop of its share, and helps the other one when that has nothing to take.
    assert_eq!(dispatcher.take(0).map(|chunk| chunk.of), Some(heavy));
    assert_eq!(dispatcher.take(63).map(|chunk| chunk.of), Some(light));
    let mut last = None;
    while let Some(chunk) = dispatcher.take(63) {
        complete(&mut dispatcher, &chunk, |_| 10_000);
        last = Some(chunk.of);
    }
    assert_eq!(last, Some(heavy));
    let (_, block, estimate) = dispatcher.measured(light);
    assert!(block == 1 && estimate.mean_ns == Q16::whole(10_000));
}

#[test]
fn a_stopped_dispatcher_hands_out_nothing() {
    let mut dispatcher = Dispatcher::new(Sharing::Fill, 2, Overhead::default(), 1);
    dispatcher.add(100, Policy::Guided);
    assert_eq!(dispatcher.start(), 2);
    let chunk = dispatcher.take(0).unwrap();
    dispatcher.stop();
    assert_eq!(dispatcher.take(1), None);
    assert_eq!(dispatcher.complete(&chunk, &Summary::NONE), 0);
    assert_eq!(dispatcher.take(0), None);
    assert!(!dispatcher.is_over());
}

#[test]
#[should_panic(expected = "loop 0 after loop 1, of 2 loops: a loop comes after earlier ones")]
fn a_loop_cannot_come_after_a_later_one() {
    let mut dispatcher = Dispatcher::new(Sharing::Fill, 2, Overhead::default(), 1);
    dispatcher.add(1, Policy::Guided);
    dispatcher.add(1, Policy::Guided);
    dispatcher.order(0, 1);
}
