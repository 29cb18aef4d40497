//! What a balanced computation costs around its work: its start on the threads of a runtime, and its end.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline::glb::Glb;
use tautline::prelude::*;

/// A computation of one task.
fn once(glb: &Glb) -> u64 {
    let run = glb.clone().sum([black_box(1_u64)], |task, _| task);
    run.expect("the settings are valid").output
}

/// One place of as many workers as the runtime has, called from outside of the runtime: its workers are parked, or
/// look for tasks. Then the same from one of its tasks, and by a `Glb` that keeps threads of its own.
fn start(c: &mut Criterion) {
    let mut group = c.benchmark_group("start");
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder().workers(workers).places(1).build();
        let runtime = runtime.expect("the settings are valid");
        group.bench_function(BenchmarkId::new("outside", workers), |b| {
            b.iter(|| once(&runtime.glb()));
        });
        group.bench_function(BenchmarkId::new("inside", workers), |b| {
            runtime.run(|_| b.iter(|| once(&runtime.glb())));
        });
        let own = Glb::new().places(1).workers(workers).pinned(true);
        group.bench_function(BenchmarkId::new("own", workers), |b| {
            b.iter(|| once(&own));
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
