//! Parallel loops and iteration beside a static division and rayon, on the same iterations, with two workers.
#![allow(missing_docs)]

#[path = "common/pinning.rs"]
mod pinning;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;
use tautline::loops::Sharing;
use tautline::prelude::*;

/// A chain of `n` dependent steps, which no compiler shortens.
fn steps(n: usize) -> f64 {
    (0..n).fold(black_box(1.0), |x, _| x * 0.999 + 0.001)
}

/// A row of the Mandelbrot set, 512 points wide.
fn mandelbrot(row: usize) -> u32 {
    let y = row as f64 / 512.0 - 1.0;
    let point = |column: usize| {
        let x = column as f64 / 256.0 - 1.5;
        let (mut a, mut b) = (0.0f64, 0.0f64);
        let escapes = (0..200u32).find(|_| {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            a * a + b * b > 4.0
        });
        escapes.unwrap_or(200)
    };
    (0..512).map(point).sum()
}

/// A step count from the hash of an index, geometrically distributed around 256.
fn geometric(i: usize) -> usize {
    let hash = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    (-256.0 * (1.0 - hash as f64 / (1u64 << 53) as f64).ln()) as usize
}

struct Kernel {
    name: &'static str,
    len: usize,
    body: fn(usize),
}

const KERNELS: [Kernel; 5] = [
    Kernel {
        name: "mandel",
        len: 1024,
        body: |i| _ = black_box(mandelbrot(i)),
    },
    Kernel {
        name: "geo",
        len: 20_000,
        body: |i| _ = black_box(steps(geometric(i))),
    },
    Kernel {
        name: "tri",
        len: 2_000,
        body: |i| _ = black_box(steps(2_000 - i)),
    },
    Kernel {
        name: "fine",
        len: 1_000_000,
        body: |i| _ = black_box(i * i),
    },
    Kernel {
        name: "short",
        len: 2,
        body: |i| _ = black_box(i),
    },
];

/// Two pinned workers of each.
fn workers() -> (Runtime, rayon::ThreadPool) {
    let runtime = Runtime::builder().workers(2).build().expect("two threads");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(pinning::pin);
    (runtime, pool.build().expect("two threads"))
}

/// Returns 10^7 numbers of 36 bits without a pattern, whose sum has fewer than 64.
fn numbers() -> Vec<u64> {
    let scramble = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 28;
    (0..10_000_000).map(scramble).collect()
}

/// Reductions and collections of these numbers.
fn iteration(c: &mut Criterion) {
    let (runtime, pool) = workers();
    let numbers = numbers();

    let mut group = c.benchmark_group("iteration/sum");
    group.bench_function("tautline", |b| {
        b.iter(|| runtime.run(|cx| cx.par(&numbers).map(|n| *n).sum::<u64>()));
    });
    group.bench_function("rayon", |b| {
        b.iter(|| pool.install(|| numbers.par_iter().map(|n| *n).sum::<u64>()));
    });
    group.finish();

    let mut group = c.benchmark_group("iteration/map");
    group.bench_function("tautline", |b| {
        b.iter(|| runtime.run(|cx| cx.par(&numbers).map(|n| n ^ (n >> 7)).collect()));
    });
    group.bench_function("rayon", |b| {
        b.iter(|| {
            pool.install(|| -> Vec<u64> { numbers.par_iter().map(|n| n ^ (n >> 7)).collect() })
        });
    });
    group.finish();

    let mut group = c.benchmark_group("iteration/filter");
    group.bench_function("tautline", |b| {
        b.iter(|| {
            runtime.run(|cx| {
                cx.par(&numbers)
                    .map(|n| *n)
                    .filter(|n| n % 2 == 0)
                    .collect()
            })
        });
    });
    group.bench_function("rayon", |b| {
        let even = || -> Vec<u64> {
            numbers
                .par_iter()
                .map(|n| *n)
                .filter(|n| n % 2 == 0)
                .collect()
        };
        b.iter(|| pool.install(even));
    });
    group.finish();
}

/// Sorts of the same numbers.
fn sorts(c: &mut Criterion) {
    let (runtime, pool) = workers();
    let numbers = numbers();

    let mut group = c.benchmark_group("iteration/sort_unstable");
    group.bench_function("tautline", |b| {
        let sort = |mut v: Vec<u64>| {
            runtime.run(|cx| cx.par(&mut v).sort_unstable());
            v
        };
        b.iter_batched(|| numbers.clone(), sort, BatchSize::LargeInput);
    });
    group.bench_function("rayon", |b| {
        let sort = |mut v: Vec<u64>| {
            pool.install(|| v.par_sort_unstable());
            v
        };
        b.iter_batched(|| numbers.clone(), sort, BatchSize::LargeInput);
    });
    group.finish();
}

fn loops(c: &mut Criterion) {
    let (runtime, pool) = workers();
    for Kernel { name, len, body } in KERNELS {
        let mut group = c.benchmark_group(format!("loops/{name}"));
        group.bench_function("sequential", |b| b.iter(|| (0..len).for_each(body)));
        group.bench_function("static", |b| {
            b.iter(|| {
                runtime.run(|cx| {
                    cx.join(
                        |_| (0..len / 2).for_each(body),
                        |_| (len / 2..len).for_each(body),
                    );
                });
            });
        });
        group.bench_function("tautline", |b| {
            b.iter(|| runtime.run(|cx| cx.par_for(0..len, body)));
        });
        group.bench_function("rayon", |b| {
            b.iter(|| pool.install(|| (0..len).into_par_iter().for_each(body)));
        });
        group.finish();
    }
}

/// An irregular loop and a regular one of about the same work: with a barrier between them, and at a time.
fn pairs(c: &mut Criterion) {
    let (runtime, _) = workers();
    let irregular = |i: usize| _ = black_box(steps(100 * geometric(i)));
    let regular = |_: usize| _ = black_box(steps(100 * 256));
    for len in [16, 32, 256] {
        let mut group = c.benchmark_group(format!("loops/pair{len}"));
        group.bench_function("barrier", |b| {
            b.iter(|| {
                runtime.run(|cx| {
                    cx.par_for(0..len, irregular);
                    cx.par_for(0..len, regular);
                });
            });
        });
        for (name, sharing) in [("fill", Sharing::Fill), ("partition", Sharing::Partition)] {
            group.bench_function(name, |b| {
                b.iter(|| {
                    runtime.run(|cx| {
                        cx.concurrent(|loops| {
                            loops.share_by(sharing);
                            loops.par_for(0..len).for_each(irregular);
                            loops.par_for(0..len).for_each(regular);
                        })
                    })
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = loops, pairs, iteration, sorts
}
criterion_main!(benches);
