//! What it costs to know that everything has ended.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline_core::PlaceId;
use tautline_core::finish::{Counter, Home, Ledger};

/// Places that a reporting place has sent loot to.
const COMPONENTS: u32 = 10;

fn finish(c: &mut Criterion) {
    let mut group = c.benchmark_group("finish");
    let counter = Counter::new();
    group.bench_function("counter_spawn_end", |b| {
        b.iter(|| {
            black_box(&counter).spawn();
            counter.end()
        });
    });
    let fresh = || (Home::new(COMPONENTS + 2), Ledger::new(PlaceId(1)));
    group.bench_function("ledger_report_home_10", |b| {
        b.iter_batched(
            fresh,
            |(mut home, mut ledger)| {
                for at in 0..COMPONENTS {
                    ledger.spawned(PlaceId(black_box(at + 2)));
                }
                home.on(PlaceId(1), ledger.report());
                (home, ledger)
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = finish
}
criterion_main!(benches);
