//! What it costs to know that everything has ended.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline_core::PlaceId;
use tautline_core::finish::{Actions, Counter, FinishId, Finishes, Home, Ledger, Message, Outcome};

/// Places that a reporting place has sent loot to.
const COMPONENTS: u32 = 10;

/// Messages under way.
struct Mail(Vec<(PlaceId, Message)>);

impl Actions for Mail {
    fn send(&mut self, to: PlaceId, message: Message) {
        self.0.push((to, message));
    }
    fn cancel(&mut self, _: FinishId, _: &Outcome) {}
    fn done(&mut self, _: FinishId, _: Option<Outcome>) {}
}

/// A finish with one activity at another place, from beginning to end.
fn away(home: &mut Finishes, other: &mut Finishes, mail: &mut Mail) {
    let (here, there) = (PlaceId(0), PlaceId(1));
    let id = home.open(None, mail);
    let _ = black_box(home.spawned(id, there, mail));
    home.quiet(id, mail);
    let _ = black_box(other.arrived(id, here, mail)).expect("it is expected");
    other.quiet(id, mail);
    other.flush(mail);
    while let Some((to, message)) = mail.0.pop() {
        let taken = if to == here {
            home.on(there, message, mail)
        } else {
            other.on(here, message, mail)
        };
        taken.expect("it is expected");
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
    let mut places = [0, 1].map(|at| Finishes::new(PlaceId(at), 2));
    let mut mail = Mail(Vec::new());
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
