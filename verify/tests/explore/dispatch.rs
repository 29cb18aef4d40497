//! The dispatcher of concurrent loops: every order in which workers take and complete
//! chunks.

use super::report;
use std::collections::HashSet;
use std::time::Instant;
use tautline_core::loops::{Dispatched, Dispatcher, Sharing};
use tautline_core::taper::{Overhead, Policy, Summary, Taper};

/// A position of a loop.
type Position = (usize, usize);

/// Loops of these lengths, with what they wait for.
#[derive(Clone, Copy)]
struct Graph {
    lens: &'static [usize],
    /// Later and earlier loops.
    orders: &'static [(usize, usize)],
    waits: &'static [(Position, Position)],
    ends: &'static [(Position, usize)],
}

const FREE: Graph = Graph {
    lens: &[3, 3],
    orders: &[],
    waits: &[],
    ends: &[],
};

/// The last loop is independent; the one in between is empty.
const CHAIN: Graph = Graph {
    lens: &[2, 0, 3, 1],
    orders: &[(1, 0), (2, 1)],
    ..FREE
};

const PIPELINE: Graph = Graph {
    lens: &[3, 3],
    waits: &[((1, 1), (0, 0)), ((1, 2), (0, 2)), ((1, 2), (0, 1))],
    ..FREE
};

/// A split loop after two others, one of whose positions waits for an end, and a loop after all.
const MIXED: Graph = Graph {
    lens: &[2, 1, 3, 1],
    orders: &[(3, 2), (3, 0)],
    waits: &[((2, 1), (0, 1)), ((2, 2), (1, 0))],
    ends: &[((2, 2), 0)],
};

#[derive(Clone)]
struct State {
    dispatcher: Dispatcher,
    /// By loop and position: not taken, taken, or completed.
    seen: Vec<Vec<u8>>,
    running: Vec<Dispatched>,
    /// Workers that have joined and are about to take a chunk.
    idle: u32,
}

const TAKEN: u8 = 1;
const DONE: u8 = 2;

impl State {
    fn new(graph: Graph, sharing: Sharing, workers: u32, policy: Policy) -> Self {
        let mut dispatcher = Dispatcher::new(sharing, workers, Overhead::default(), 1000);
        for len in graph.lens {
            dispatcher.add(*len, policy);
        }
        graph
            .orders
            .iter()
            .for_each(|(later, on)| dispatcher.order(*later, *on));
        graph
            .waits
            .iter()
            .for_each(|(later, on)| dispatcher.depend(*later, *on));
        graph
            .ends
            .iter()
            .for_each(|(later, on)| dispatcher.depend_on_end(*later, *on));
        let idle = dispatcher.start();
        Self {
            dispatcher,
            seen: graph.lens.iter().map(|len| vec![0; *len]).collect(),
            running: Vec::new(),
            idle,
        }
    }

    fn is_over(&self, graph: Graph, of: usize) -> bool {
        let mut orders = graph.orders.iter().filter(|order| order.0 == of);
        self.seen[of].iter().all(|state| *state == DONE)
            && orders.all(|order| self.is_over(graph, order.1))
    }

    /// Returns whether nothing that a position waits for is left.
    fn may_run(&self, graph: Graph, (of, at): Position) -> bool {
        let mut orders = graph.orders.iter().filter(|order| order.0 == of);
        let mut waits = graph.waits.iter().filter(|wait| wait.0 == (of, at));
        let mut ends = graph.ends.iter().filter(|end| end.0 == (of, at));
        orders.all(|order| self.is_over(graph, order.1))
            && waits.all(|(_, (on, at))| self.seen[*on][*at] == DONE)
            && ends.all(|end| self.is_over(graph, end.1))
    }

    /// Checks that workers have joined for all that may run, and that no work is left when all have
    /// left.
    fn check(&self, graph: Graph, workers: u32) {
        let all =
            (0..self.seen.len()).flat_map(|of| (0..self.seen[of].len()).map(move |at| (of, at)));
        let is_open =
            |(of, at): &Position| self.seen[*of][*at] == 0 && self.may_run(graph, (*of, *at));
        let open = all.clone().filter(is_open).count();
        let running = self.running.len() as u32;
        assert!(self.idle + running <= workers, "too many have joined");
        let wanted = (workers - running).min(open as u32);
        assert!(
            self.idle >= wanted,
            "{} of {wanted} have joined for {open} positions",
            self.idle
        );
        if self.idle + running == 0 {
            assert!(self.dispatcher.is_over(), "all workers have left");
            assert!(
                all.clone().all(|(of, at)| self.seen[of][at] == DONE),
                "positions are left"
            );
        }
    }

    fn take(mut self, graph: Graph, worker: u32) -> Self {
        self.idle -= 1;
        if let Some(chunk) = self.dispatcher.take(worker) {
            for at in chunk.positions.clone() {
                assert_eq!(self.seen[chunk.of][at], 0, "a position is taken twice");
                assert!(
                    self.may_run(graph, (chunk.of, at)),
                    "{at} of {} is early",
                    chunk.of
                );
                self.seen[chunk.of][at] = TAKEN;
            }
            self.running.push(chunk);
            self.running
                .sort_by_key(|chunk| (chunk.of, chunk.positions.start));
        }
        self
    }

    fn complete(mut self, at: usize, ns: u64) -> Self {
        let chunk = self.running.remove(at);
        self.seen[chunk.of][chunk.positions.clone()].fill(DONE);
        let mut times = Summary::NONE;
        let blocks = chunk.positions.len() / chunk.block;
        (0..blocks).for_each(|_| times.record(ns));
        self.idle += 1 + self.dispatcher.complete(&chunk, &times);
        self
    }
}

/// Returns the number of states.
fn explore(graph: Graph, sharing: Sharing, workers: u32, policy: Policy) -> usize {
    let first = State::new(graph, sharing, workers, policy);
    let key = |state: &State| format!("{:?} {:?} {}", state.dispatcher, state.running, state.idle);
    let mut visited = HashSet::from([key(&first)]);
    let mut open = vec![first];
    while let Some(state) = open.pop() {
        state.check(graph, workers);
        let mut next = Vec::new();
        if state.idle > 0 {
            next.extend((0..workers).map(|worker| state.clone().take(graph, worker)));
        }
        for at in 0..state.running.len() {
            next.extend([10, 5000].map(|ns| state.clone().complete(at, ns)));
        }
        open.extend(next.into_iter().filter(|state| visited.insert(key(state))));
    }
    visited.len()
}

#[test]
fn dispatcher() {
    let graphs = [
        ("free", FREE, 12_576),
        ("chain", CHAIN, 11_310),
        ("pipeline", PIPELINE, 8_364),
        ("mixed", MIXED, 14_987),
    ];
    for (name, graph, floor) in graphs {
        let began = Instant::now();
        let mut states = 0;
        for policy in [
            Policy::SelfScheduling,
            Policy::Guided,
            Policy::Taper(Taper::default()),
        ] {
            for sharing in [Sharing::Fill, Sharing::Partition] {
                states += (1..4)
                    .map(|workers| explore(graph, sharing, workers, policy))
                    .sum::<usize>();
            }
        }
        report(&format!("dispatcher-{name}"), states, floor, began);
    }
}
