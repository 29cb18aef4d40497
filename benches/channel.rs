//! The cost of records through a ring: in batches on one thread, and from one processor to another
//! and back, beside a cache line that does the same.
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::channel::{Local, Memory, Receiver, Sender};
use tautline_core::port::Fence;
use tautline_node::pool::{Plan, Threads};

const BATCH: u64 = 64;
const UNITS: usize = 1 << 10;

fn batches(c: &mut Criterion) {
    let threads = Threads::start(&Plan::flat(1));
    let fence = threads.pool().port();
    let mut group = c.benchmark_group("channel");
    group.throughput(Throughput::Elements(BATCH));
    for bytes in [8, 64, 256] {
        let memory = Local::new(1 << 13);
        let (mut sender, mut receiver) = (Sender::new(&memory), Receiver::new(&memory));
        let (record, mut into) = (vec![7; bytes], vec![0; bytes]);
        group.bench_function(BenchmarkId::new("batch", bytes), |b| {
            b.iter(|| {
                for _ in 0..BATCH {
                    sender.send(black_box(&record)).expect("there is room");
                }
                _ = sender.flush(fence);
                while let Ok(Some(_)) = receiver.peek() {
                    receiver.take(&mut into);
                    black_box(&mut into);
                }
                receiver.release(fence)
            });
        });
    }
    group.finish();
}

/// Receives a record of 8 bytes.
fn receive<M: Memory>(receiver: &mut Receiver<M>, fence: &impl Fence) {
    while receiver.peek() != Ok(Some(8)) {
        spin_loop();
    }
    receiver.take(black_box(&mut [0; 8]));
    _ = receiver.release(fence);
}

fn send<M: Memory>(sender: &mut Sender<M>, fence: &impl Fence) {
    while sender.send(black_box(&[7; 8])).is_err() {
        spin_loop();
    }
    _ = sender.flush(fence);
}

/// Round trips between this thread and another.
fn between(c: &mut Criterion) {
    let threads = Threads::start(&Plan::flat(1));
    let fence = threads.pool().port();
    let mut group = c.benchmark_group("channel");
    group.bench_function("round_trip/8", |b| {
        b.iter_custom(|rounds| {
            let (there, back) = (Local::new(UNITS), Local::new(UNITS));
            thread::scope(|threads| {
                threads.spawn(|| {
                    let (mut receiver, mut sender) = (Receiver::new(&there), Sender::new(&back));
                    for _ in 0..rounds {
                        receive(&mut receiver, fence);
                        send(&mut sender, fence);
                    }
                });
                let (mut sender, mut receiver) = (Sender::new(&there), Receiver::new(&back));
                timed(rounds, || {
                    send(&mut sender, fence);
                    receive(&mut receiver, fence);
                })
            })
        });
    });
    group.bench_function("round_trip/line", |b| {
        b.iter_custom(|rounds| {
            let (line, over) = (AtomicUsize::new(0), AtomicBool::new(false));
            let wait = |parity: usize| {
                while line.load(Acquire) % 2 != parity && !over.load(Relaxed) {
                    spin_loop();
                }
            };
            thread::scope(|threads| {
                threads.spawn(|| {
                    while !over.load(Relaxed) {
                        wait(1);
                        line.fetch_add(1, AcqRel);
                    }
                });
                let took = timed(rounds, || {
                    line.fetch_add(1, AcqRel);
                    wait(0);
                });
                over.store(true, Relaxed);
                took
            })
        });
    });
    group.finish();
}

fn timed(rounds: u64, mut round: impl FnMut()) -> Duration {
    let began = Instant::now();
    for _ in 0..rounds {
        round();
    }
    began.elapsed()
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = batches, between
}
criterion_main!(benches);
