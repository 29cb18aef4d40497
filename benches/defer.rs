//! The cost of an event of a loop over ranks: chunks and messages of all ranks, delivered in
//! memory.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;
use std::hint::black_box;
use tautline_core::Rank;
use tautline_core::defer::{Baseline, Conditions, Deferred, Effect, Epochs, Event, Rule, Tuning};
use tautline_core::machine::{Action, Machine, Pick, Step};
use tautline_core::taper::{Instance, Policy, Summary};

/// Events at a rank.
enum Next<M> {
    Begin,
    Executed,
    Receive(Rank, M),
}

/// Numbers that look random: xorshift (Marsaglia 2003).
struct Random(u32);

impl Pick for Random {
    fn pick(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % n
    }
}

/// Runs a loop in whose chunks `executed` returns the event of their end, `None` where the program
/// ends. Returns the number of events.
///
/// Events are processed in order, so idle ranks that repeat requests delay no rank that works.
fn run<M, T>(
    ranks: &mut [M],
    calls: &mut M::Calls,
    executed: impl Fn(&M) -> Option<Event<T>>,
) -> u64
where
    M: Machine<Peer = Rank, Event = Event<T>, Effect = Effect>,
{
    let all = 0..ranks.len() as u32;
    let mut ahead: VecDeque<_> = all.map(|rank| (Rank(rank), Next::Begin)).collect();
    let mut count = 0;
    while let Some((here, next)) = ahead.pop_front() {
        count += 1;
        let machine = &mut ranks[here.index()];
        let mut act = |action: Action<M>| match action {
            Action::Send(to, message) => ahead.push_back((to, Next::Receive(here, message))),
            Action::Effect(Effect::Execute(_)) => ahead.push_back((here, Next::Executed)),
            Action::Effect(Effect::End) => {}
        };
        let step = &mut Step::new(calls, &mut act);
        match next {
            Next::Begin => machine.event(Event::Begin, step),
            Next::Executed => {
                if let Some(event) = executed(machine) {
                    machine.event(event, step);
                }
            }
            Next::Receive(from, message) => {
                let received = machine.receive(from, message, step);
                received.expect("it is expected");
            }
        }
    }
    count
}

/// Runs a self-scheduled loop of `n` iterations that take no time.
fn epochs(n: u64, p: u32) -> u64 {
    let instance = Instance::new(n, p);
    let machine = |rank| Epochs::new(rank, instance, Policy::Factoring);
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    run(&mut ranks, &mut (), |_| {
        Some(Event::Executed(Summary::NONE))
    })
}

/// Runs such a loop by a method of comparison.
fn baseline(n: u64, p: u32, rule: Rule) -> u64 {
    let tuning = Tuning { sync: 16, min: 4 };
    let machine = |rank| Baseline::new(rank, n, p, rule, tuning);
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    let random: &mut dyn Pick = &mut Random(1);
    run(&mut ranks, random, |_| Some(Event::Executed(())))
}

/// Runs `instances` of a loop whose first block is the longest, with deferred balancing.
fn deferred(n: u64, p: u32, instances: u64) -> u64 {
    let machine = |rank| Deferred::new(rank, n, p, Conditions::default());
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    let time = |iteration| if iteration < 64 { 9 } else { 1 };
    run(&mut ranks, &mut (), |machine| {
        let goes_on = machine.instance() < instances;
        goes_on.then(|| Event::Executed(machine.block().map(time).collect()))
    })
}

fn events(c: &mut Criterion) {
    let mut group = c.benchmark_group("defer");
    for p in [8, 512] {
        let n = 64 * u64::from(p);
        group.throughput(Throughput::Elements(epochs(n, p)));
        group.bench_function(BenchmarkId::new("epochs", p), |b| {
            b.iter(|| epochs(black_box(n), p));
        });
        for rule in [Rule::Neighbours, Rule::Tree, Rule::Halving] {
            group.throughput(Throughput::Elements(baseline(n, p, rule)));
            group.bench_function(BenchmarkId::new(format!("{rule:?}"), p), |b| {
                b.iter(|| baseline(black_box(n), p, rule));
            });
        }
        group.throughput(Throughput::Elements(deferred(n, p, 8)));
        group.bench_function(BenchmarkId::new("deferred", p), |b| {
            b.iter(|| deferred(black_box(n), p, 8));
        });
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
