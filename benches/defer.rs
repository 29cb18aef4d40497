//! What an event of a self-scheduled loop costs: chunks, tokens and epochs of all ranks, delivered in memory.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::ops::Range;
use tautline_core::Rank;
use tautline_core::defer::{Actions, Epochs, Message};
use tautline_core::taper::{Instance, Policy, Summary};

/// What is to be delivered: messages, and ranks whose chunks are done.
struct Ahead {
    here: Rank,
    mail: Vec<(Rank, Rank, Message)>,
    busy: Vec<Rank>,
}

impl Actions<Message> for Ahead {
    fn send(&mut self, to: Rank, message: Message) {
        self.mail.push((self.here, to, message));
    }

    fn run(&mut self, _: Vec<Range<u64>>) {
        self.busy.push(self.here);
    }

    fn end(&mut self) {}
}

/// Runs a loop of `n` iterations that take no time; returns the number of events.
fn events(n: u64, p: u32, policy: Policy) -> u64 {
    let instance = Instance::new(n, p);
    let all = (0..p).map(Rank);
    let mut ranks: Vec<_> = all
        .clone()
        .map(|rank| Epochs::new(rank, instance, policy))
        .collect();
    let mut ahead = Ahead {
        here: Rank(0),
        mail: Vec::new(),
        busy: Vec::new(),
    };
    let mut events = 0;
    for here in all {
        ahead.here = here;
        ranks[here.index()].begin(&mut ahead);
    }
    loop {
        events += 1;
        if let Some((from, here, message)) = ahead.mail.pop() {
            ahead.here = here;
            let machine = &mut ranks[here.index()];
            machine
                .on(from, message, &mut ahead)
                .expect("it is expected");
        } else if let Some(here) = ahead.busy.pop() {
            ahead.here = here;
            ranks[here.index()].free(&Summary::NONE, &mut ahead);
        } else {
            return events;
        }
    }
}

fn epochs(c: &mut Criterion) {
    let mut group = c.benchmark_group("defer/epochs");
    for p in [8, 512] {
        let n = 64 * u64::from(p);
        group.throughput(Throughput::Elements(events(n, p, Policy::Factoring)));
        group.bench_function(BenchmarkId::new("event", p), |b| {
            b.iter(|| events(black_box(n), p, Policy::Factoring));
        });
    }
    group.finish();
}

criterion_group!(benches, epochs);
criterion_main!(benches);
