//! The cost of a balanced computation without its work: its start on the threads of a runtime, and
//! its end.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline::balance::Balancer;
use tautline::prelude::*;

/// A computation of one task.
fn once(balancer: &Balancer) -> u64 {
    let run = balancer.sum([black_box(1_u64)], |task, _| task);
    run.expect("the settings are valid").output
}

/// One place of as many workers as the runtime has, called from outside of the runtime: its workers
/// are parked, or look for tasks. Then the same from one of its tasks.
fn start(c: &mut Criterion) {
    let mut group = c.benchmark_group("start");
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder().workers(workers).places(1).build();
        let runtime = runtime.expect("the settings are valid");
        group.bench_function(BenchmarkId::new("outside", workers), |b| {
            b.iter(|| once(&runtime.balancer()));
        });
        group.bench_function(BenchmarkId::new("inside", workers), |b| {
            runtime.run(|_| b.iter(|| once(&runtime.balancer())));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = start
}
criterion_main!(benches);
