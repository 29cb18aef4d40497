//! The cost of a push, a pop and a steal, in our deques and in others.
#![allow(missing_docs)]

#[allow(dead_code, reason = "stolen items are in the table of tasks")]
#[path = "common/contention.rs"]
mod contention;
#[path = "common/rivals.rs"]
mod rivals;

use contention::contended;
use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use criterion::{criterion_group, criterion_main};
use rivals::{Bucket, Crossbeam, Fixed, Growable, OwnerEnd, Rival, Split, St3};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tautline_bench::pools::pin;
use tautline_core::deque::Local;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Items in the batch of `push64_pop64`.
const BATCH: usize = 64;

fn push_pop(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.bench_function(name, |b| {
        b.iter(|| {
            owner.push(black_box(1));
            owner.pop()
        });
    });
}

fn push64_pop64(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(name, |b| {
        b.iter(|| {
            for item in 0..BATCH {
                owner.push(black_box(item));
            }
            for _ in 0..BATCH {
                black_box(owner.pop());
            }
        });
    });
}

fn steal_own(group: &mut Group<'_>, name: &str, owner: &mut impl OwnerEnd) {
    group.bench_function(name, |b| {
        b.iter(|| {
            owner.push(black_box(1));
            owner.steal_own()
        });
    });
}

fn contention<R: Rival>(group: &mut Group<'_>) {
    group.bench_function(R::NAME, |b| {
        b.iter_custom(|items| {
            let got = contended::<R>(Duration::from_micros(200));
            let each = got.elapsed.as_nanos() as f64 / got.pushed as f64;
            Duration::from_nanos((each * items as f64) as u64)
        });
    });
}

/// One function on all deques, ours of one thread included.
macro_rules! all_deques {
    ($c:expr, $work:ident) => {{
        let mut group = $c.benchmark_group(concat!("deque/", stringify!($work)));
        $work(&mut group, Fixed::NAME, &mut Fixed::default().ends().0);
        $work(
            &mut group,
            Growable::NAME,
            &mut Growable::default().ends().0,
        );
        $work(&mut group, Bucket::NAME, &mut Bucket::default().ends().0);
        $work(&mut group, Split::NAME, &mut Split::default().ends().0);
        $work(&mut group, "local", &mut Local::<usize>::new());
        $work(
            &mut group,
            Crossbeam::NAME,
            &mut Crossbeam::default().ends().0,
        );
        $work(&mut group, St3::NAME, &mut St3::default().ends().0);
        group.finish();
    }};
}

/// The bound of a pop: the fence that orders a store before a load.
fn fences(c: &mut Criterion) {
    let word = AtomicUsize::new(0);
    let mut group = c.benchmark_group("deque/store_fence_load");
    group.bench_function("full_fence", |b| {
        b.iter(|| {
            word.store(1, Ordering::Relaxed);
            tautline_core::sync::full_fence();
            word.load(Ordering::Relaxed)
        });
    });
    group.bench_function("fence_seq_cst", |b| {
        b.iter(|| {
            word.store(1, Ordering::Relaxed);
            std::sync::atomic::fence(Ordering::SeqCst);
            word.load(Ordering::Relaxed)
        });
    });
    group.finish();
}

fn deques(c: &mut Criterion) {
    pin(0);
    fences(c);
    all_deques!(c, push_pop);
    all_deques!(c, push64_pop64);
    all_deques!(c, steal_own);
    let mut group = c.benchmark_group("deque/contention");
    contention::<Fixed>(&mut group);
    contention::<Growable>(&mut group);
    contention::<Bucket>(&mut group);
    contention::<Split>(&mut group);
    contention::<Crossbeam>(&mut group);
    contention::<St3>(&mut group);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = deques
}
criterion_main!(benches);
