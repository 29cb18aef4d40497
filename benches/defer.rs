//! What an event of a loop over ranks costs: chunks and messages of all ranks, delivered in memory.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;
use std::hint::black_box;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{
    Actions, Baseline, Call, Conditions, Deferred, Epochs, Pick, Rule, Tuning,
};
use tautline_core::taper::{Instance, Policy, Summary};

/// What happens at a rank.
enum Event<M> {
    Begin,
    Free,
    On(Rank, M),
}

/// What is still to happen, in order: so idle ranks that ask again and again hold up none that works.
struct Ahead<M> {
    here: Rank,
    events: VecDeque<(Rank, Event<M>)>,
    random: u32,
}

impl<M> Actions<M> for Ahead<M> {
    fn send(&mut self, to: Rank, message: M) {
        self.events.push_back((to, Event::On(self.here, message)));
    }

    fn run(&mut self, _: Vec<Range<u64>>) {
        self.events.push_back((self.here, Event::Free));
    }

    fn end(&mut self) {}
}

impl Pick for Ahead<Call> {
    fn pick(&mut self, n: u32) -> u32 {
        // Xorshift (Marsaglia 2003).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random % n
    }
}

/// Delivers everything at `p` ranks; returns the number of events.
fn deliver<M>(p: u32, mut step: impl FnMut(Rank, Event<M>, &mut Ahead<M>)) -> u64 {
    let mut ahead = Ahead {
        here: Rank(0),
        events: (0..p).map(|rank| (Rank(rank), Event::Begin)).collect(),
        random: 1,
    };
    let mut count = 0;
    while let Some((here, event)) = ahead.events.pop_front() {
        count += 1;
        ahead.here = here;
        step(here, event, &mut ahead);
    }
    count
}

/// Runs a self-scheduled loop of `n` iterations that take no time.
fn epochs(n: u64, p: u32) -> u64 {
    let instance = Instance::new(n, p);
    let machine = |rank| Epochs::new(rank, instance, Policy::Factoring);
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    deliver(p, |here, event, ahead| match event {
        Event::Begin => ranks[here.index()].begin(ahead),
        Event::Free => ranks[here.index()].free(&Summary::NONE, ahead),
        Event::On(from, message) => {
            let done = ranks[here.index()].on(from, message, ahead);
            done.expect("it is expected");
        }
    })
}

/// Runs such a loop by a method of comparison.
fn baseline(n: u64, p: u32, rule: Rule) -> u64 {
    let tuning = Tuning { sync: 16, min: 4 };
    let machine = |rank| Baseline::new(rank, n, p, rule, tuning);
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    deliver(p, |here, event, ahead| match event {
        Event::Begin => ranks[here.index()].begin(ahead),
        Event::Free => ranks[here.index()].free(ahead),
        Event::On(from, call) => {
            let done = ranks[here.index()].on(from, call, ahead);
            done.expect("it is expected");
        }
    })
}

/// Runs `instances` of a loop whose first block is the longest, with deferred balancing.
fn deferred(n: u64, p: u32, instances: u64) -> u64 {
    let machine = |rank| Deferred::new(rank, n, p, Conditions::default());
    let mut ranks: Vec<_> = (0..p).map(Rank).map(machine).collect();
    deliver(p, |here, event, ahead| {
        let machine = &mut ranks[here.index()];
        match event {
            Event::Begin => machine.begin(ahead),
            Event::Free if machine.instance() == instances => {}
            Event::Free => {
                let time = |iteration| if iteration < 64 { 9 } else { 1 };
                let times: Vec<u64> = machine.block().map(time).collect();
                machine.free(&times, ahead);
            }
            Event::On(from, notice) => {
                let done = machine.on(from, notice, ahead);
                done.expect("it is expected");
            }
        }
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
