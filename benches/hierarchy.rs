//! The cost of the tree of memories: to build once, and to traverse at each failed search.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline_core::hierarchy::{Kind, Spec};

/// Two sockets of 64 cores, eight to a cache, two workers each.
fn node() -> Spec {
    let core = Spec::new(Kind::Core).copies(8).workers(2);
    let cache = Spec::new(Kind::Cache).copies(8).child(core);
    let socket = Spec::new(Kind::Memory).copies(2).child(cache);
    Spec::new(Kind::Memory).child(socket)
}

fn hierarchy(c: &mut Criterion) {
    let mut group = c.benchmark_group("hierarchy");
    let spec = node();
    group.bench_function("build_256_workers", |b| b.iter(|| black_box(&spec).build()));
    let tree = spec.build().expect("a sound description");
    group.bench_function("victims_nearest_16", |b| {
        b.iter(|| tree.victims(black_box(100)).take(16).sum::<u32>());
    });
    group.bench_function("victims_all_255", |b| {
        b.iter(|| tree.victims(black_box(100)).sum::<u32>());
    });
    group.bench_function("distance", |b| {
        b.iter(|| tree.distance(black_box(3), black_box(250)));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = hierarchy
}
criterion_main!(benches);
