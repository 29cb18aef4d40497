//! The cost of the meeting points of a place for its workers.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tautline_core::glb::{Bag, Config, Control, Message, Share, Team, Worker};
use tautline_core::lifeline::{Graph, Reserve};
use tautline_core::port::{Clock, Park, Relax, Spin, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// Units that take no time and can not be divided: what is left is the turn around them.
struct Nothing(u64);

impl Bag for Nothing {
    type Shared = ();
    type Output = ();

    fn process(&mut self, n: usize, (): &()) -> usize {
        self.0 = black_box(self.0 - 1);
        n
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        usize::from(self.0 > 0)
    }

    fn submit(self, (): &mut ()) {}
}

/// A machine with one thread.
#[derive(Default)]
struct Alone(AtomicBool);

impl Clock for Alone {
    fn now(&self) -> u64 {
        0
    }
}

impl Relax for Alone {
    fn relax(&self, turn: u32) {
        Spin.relax(turn);
    }
}

impl Unpark for Alone {
    fn unpark(&self, _: WorkerId) {}
}

impl Park for Alone {
    fn park(&self, _: WorkerId) {}
}

impl Transport<Message<Nothing>> for Alone {
    fn send(&self, _: PlaceId, _: Message<Nothing>) {}

    fn close(&self) {
        self.0.store(true, Relaxed);
    }

    fn is_closed(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// One worker of a place of two, whose reserve for others is empty: every look of a turn is made.
fn turns(turns: u64) -> Duration {
    let config = Config {
        workers: 2,
        ..Config::default()
    };
    let (team, port) = (Team::new(PlaceId::HOME, &config, ()), Alone::default());
    team.begin(Nothing(turns), &port);
    let control = Control::new();
    let worker = Worker::new(&team, WorkerId(0), &port, &control, ());
    let start = Instant::now();
    worker.run();
    start.elapsed()
}

fn lifeline(c: &mut Criterion) {
    let mut group = c.benchmark_group("lifeline");
    group.bench_function("empty_turn", |b| b.iter_custom(turns));
    let reserve = Reserve::new();
    group.bench_function("reserve_feed_take", |b| {
        b.iter(|| {
            reserve.feed(black_box(1u64), |there, more| *there += more, &Spin);
            reserve.take(|_| None, &Spin)
        });
    });
    const PLACES: u32 = 1024;
    group.throughput(Throughput::Elements(PLACES.into()));
    for (name, graph) in [
        ("ring", Graph::Ring),
        ("hypercube2", Graph::Hypercube { radix: 2 }),
        ("hypercube32", Graph::Hypercube { radix: 32 }),
    ] {
        group.bench_function(format!("neighbours_1024/{name}"), |b| {
            b.iter_batched(
                || 0..PLACES,
                |places| {
                    places
                        .flat_map(|p| graph.outgoing(PlaceId(black_box(p)), PLACES))
                        .fold(0, |sum, q| sum ^ q.0)
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = lifeline
}
criterion_main!(benches);
