//! Parallel loops and iteration beside a static division and rayon, on the same iterations, with two workers.
#![allow(missing_docs)]

#[path = "common/kernels.rs"]
mod kernels;
#[path = "common/pinning.rs"]
mod pinning;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use kernels::{geometric, mandelbrot, steps};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;
use tautline::prelude::*;
use tautline_core::loops::Schedule;

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

/// What changes a copy of the same numbers in place: sorts, a prefix sum, and a step over the tiles of a grid.
fn in_place(c: &mut Criterion) {
    let (runtime, pool) = workers();
    let numbers = numbers();
    let mut compare = |name: &str, ways: &[(&str, &dyn Fn(&mut Vec<u64>))]| {
        let mut group = c.benchmark_group(format!("iteration/{name}"));
        for (way, change) in ways {
            let changed = |mut numbers: Vec<u64>| {
                change(&mut numbers);
                numbers
            };
            group.bench_function(*way, |b| {
                b.iter_batched(|| numbers.clone(), changed, BatchSize::LargeInput);
            });
        }
        group.finish();
    };
    compare(
        "sort_unstable",
        &[
            ("tautline", &|v| runtime.run(|cx| cx.par(v).sort_unstable())),
            ("rayon", &|v| pool.install(|| v.par_sort_unstable())),
        ],
    );
    compare(
        "sort",
        &[
            ("tautline", &|v| runtime.run(|cx| cx.par(v).sort())),
            ("rayon", &|v| pool.install(|| v.par_sort())),
        ],
    );
    compare(
        "scan",
        &[
            ("tautline", &|v| runtime.run(|cx| cx.par(v).scan(|a, b| a + b))),
            ("sequential", &|v| {
                for at in 1..v.len() {
                    v[at] += v[at - 1];
                }
            }),
        ],
    );
    compare(
        "tiles",
        &[
            ("tautline", &|v| {
                runtime.run(|cx| {
                    let tiles = cx.par(v).tiles_mut(COLUMNS, (64, 64));
                    tiles.for_each(|mut tile| tile.rows_mut().for_each(relax));
                });
            }),
            // It has no tiles: bands of 64 rows, each of which is divided.
            ("rayon", &|v| {
                pool.install(|| {
                    v.par_chunks_mut(64 * COLUMNS).for_each(|band| {
                        for left in (0..COLUMNS).step_by(64) {
                            let tile = left..COLUMNS.min(left + 64);
                            let rows = band.chunks_mut(COLUMNS);
                            rows.for_each(|row| relax(&mut row[tile.clone()]));
                        }
                    });
                });
            }),
        ],
    );
}

/// Columns of the numbers as a grid of 2500 rows.
const COLUMNS: usize = 4000;

/// A step of a smoother along a part of a row.
fn relax(row: &mut [u64]) {
    for at in 1..row.len() {
        row[at] = (row[at] + row[at - 1]) / 2;
    }
}

/// The start and the end of a loop whose iterations do nothing, in a task that is running.
fn starts(c: &mut Criterion) {
    let (runtime, pool) = workers();
    for len in [2, 64] {
        let mut group = c.benchmark_group(format!("loops/start_{len}"));
        group.bench_function("tautline", |b| {
            runtime.run(|cx| b.iter(|| cx.par_for(0..len, |i| _ = black_box(i))));
        });
        group.bench_function("static", |b| {
            let body = |i| _ = black_box(i);
            runtime.run(|cx| {
                b.iter(|| {
                    let schedule = cx.loop_over(0..len).schedule(Schedule::Static);
                    schedule.for_each(body);
                });
            });
        });
        group.bench_function("join", |b| {
            let body = |i| _ = black_box(i);
            runtime.run(|cx| {
                b.iter(|| {
                    cx.join(
                        |_| (0..len / 2).for_each(body),
                        |_| (len / 2..len).for_each(body),
                    );
                });
            });
        });
        group.bench_function("rayon", |b| {
            pool.install(|| b.iter(|| (0..len).into_par_iter().for_each(|i| _ = black_box(i))));
        });
        group.finish();
    }
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

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = loops, starts, iteration, in_place
}
criterion_main!(benches);
