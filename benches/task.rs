//! The cost of forks, spawned tasks and the entry into a pool, compared with peers.
#![allow(missing_docs)]

#[path = "common/forks.rs"]
mod forks;
#[path = "common/work.rs"]
mod work;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use criterion::{criterion_group, criterion_main};
use forks::{Calls, Chili, Rayon, Runtime, Spawn, Task, Tautline};
use std::hint::black_box;
use std::time::Duration;
use tautline_cli::uts::{Tree, named};
use work::{Empty, Fib, Nothing, Queens, Regions, Search};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

const WORKERS: [usize; 2] = [1, 2];

/// One runtime at the same task, again and again.
fn run<R: Runtime, T: Task>(group: &mut Group<'_>, workers: usize, task: impl Fn() -> T) {
    let runtime = R::start(workers);
    let name = format!("{}/{workers}", R::NAME);
    group.bench_function(name, |b| b.iter(|| runtime.run(black_box(task()))));
}

/// All runtimes that have threads.
fn run_all<T: Task>(group: &mut Group<'_>, workers: usize, task: impl Fn() -> T) {
    run::<Tautline, T>(group, workers, &task);
    run::<Rayon, T>(group, workers, &task);
    run::<Chili, T>(group, workers, &task);
}

fn forks(c: &mut Criterion) {
    let fib = Fib(22);
    let mut group = c.benchmark_group("task/fib");
    group.throughput(Throughput::Elements(fib.known().1));
    run::<Calls, _>(&mut group, 1, || fib);
    for workers in WORKERS {
        run_all(&mut group, workers, || fib);
    }
    group.finish();
    let mut group = c.benchmark_group("task/queens");
    run::<Calls, _>(&mut group, 1, || Queens::new(9));
    for workers in WORKERS {
        run_all(&mut group, workers, || Queens::new(9));
    }
    group.finish();
    let mut group = c.benchmark_group("task/empty");
    group.throughput(Throughput::Elements(1000));
    run_all(&mut group, 1, || Empty(1000));
    group.finish();
}

/// The deep tree not by chili, whose threads have stacks that it overflows.
fn trees(c: &mut Criterion) {
    for (name, deep) in [("T1", false), ("T3", true)] {
        let known = named::find(name).expect("a sample tree");
        let tree = Tree::new(known.params).expect("a valid tree");
        let mut group = c.benchmark_group(format!("task/{name}"));
        group
            .throughput(Throughput::Elements(known.nodes))
            .sample_size(10);
        let search = || Search(&tree, tree.root());
        for workers in WORKERS {
            run::<Tautline, _>(&mut group, workers, search);
            run::<Rayon, _>(&mut group, workers, search);
            if !deep {
                run::<Chili, _>(&mut group, workers, search);
            }
        }
        group.finish();
    }
}

fn spawns<R: Spawn>(group: &mut Group<'_>, tasks: u32) {
    for workers in WORKERS {
        let runtime = R::start(workers);
        let name = format!("{}/{workers}", R::NAME);
        group.bench_function(name, |b| b.iter(|| runtime.spawn(1, black_box(tasks))));
    }
}

fn scopes(c: &mut Criterion) {
    for tasks in [10, 1_000, 100_000] {
        let mut group = c.benchmark_group(format!("task/spawn{tasks}"));
        group.throughput(Throughput::Elements(u64::from(tasks)));
        spawns::<Tautline>(&mut group, tasks);
        spawns::<Rayon>(&mut group, tasks);
        group.finish();
    }
}

fn regions(c: &mut Criterion) {
    const TIMES: u32 = 100;
    let mut group = c.benchmark_group("task/region");
    group.throughput(Throughput::Elements(u64::from(TIMES)));
    run::<Tautline, _>(&mut group, 2, || Regions(TIMES));
    // Its joins do not promise that both halves run at once; its broadcast does.
    let Rayon(pool) = Rayon::start(2);
    let broadcasts = || (0..TIMES).for_each(|_| drop(pool.broadcast(|_| ())));
    group.bench_function("rayon broadcast/2", |b| {
        b.iter(|| pool.install(broadcasts));
    });
    group.finish();
    let mut group = c.benchmark_group("task/enter");
    run_all(&mut group, 2, || Nothing);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = forks, trees, scopes, regions
}
criterion_main!(benches);
