//! The cost of phasers: a barrier of threads, tasks that come and go, reductions, and a ring of
//! two.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::phaser::{Accumulator, Config, Mode, Op, Registration};
use tautline_core::port::{Barrier, Relax};

/// Spins, then yields: threads may share processors.
#[derive(Clone, Copy)]
struct Yield;

impl Relax for Yield {
    fn relax(&self, turn: u32) {
        if turn < 1000 {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

impl Barrier for Yield {}

/// Live tasks while others come and go.
const LIVE: usize = 10_000;
const DEGREES: [usize; 3] = [2, 4, 8];

type Task = Registration<Yield>;

/// The creator and this number of other tasks.
fn tasks(mode: Mode, degree: usize, more: usize) -> (Task, Vec<Task>) {
    let config = Config {
        degree,
        ..Config::default()
    };
    let mut first = Registration::create(Yield, mode, config).expect("the degree is allowed");
    let rest = (0..more).map(|_| child(&mut first, mode)).collect();
    (first, rest)
}

fn child(parent: &mut Task, mode: Mode) -> Task {
    parent.register(mode).expect("the mode is allowed")
}

/// The time of `turns` of two tasks, each on a thread.
fn two(turns: u64, mut a: impl FnMut() + Send, mut b: impl FnMut() + Send) -> Duration {
    thread::scope(|s| {
        s.spawn(move || (0..turns).for_each(|_| b()));
        let start = Instant::now();
        (0..turns).for_each(|_| a());
        start.elapsed()
    })
}

fn next(task: &mut Task) {
    task.next_blocking().expect("phases are left");
}

fn barrier(turns: u64) -> Duration {
    let (mut first, mut rest) = tasks(Mode::SignalWait, 4, 1);
    two(
        turns,
        move || next(&mut first),
        move || {
            rest.iter_mut().for_each(next);
        },
    )
}

/// Each signals to the other, on a phaser of its own.
fn ring(turns: u64) -> Duration {
    let edge = || {
        let (mut maker, _) = tasks(Mode::SignalWait, 4, 0);
        (
            child(&mut maker, Mode::Signal),
            child(&mut maker, Mode::Wait),
        )
    };
    let ((mut there, mut at_b), (mut back, mut at_a)) = (edge(), edge());
    let a = move || {
        next(&mut there);
        next(&mut at_a);
    };
    let b = move || {
        next(&mut at_b);
        next(&mut back);
    };
    two(turns, a, b)
}

fn phases(c: &mut Criterion) {
    let mut group = c.benchmark_group("phaser");
    group.bench_function("next_alone", |b| {
        let (mut task, _) = tasks(Mode::SignalWait, 4, 0);
        b.iter(|| next(&mut task));
    });
    group.bench_function("barrier_2", |b| b.iter_custom(barrier));
    group.bench_function("ring_2", |b| b.iter_custom(ring));
    group.finish();
}

fn churn(c: &mut Criterion) {
    let mut group = c.benchmark_group("phaser");
    for degree in DEGREES {
        let (mut first, _rest) = tasks(Mode::SignalWait, degree, LIVE);
        group.bench_function(BenchmarkId::new("register_drop_at_10k", degree), |b| {
            b.iter(|| drop(black_box(child(&mut first, Mode::SignalWait))));
        });
    }
    group.finish();
}

fn reductions(c: &mut Criterion) {
    let mut group = c.benchmark_group("phaser");
    for n in [1, 16, 256] {
        // One thread plays all, so each does what masters would.
        let config = Config {
            help_after: 0,
            ..Config::default()
        };
        let sum = Accumulator::create(Yield, Op::Sum, None, config);
        let (sum, mut first) = sum.expect("u64 has a sum");
        let mut rest: Vec<_> = (1..n)
            .map(|_| child(&mut first, Mode::SignalWait))
            .collect();
        group.bench_function(BenchmarkId::new("sum_on_one_thread", n), |b| {
            b.iter(|| {
                for task in rest.iter_mut().chain([&mut first]) {
                    sum.put(task, black_box(1u64))
                        .expect("it has not signalled");
                    task.signal().expect("phases are left");
                }
                rest.iter_mut().chain([&mut first]).for_each(next);
                sum.get()
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = phases, churn, reductions
}
criterion_main!(benches);
