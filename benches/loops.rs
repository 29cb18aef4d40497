//! Parallel loops and iteration beside a static division and rayon, on the same iterations, with
//! two workers.
#![allow(missing_docs)]

#[allow(dead_code, reason = "the table of schedules uses all of it")]
#[path = "common/iterations.rs"]
mod iterations;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use iterations::{geometric, mandelbrot, steps};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Duration;
use tautline_bench::pools::both;
use tautline_core::loops::Schedule;
use tautline_core::loops::Sharing;

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

/// Returns 10^7 numbers of 36 bits without a pattern, whose sum has fewer than 64.
fn numbers() -> Vec<u64> {
    let scramble = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 28;
    (0..10_000_000).map(scramble).collect()
}

/// Reductions and collections of these numbers.
fn iteration(c: &mut Criterion) {
    let (runtime, pool) = both(2);
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
        b.iter(|| runtime.run(|cx| cx.par(&numbers).map(|n| n ^ (n >> 7)).collect::<Vec<_>>()));
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
                    .collect::<Vec<_>>()
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
    let (runtime, pool) = both(2);
    let numbers = numbers();
    let tautline = |mut v: Vec<u64>, is_stable: bool| {
        runtime.run(|cx| match is_stable {
            true => cx.par(&mut v).sort(),
            false => cx.par(&mut v).sort_unstable(),
        });
        v
    };
    let rayon = |mut v: Vec<u64>, is_stable: bool| {
        pool.install(|| match is_stable {
            true => v.par_sort(),
            false => v.par_sort_unstable(),
        });
        v
    };
    for (name, is_stable) in [("sort", true), ("sort_unstable", false)] {
        let mut group = c.benchmark_group(format!("iteration/{name}"));
        let size = BatchSize::LargeInput;
        group.bench_function("tautline", |b| {
            b.iter_batched(|| numbers.clone(), |v| tautline(v, is_stable), size);
        });
        group.bench_function("rayon", |b| {
            b.iter_batched(|| numbers.clone(), |v| rayon(v, is_stable), size);
        });
        group.finish();
    }
}

/// A prefix sum of the same numbers beside a sequential one: rayon has none.
fn scans(c: &mut Criterion) {
    let (runtime, _) = both(2);
    let mut numbers = numbers();
    let mut group = c.benchmark_group("iteration/scan");
    group.bench_function("tautline", |b| {
        b.iter(|| runtime.run(|cx| cx.par(&mut numbers).scan(|a, b| a.wrapping_add(*b))));
    });
    group.bench_function("sequential", |b| {
        b.iter(|| {
            numbers.iter_mut().fold(0u64, |sum, n| {
                *n = sum.wrapping_add(*n);
                *n
            })
        });
    });
    group.finish();
}

/// Transpositions of the tiles of a grid of 2048 rows, beside a sequential loop and rayon's chunks
/// of as many rows.
fn tiles(c: &mut Criterion) {
    const SIDE: usize = 2048;
    const TILE: usize = 64;
    let (runtime, pool) = both(2);
    let mut grid: Vec<f64> = (0..SIDE * SIDE).map(|i| i as f64).collect();
    /// Transposes the tiles of a band of rows.
    fn band(rows: &mut [f64]) {
        for left in (0..SIDE).step_by(TILE) {
            for row in 0..TILE {
                for column in row + 1..TILE {
                    rows.swap(row * SIDE + left + column, column * SIDE + left + row);
                }
            }
        }
    }
    let mut group = c.benchmark_group("iteration/tiles");
    group.bench_function("sequential", |b| {
        b.iter(|| grid.chunks_mut(TILE * SIDE).for_each(band));
    });
    group.bench_function("tautline", |b| {
        b.iter(|| {
            runtime.run(|cx| {
                let tiles = cx.par(&mut grid).tiles_mut(SIDE, (TILE, TILE));
                tiles.for_each(|mut tile| {
                    for row in 0..TILE {
                        for column in row + 1..TILE {
                            let swapped = tile[column][row];
                            tile[column][row] = std::mem::replace(&mut tile[row][column], swapped);
                        }
                    }
                });
            });
        });
    });
    group.bench_function("rayon", |b| {
        b.iter(|| pool.install(|| grid.par_chunks_mut(TILE * SIDE).for_each(band)));
    });
    group.finish();
}

/// The begin and the end of a loop of empty iterations, inside of a task: of a fork, a loop for
/// which no times are kept, and one whose times are known.
fn begins(c: &mut Criterion) {
    let (runtime, _) = both(2);
    let mut group = c.benchmark_group("loops/begin_and_end");
    group.bench_function("join", |b| {
        runtime.run(|cx| b.iter(|| cx.join(|_| black_box(1), |_| black_box(2))));
    });
    group.bench_function("static", |b| {
        runtime.run(|cx| {
            b.iter(|| {
                let halves = cx.loop_over(0..2).schedule(Schedule::Static);
                halves.for_each(|i| _ = black_box(i));
            });
        });
    });
    for len in [2, 64] {
        group.bench_function(format!("auto_{len}"), |b| {
            runtime.run(|cx| b.iter(|| cx.par_for(0..len, |i| _ = black_box(i))));
        });
    }
    group.finish();
}

fn loops(c: &mut Criterion) {
    let (runtime, pool) = both(2);
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

/// An irregular loop and a regular one of about the same work: with a barrier between them, and at
/// a time.
fn pairs(c: &mut Criterion) {
    let (runtime, _) = both(2);
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
    targets = begins, loops, pairs, iteration, sorts, scans, tiles
}
criterion_main!(benches);
