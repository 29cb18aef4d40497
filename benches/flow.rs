//! The cost of a data-driven cell: put and get, a wait for one, all or any of many, and a million
//! of them; by themselves and with tasks.
#![allow(missing_docs)]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tautline::Runtime;
use tautline_core::flow::{Ddf, NodeBox, Waiter, when_all_scoped, when_any_scoped};

/// Cells in a list.
const LISTS: [usize; 4] = [1, 4, 16, 64];
const MILLION: usize = 1_000_000;

static RELEASED: AtomicU32 = AtomicU32::new(0);

struct Count;

impl Waiter for Count {
    fn released(node: NodeBox<Self>) {
        drop(node);
        RELEASED.fetch_add(1, Ordering::Relaxed);
    }
}

fn wait(cell: &Ddf<u64>) {
    let refused = cell.register(NodeBox::new(Count));
    assert!(refused.is_ok(), "the cell is empty");
}

fn cells(n: usize) -> Vec<Ddf<u64>> {
    (0..n).map(|_| Ddf::new()).collect()
}

/// Fills all cells, of which this is the only producer.
fn put_all(cells: &[Ddf<u64>]) {
    for cell in cells {
        assert!(cell.put(black_box(1)).is_ok());
    }
}

fn one(c: &mut Criterion) {
    let mut group = c.benchmark_group("flow");
    group.bench_function("new_put_get", |b| {
        b.iter(|| {
            let cell = Ddf::new();
            let _ = cell.put(black_box(1u64));
            cell.get().copied()
        });
    });
    let full = Ddf::new();
    let _ = full.put(1u64);
    group.bench_function("get_full", |b| b.iter(|| black_box(&full).get().copied()));
    group.bench_function("register_put_release", |b| {
        b.iter(|| {
            let cell = Ddf::new();
            wait(&cell);
            cell.put(black_box(1))
        });
    });
    group.bench_function("put_on_another_thread_to_release", |b| {
        b.iter_custom(latency)
    });
    group.finish();
}

/// From a put to the waiter's poll of it on another thread, which polls all the time: one way of a
/// round trip.
fn latency(rounds: u64) -> Duration {
    let pairs: Vec<(Ddf<u64>, Ddf<u64>)> = (0..rounds).map(|_| Default::default()).collect();
    let look = |cell: &Ddf<u64>| {
        let mut looks = 0u32;
        while !cell.is_full() {
            looks += 1;
            // With fewer processors than threads the other one must run meanwhile.
            if looks % 1024 == 0 {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (ping, pong) in &pairs {
                look(ping);
                let _ = pong.put(1);
            }
        });
        let start = Instant::now();
        for (ping, pong) in &pairs {
            let _ = ping.put(1);
            look(pong);
        }
        start.elapsed() / 2
    })
}

/// One that waits for all of a list: registered with all cells empty, put in order; and one that
/// waits for any, released by the first put, and then the others are put.
fn lists(c: &mut Criterion) {
    let mut group = c.benchmark_group("flow_lists");
    for n in LISTS {
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::new("all", n), |b| {
            let run = |cells: Vec<Ddf<u64>>| {
                let list: Vec<&Ddf<u64>> = cells.iter().collect();
                let ready = |values: Vec<&u64>| drop(black_box(values));
                // SAFETY: all cells are put before they end.
                unsafe { when_all_scoped(list, ready) };
                put_all(&cells);
                cells
            };
            b.iter_batched(|| cells(n), run, BatchSize::SmallInput);
        });
        group.bench_function(BenchmarkId::new("any", n), |b| {
            let run = |cells: Vec<Ddf<u64>>| {
                let list: Vec<&Ddf<u64>> = cells.iter().collect();
                let ready = |fired: (usize, &u64)| {
                    black_box(fired);
                };
                // SAFETY: all cells are put before they end.
                let asked = unsafe { when_any_scoped(&list, ready) };
                assert!(asked.is_ok(), "there are cells");
                put_all(&cells);
                cells
            };
            b.iter_batched(|| cells(n), run, BatchSize::SmallInput);
        });
    }
    group.finish();
}

/// A million cells with a waiter each, made, registered with, put, and dropped.
fn million(c: &mut Criterion) {
    let mut group = c.benchmark_group("flow_million");
    group.throughput(Throughput::Elements(MILLION as u64));
    group.sample_size(10);
    group.bench_function("new_register_put_drop", |b| {
        b.iter(|| {
            let cells = cells(MILLION);
            cells.iter().for_each(wait);
            put_all(&cells);
        });
    });
    group.finish();
}

/// Puts for tasks that are put into a pool of one worker, in one scope.
fn tasks(c: &mut Criterion) {
    let rt = Runtime::builder().workers(1).build().expect("one worker");
    let mut group = c.benchmark_group("flow_tasks");
    group.bench_function("put_to_task_on_the_same_worker", |b| {
        b.iter_custom(|rounds| chain(&rt, rounds));
    });
    for n in LISTS {
        group.throughput(Throughput::Elements(n as u64));
        for any in [false, true] {
            let name = if any { "any" } else { "all" };
            group.bench_function(BenchmarkId::new(name, n), |b| {
                let run = |cells: Vec<Ddf<u64>>| {
                    rt.run(|cx| {
                        let list: Vec<&Ddf<u64>> = cells.iter().collect();
                        if any {
                            let asked = cx.spawn_when_any(list, |fired, _| _ = black_box(fired));
                            assert!(asked.is_ok(), "there are cells");
                        } else {
                            cx.spawn_when(list, |values, _| drop(black_box(values)));
                        }
                        put_all(&cells);
                    });
                    cells
                };
                b.iter_batched(|| cells(n), run, BatchSize::SmallInput);
            });
        }
    }
    group.finish();
}

/// From a put to the task that waited for it, and to its own put: a chain of tasks, made
/// beforehand.
fn chain(rt: &Runtime, rounds: u64) -> Duration {
    const LINKS: u64 = 10_000;
    let mut sum = Duration::ZERO;
    let mut left = rounds;
    while left > 0 {
        let links = left.min(LINKS);
        left -= links;
        let cells = cells(links as usize + 1);
        let start = rt.run(|cx| {
            for pair in cells.windows(2) {
                cx.spawn_when(&pair[0], |&value, _| _ = pair[1].put(value + 1));
            }
            let start = Instant::now();
            let _ = cells[0].put(0);
            start
        });
        sum += start.elapsed();
        assert_eq!(cells[links as usize].get(), Ok(&links));
    }
    sum
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = one, lists, million, tasks
}
criterion_main!(benches);
