//! The cost of the machines of a collective operation: the messages of all ranks, delivered in
//! memory.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tautline_core::Rank;
use tautline_core::collective::{AllReduce, Branch, CombineForAll, Message, radix};
use tautline_core::machine::{Action, Machine, Step};

type Sum = AllReduce<u64, fn(u64, u64) -> u64>;

/// The ranks of a sum.
struct Ranks {
    machines: Vec<Sum>,
    /// Messages under way: from, to, message.
    mail: Vec<(Rank, Rank, Message<u64, u64>)>,
    last: u64,
}

impl Ranks {
    fn step<T>(&mut self, here: Rank, take: impl FnOnce(&mut Sum, &mut Step<'_, Sum>) -> T) -> T {
        let mut act = |action| match action {
            Action::Send(to, message) => self.mail.push((here, to, message)),
            Action::Effect(sum) => self.last = sum,
        };
        let machine = &mut self.machines[here.index()];
        take(machine, &mut Step::new(&mut (), &mut act))
    }
}

/// Runs a sum over `ranks`; returns that of the last rank to end.
fn sum(ranks: u32, radix: u32) -> u64 {
    let operation = || CombineForAll::by(u64::wrapping_add as fn(u64, u64) -> u64);
    let machine = |rank| AllReduce::new(Branch::new(rank, ranks, radix), operation());
    let mut all = Ranks {
        machines: (0..ranks).map(Rank).map(machine).collect(),
        mail: Vec::new(),
        last: 0,
    };
    for here in (0..ranks).map(Rank) {
        all.step(here, |machine, step| machine.event(u64::from(here.0), step));
    }
    while let Some((from, here, message)) = all.mail.pop() {
        let received = all.step(here, |machine, step| machine.receive(from, message, step));
        received.expect("it is expected");
    }
    all.last
}

fn all_reduce(c: &mut Criterion) {
    let mut group = c.benchmark_group("collective/all_reduce");
    for ranks in [8, 1000] {
        group.throughput(Throughput::Elements(2 * u64::from(ranks - 1)));
        let radix = radix(ranks, 10, 1);
        group.bench_function(BenchmarkId::new("messages", ranks), |b| {
            b.iter(|| sum(black_box(ranks), radix));
        });
    }
    group.finish();
}

criterion_group!(benches, all_reduce);
criterion_main!(benches);
