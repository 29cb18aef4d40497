//! The cost of the detection of termination.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline_core::finish::{Counter, Event, Finishes, Home, Ledger, Message};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::{Layout, PlaceId};

/// Places that a reporting place has sent loot to.
const COMPONENTS: u32 = 10;

/// Messages under way.
type Mail = Vec<(PlaceId, Message)>;

/// Lets a place take a step.
fn step<R>(mail: &mut Mail, take: impl FnOnce(&mut Step<'_, Finishes>) -> R) -> R {
    let mut act = |action| {
        if let Action::Send(to, message) = action {
            mail.push((to, message));
        }
    };
    take(&mut Step::new(&mut (), &mut act))
}

/// A finish with one activity at another place, from beginning to end.
fn away(home: &mut Finishes, other: &mut Finishes, mail: &mut Mail) {
    let (here, there) = (PlaceId(0), PlaceId(1));
    step(mail, |step| {
        let id = home.open(None, step);
        let _ = black_box(home.spawned(id, there, step));
        home.event(Event::Quiet(id), step);
        let _ = black_box(other.arrived(id, here, step)).expect("it is expected");
        other.event(Event::Quiet(id), step);
        other.event(Event::Flush, step);
    });
    while let Some((to, message)) = mail.pop() {
        let received = step(mail, |step| match to == here {
            true => home.receive(there, message, step),
            false => other.receive(here, message, step),
        });
        received.expect("it is expected");
    }
}

fn finish(c: &mut Criterion) {
    let mut group = c.benchmark_group("finish");
    let counter = Counter::new();
    group.bench_function("counter_spawn_end", |b| {
        b.iter(|| {
            black_box(&counter).spawn();
            counter.end()
        });
    });
    let fresh = || {
        (
            Home::new(PlaceId::HOME, COMPONENTS + 2),
            Ledger::new(PlaceId(1)),
        )
    };
    group.bench_function("ledger_report_home_10", |b| {
        b.iter_batched(
            fresh,
            |(mut home, mut ledger)| {
                for at in 0..COMPONENTS {
                    ledger.spawned(PlaceId(black_box(at + 2)));
                }
                let done = home.on(PlaceId(1), ledger.report());
                (home, ledger, done)
            },
            BatchSize::SmallInput,
        );
    });
    let mut places = [0, 1].map(|at| Finishes::new(PlaceId(at), Layout::new(2, 1)));
    let mut mail = Mail::new();
    group.bench_function("finish_with_one_activity_away", |b| {
        let [home, other] = &mut places;
        b.iter(|| away(home, other, &mut mail));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = finish
}
criterion_main!(benches);
