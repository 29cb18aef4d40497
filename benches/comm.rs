//! The cost of communication tasks: a task from its submission to its completion, and the match of
//! a message.
#![allow(missing_docs)]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{
    Body, CommId, Complete, Done, Effect, End, Envelope, Event, Incoming, Matching, Operation,
    Outcome, Pattern, Tag, Worker,
};
use tautline_core::machine::{Machine, Step};

const WORLD: CommId = CommId(0);

/// Ends every operation at once.
struct Instant;

impl Machine for Instant {
    type Peer = Rank;
    type Message = ();
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        if let Event::Start(ticket, _) = event {
            step.effect(Effect::Ended(ticket, Ok(Done::default())));
        }
    }

    fn receive(&mut self, _: Rank, (): (), _: &mut Step<'_, Self>) -> Result<(), &'static str> {
        Err("nothing is sent")
    }
}

/// Tasks that are submitted and completed by one thread, without a message.
fn task(c: &mut Criterion) {
    let mut group = c.benchmark_group("comm/task");
    for outstanding in [1_u32, 64] {
        group.throughput(Throughput::Elements(u64::from(outstanding)));
        let carrier = Box::new(|_, ()| unreachable!("nothing is sent"));
        let mut worker = Worker::new(Instant, Box::new(()), carrier, Arc::new(|| ()));
        let tasks = worker.tasks().clone();
        let done: Arc<dyn Complete> = Arc::new(|_: Outcome| ());
        group.bench_function(BenchmarkId::new("outstanding", outstanding), |b| {
            b.iter(|| {
                for tag in 0..outstanding {
                    let operation = Operation::Send {
                        comm: WORLD,
                        to: Rank(1),
                        tag: Tag(tag),
                        body: Body::default(),
                    };
                    tasks.submit(operation, Arc::clone(&done));
                }
                assert!(worker.step());
            });
        });
    }
    group.finish();
}

/// A message for the last of some receives that are posted.
fn matching(c: &mut Criterion) {
    let mut group = c.benchmark_group("comm/match");
    for posted in [1_u32, 64] {
        let envelope = Envelope {
            comm: WORLD,
            source: Rank(0),
            tag: Tag(posted - 1),
            bytes: 0,
        };
        let setup = || {
            let mut matching = Matching::new();
            for tag in 0..posted {
                let pattern = Pattern {
                    tag: Some(Tag(tag)),
                    ..Pattern::any(WORLD)
                };
                matching.receive(tag, pattern, 0, &mut |_, _| unreachable!("no message"));
            }
            matching
        };
        group.bench_function(BenchmarkId::new("posted", posted), |b| {
            b.iter_batched_ref(
                setup,
                |matching| {
                    let message = Incoming { envelope, body: () };
                    matching.arrive(message, &mut |_, end| {
                        assert!(matches!(end, End::Received(_)));
                    })
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, task, matching);
criterion_main!(benches);
