//! Loops over ranks on threads that exchange bytes: the machines of `defer` as they are simulated
//! and explored.
//!
//! Lucco, acceptance fact 50: the state machines run unchanged over links (here), simulated
//! (`backends/sim/tests/loops.rs`), and in every order of events (`verify/tests/explore/defer.rs`).
//! Each iteration is executed once, in each instance of a loop.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{mem, thread};
use tautline_conform::links::Delayed;
use tautline_core::defer::{Conditions, Deferred, Effect, Epochs, Event, Geometry, Scheduler};
use tautline_core::machine::{Action, Machine, Pick, Step};
use tautline_core::port::Link;
use tautline_core::taper::{Instance, Policy, Taper};
use tautline_core::wire::{Channel, Exchange, Portable, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_exhibits::defer::{Baseline, Rule, Tuning};
use tautline_node::{Loopback, SpinThenYield};

const RANKS: [u32; 5] = [1, 2, 3, 5, 8];
const SIZES: [u64; 3] = [0, 3, 200];
/// For one loop, which takes a fraction of a second.
const LONG: Duration = Duration::from_secs(60);

/// Pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        let multiplier = 6_364_136_223_846_793_005_u64;
        self.0 = self.0.wrapping_mul(multiplier).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

impl Pick for Random {
    fn pick(&mut self, n: u32) -> u32 {
        self.below(u64::from(n)) as u32
    }
}

/// The effects of a machine that its rank has yet to perform.
struct Required<M> {
    /// Messages that wait, each for this many turns: so they overtake each other.
    held: Vec<(u64, Rank, M)>,
    chunk: Option<Vec<Range<u64>>>,
    has_ended: bool,
    random: Random,
}

impl<M> Required<M> {
    fn add<P: Machine<Peer = Rank, Message = M, Effect = Effect>>(&mut self, action: Action<P>) {
        match action {
            Action::Send(to, message) => self.held.push((self.random.below(8), to, message)),
            Action::Effect(Effect::Execute(chunk)) => {
                assert!(self.chunk.replace(chunk).is_none(), "two chunks at once");
            }
            Action::Effect(Effect::End) => {
                assert!(!mem::replace(&mut self.has_ended, true), "a second end");
            }
        }
    }
}

/// The work of a loop.
struct Counts {
    /// By instance, the number of executions of each iteration.
    executed: Vec<Vec<AtomicU32>>,
    /// Iterations that were sent.
    moved: AtomicU64,
}

impl Counts {
    fn new(instances: usize, n: u64) -> Self {
        let row = |_| (0..n).map(|_| AtomicU32::new(0)).collect();
        Self {
            executed: (0..instances).map(row).collect(),
            moved: AtomicU64::new(0),
        }
    }

    fn check(&self, what: &str) {
        for (instance, row) in self.executed.iter().enumerate() {
            let counts = row.iter().map(|count| count.load(SeqCst));
            let wrong: Vec<_> = counts
                .enumerate()
                .filter(|(_, count)| *count != 1)
                .collect();
            assert!(wrong.is_empty(), "{what}, instance {instance}: {wrong:?}");
        }
    }
}

/// A rank of a loop.
struct Part<'a, L: Link, M: Scheduler>
where
    M::Message: Portable + 'static,
{
    here: Rank,
    machine: M,
    exchange: Exchange<L>,
    messages: Channel<M::Message>,
    arrived: mpsc::Receiver<(Rank, M::Message)>,
    required: Required<M::Message>,
    picks: Random,
    counts: &'a Counts,
}

impl<L: Link, M: Scheduler> Part<'_, L, M>
where
    M::Message: Portable + 'static,
{
    /// Lets the machine take a step.
    fn step<T>(&mut self, take: impl FnOnce(&mut M, &mut Step<'_, M>) -> T) -> T {
        let mut act = |action| self.required.add(action);
        let calls = M::calls(&mut self.picks);
        take(&mut self.machine, &mut Step::new(calls, &mut act))
    }

    /// Executes this rank's part, until all ranks have ended.
    fn run(mut self) {
        let (put, ends) = mpsc::channel();
        let end = self
            .exchange
            .open::<()>("ends", 1, move |_, _, body: &[u8]| {
                unpack::<()>(body)?;
                // The receiver is dropped once all ranks have ended.
                _ = put.send(());
                Ok(())
            });
        self.step(|machine, step| machine.event(Event::Begin, step));
        let (mut is_told, mut awaited) = (false, self.exchange.ranks());
        let since = Instant::now();
        while awaited > 0 {
            assert!(since.elapsed() < LONG, "{} waits for the end", self.here);
            self.execute();
            let moved = self.turn();
            if self.has_ended() && self.required.held.is_empty() && !is_told {
                is_told = true;
                let ranks = (0..self.exchange.ranks()).map(PlaceId);
                ranks.for_each(|to| end.send(PlaceId(self.here.0), to, ()));
            }
            awaited -= ends.try_iter().count() as u32;
            if !moved {
                thread::yield_now();
            }
        }
        while !self.exchange.leave().expect("all ranks are there") {
            assert!(since.elapsed() < LONG, "{} has not left", self.here);
            thread::yield_now();
        }
    }

    /// Returns whether no iteration comes any more. A loop that is executed again and again ends
    /// before an instance that is not counted.
    fn has_ended(&self) -> bool {
        let last = self.counts.executed.len() as u64;
        self.required.has_ended || self.machine.instance() == last
    }

    /// Executes a chunk. Messages arrive during it.
    fn execute(&mut self) {
        let instance = self.machine.instance() as usize;
        let Some(counts) = self.counts.executed.get(instance) else {
            return;
        };
        let Some(chunk) = self.required.chunk.take() else {
            return;
        };
        let mut times = Vec::new();
        for iteration in chunk.into_iter().flatten() {
            counts[iteration as usize].fetch_add(1, SeqCst);
            // The first are long. An iteration takes this many turns, so that its length does not
            // depend on the machine.
            let time = if iteration < 30 { 30 } else { 1 } + self.required.random.below(2);
            for _ in 0..time {
                self.turn();
            }
            times.push(time);
        }
        let times = M::times(&times);
        self.step(|machine, step| machine.event(Event::Executed(times), step));
    }

    /// Sends what has waited long enough, and processes what has arrived. Returns whether anything
    /// moved.
    fn turn(&mut self) -> bool {
        let held = mem::take(&mut self.required.held);
        for (turns, to, message) in held {
            match turns.checked_sub(1) {
                Some(turns) => self.required.held.push((turns, to, message)),
                None => {
                    let parts = M::moved(&message).iter();
                    let load = parts.map(|part| part.end - part.start).sum();
                    self.counts.moved.fetch_add(load, SeqCst);
                    self.messages
                        .send(PlaceId(self.here.0), PlaceId(to.0), message);
                }
            }
        }
        let moved = self.exchange.turn().expect("all ranks are there");
        while let Ok((from, sent)) = self.arrived.try_recv() {
            let taken = self.step(|machine, step| machine.receive(from, sent, step));
            taken.expect("it is expected");
        }
        moved
    }
}

/// Executes a loop on threads, one for each rank. Returns the number of iterations that were sent.
fn run<M: Scheduler + Send>(
    what: &str,
    ranks: u32,
    (instances, n): (usize, u64),
    machine: impl Fn(Rank) -> M,
) -> u64
where
    M::Message: Portable + 'static,
{
    let counts = &Counts::new(instances, n);
    thread::scope(|scope| {
        for link in Loopback::new(ranks) {
            let here = link.here();
            let machine = machine(here);
            scope.spawn(move || {
                let link = Delayed::new(link, 3, 7 + u64::from(here.0));
                let exchange = Exchange::new(link, SpinThenYield::default());
                let (put, arrived) = mpsc::channel();
                let messages = exchange.open("loop", 1, move |from: PlaceId, _, body: &[u8]| {
                    let sent = unpack::<M::Message>(body)?;
                    // The receiver is dropped once all ranks have ended.
                    _ = put.send((Rank(from.0), sent));
                    Ok(())
                });
                let required = Required {
                    held: Vec::new(),
                    chunk: None,
                    has_ended: false,
                    random: Random(u64::from(here.0) << 16 | u64::from(ranks)),
                };
                let part = Part {
                    here,
                    machine,
                    exchange,
                    messages,
                    arrived,
                    required,
                    picks: Random(u64::from(here.0) << 8 | u64::from(ranks)),
                    counts,
                };
                part.run();
            });
        }
    });
    counts.check(what);
    counts.moved.load(SeqCst)
}

#[test]
fn epochs_execute_each_iteration_once_over_links() {
    let mut moved = 0;
    for policy in [
        Policy::SelfScheduling,
        Policy::Factoring,
        Policy::Guided,
        Policy::Taper(Taper::default()),
    ] {
        for (ranks, n) in RANKS.into_iter().flat_map(|p| SIZES.map(|n| (p, n))) {
            let instance = Instance::new(n, ranks);
            let machine = |here| Epochs::new(here, instance, policy);
            let what = format!("{policy:?}, {n} on {ranks}");
            moved += run(&what, ranks, (1, n), machine);
        }
    }
    assert!(moved > 0, "no iteration was sent");
}

#[test]
fn baselines_execute_each_iteration_once_over_links() {
    let tuning = Tuning { sync: 3, min: 1 };
    let mut moved = 0;
    for rule in [Rule::Neighbours, Rule::Tree, Rule::Halving] {
        for (ranks, n) in RANKS.into_iter().flat_map(|p| SIZES.map(|n| (p, n))) {
            let machine = |here| Baseline::new(here, n, ranks, rule, tuning);
            let what = format!("{rule:?}, {n} on {ranks}");
            moved += run(&what, ranks, (1, n), machine);
        }
    }
    assert!(moved > 0, "no iteration was sent");
}

#[test]
fn deferred_loops_execute_each_iteration_once_an_instance_over_links() {
    let mut moved = 0;
    for geometry in [Geometry::Contiguous, Geometry::Free] {
        for (ranks, n) in RANKS.into_iter().flat_map(|p| SIZES.map(|n| (p, n))) {
            let conditions = Conditions {
                geometry,
                capacity: 10,
                ..Conditions::default()
            };
            let machine = |here| Deferred::new(here, n, ranks, conditions);
            let what = format!("{geometry:?}, {n} on {ranks}");
            moved += run(&what, ranks, (6, n), machine);
        }
    }
    assert!(moved > 0, "no iteration was sent");
}
