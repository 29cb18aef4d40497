//! Costs of a loop's scheduling: the size of a chunk by each policy, and an uncontended claim.
#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tautline_core::taper::{Claim, Division, Estimate, Instance, Policy, Q16, Summary, Taper};

const N: usize = 1_000_000;
const P: u32 = 64;
const ALPHA: Q16 = Q16::ratio(13, 10);

const ESTIMATE: Estimate = Estimate {
    mean_ns: Q16::whole(100),
    cv: Q16::whole(1),
};

fn policies() -> [(&'static str, Policy); 10] {
    [
        ("self_scheduling", Policy::SelfScheduling),
        ("fixed", Policy::Fixed(100)),
        ("guided", Policy::Guided),
        ("factoring", Policy::Factoring),
        ("trapezoid", Policy::Trapezoid),
        ("taper", Policy::Taper(Taper::published(ALPHA))),
        ("taper_exact", Policy::Taper(Taper::exact(ALPHA))),
        ("taper_unmeasured", Policy::Taper(Taper::unmeasured())),
        ("distance", Policy::Distance(Taper::published(ALPHA))),
        ("even_start", Policy::EvenStart(Taper::published(ALPHA))),
    ]
}

/// Returns numbers of remaining iterations from all parts of a loop, so that branches are taken
/// as irregularly as in a loop.
fn remaining() -> [u64; 256] {
    let mut state = 1u64;
    std::array::from_fn(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        1 + (state >> 33) % N as u64
    })
}

fn taper(c: &mut Criterion) {
    let mut group = c.benchmark_group("taper");
    let cx = Instance::new(N as u64, P).with_min_chunk(2);
    let left = remaining();
    for (name, policy) in policies() {
        let mut at = 0;
        group.bench_function(format!("chunk_{name}"), |b| {
            b.iter(|| {
                at = (at + 1) % left.len();
                policy.chunk(left[at], black_box(ESTIMATE), black_box(&cx))
            });
        });
    }
    for (name, policy) in [policies()[0], policies()[2], policies()[5]] {
        // Eight claims of each loop, so that a claim never finds the loop finished.
        group.bench_function(format!("claim_8_{name}"), |b| {
            b.iter_batched_ref(
                || Claim::new(0..N),
                |claim| {
                    for _ in 0..8 {
                        black_box(claim.take(&policy, black_box(ESTIMATE), black_box(&cx)));
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    let mut summary = Summary::default();
    group.bench_function("record", |b| b.iter(|| summary.record(black_box(123))));
    group.bench_function("estimate", |b| b.iter(|| black_box(&summary).estimate()));
    let mut random = Division::Random { seed: 1 }.share(0, 1 << 62, 2);
    group.bench_function("random_next", |b| b.iter(|| random.next()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    targets = taper
}
criterion_main!(benches);
