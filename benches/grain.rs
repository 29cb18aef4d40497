//! Costs of the grain tuner: a turn that is not timed, a timed turn, and a verdict.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::{Duration, Instant};
use tautline_core::grain::{Log, Pace, Rule, Tuner, Tuning};

fn grain(c: &mut Criterion) {
    let mut group = c.benchmark_group("grain");
    let origin = Instant::now();
    let now = || origin.elapsed().as_nanos() as u64;
    for (name, interval) in [("turn_1ms", 1_000_000), ("turn_always_timed", 0)] {
        let tuning = Tuning {
            interval,
            ..Tuning::default()
        };
        let mut pace = Pace::new(&tuning, now());
        group.bench_function(name, |b| {
            b.iter(|| {
                let report = pace.begin(now);
                pace.looked(now);
                pace.did(black_box(511), false);
                report
            });
        });
    }
    for rule in [Rule::Direct, Rule::MergeEmpty, Rule::SplitMerge] {
        let mut tuner = Tuner::new(Tuning::thesis(rule), 0);
        let (mut log, mut at) = (Log::default(), 0);
        group.bench_function(format!("verdict_{rule:?}"), |b| {
            b.iter(|| {
                at += 1_000_000;
                log.fed += 2;
                log.emptied += 1;
                log.sample.turns += 1;
                log.sample.tasks += 10;
                log.sample.looking += 5;
                log.sample.computing += 100;
                tuner.tick(black_box(log), at)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = grain
}
criterion_main!(benches);
