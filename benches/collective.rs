//! What a collective operation costs its machines: the messages of all ranks, delivered in memory.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tautline_core::Rank;
use tautline_core::collective::{AllReduce, Branch, CombineForAll, radix};

/// Runs a sum over `ranks`; returns that of the last rank to end.
fn sum(ranks: u32, radix: u32) -> u64 {
    let all = (0..ranks).map(Rank);
    let operation = || CombineForAll::by(|a: u64, b: u64| a + b);
    let machine = |rank| AllReduce::new(Branch::new(rank, ranks, radix), operation());
    let mut machines: Vec<_> = all.clone().map(machine).collect();
    let mut mail = Vec::new();
    let mut last = 0;
    for here in all {
        let own = u64::from(here.0);
        let ended = machines[here.index()].begin(own, &mut |to, m| mail.push((here, to, m)));
        last = ended.unwrap_or(last);
    }
    while let Some((from, here, message)) = mail.pop() {
        let machine = &mut machines[here.index()];
        let ended = machine.on(from, message, &mut |to, m| mail.push((here, to, m)));
        last = ended.expect("it is expected").unwrap_or(last);
    }
    last
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
