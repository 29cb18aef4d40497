//! Processors for concurrent loops, and the estimates of their ends.

use super::reference::{Random, real};
use tautline_core::taper::{Allocator, Demand, Estimate, Instance, Overhead, Policy, Q16, Taper};

fn demand(tasks: u64, mean: u64, cv: Q16, chunk_ns: u64) -> Demand {
    Demand {
        tasks,
        estimate: Estimate {
            mean_ns: Q16::whole(mean),
            cv,
        },
        overhead: Overhead { chunk_ns, band: 0 },
    }
}

/// Divides work of `part : 1000 - part`; returns both shares, the corrections, and the relative
/// difference of the finishes.
fn divided(balance: Allocator, p: u32, part: u64) -> ([u32; 2], u32, f64) {
    let work = [part, 1000 - part];
    let shares = balance.divide(p, [1, 1], |side, p| Q16::ratio(work[side] << 10, p.into()));
    let ends = [0, 1].map(|side| work[side] as f64 / f64::from(shares.of[side]));
    let difference = (ends[0] - ends[1]).abs() / ends[0].max(ends[1]);
    (shares.of, shares.corrections, difference)
}

#[test]
fn two_loops_end_together() {
    let default = Allocator::default();
    assert_eq!(
        (default.tolerance, default.corrections),
        (Q16::ratio(1, 20), 4)
    );
    for p in [2, 3, 5, 64, 100, 512, 4096] {
        let mut worst = [0f64; 3];
        for part in 1..1000 {
            let (of, corrections, difference) = divided(default, p, part);
            assert_eq!(of[0] + of[1], p);
            assert!(
                of[0] > 0 && of[1] > 0 && corrections <= 4,
                "{p} {part}: {of:?}"
            );
            let smaller = part.min(1000 - part) as f64 / 1000.0;
            for (worst, limit) in worst.iter_mut().zip([0.25, 0.125, 0.0625]) {
                if smaller >= limit {
                    *worst = worst.max(difference);
                }
            }
        }
        println!("{p}: {worst:.3?}");
        if p >= 64 {
            let bounds = [0.10, 0.18, 0.32];
            assert!(
                worst
                    .iter()
                    .zip(bounds)
                    .all(|(worst, bound)| *worst <= bound),
                "{p}: {worst:?}"
            );
        }
    }
    let patient = Allocator {
        corrections: 10,
        ..default
    };
    let differences = (63..=937).map(|part| divided(patient, 512, part).2);
    let worst = differences.fold(0.0, f64::max);
    println!("10 corrections: {worst:.3}");
    // 19 : 20 is exactly 5 %, but for the rounding of this test.
    assert!(worst <= 0.05 + f64::EPSILON, "{worst}");
}

#[test]
#[should_panic(expected = "1 processors for sides of at least 1 and 1")]
fn a_processor_is_not_divided() {
    Allocator::default().divide(1, [1, 1], |_, _| Q16::ZERO);
}

#[test]
fn processors_are_divided_among_any_number_of_loops() {
    let mut random = Random(3);
    for _ in 0..2000 {
        let count = 1 + random.below(8) as usize;
        let p = count as u32 + random.below(200) as u32;
        let loops: Vec<Demand> = (0..count)
            .map(|_| {
                let cv = Q16::from_bits(random.below(3 << 16));
                demand(random.of_any_length(20), 1 + random.below(10_000), cv, 100)
            })
            .collect();
        let mut shares = vec![0; count];
        Allocator::default().divide_among(p, &loops, &mut shares);
        assert_eq!(shares.iter().sum::<u32>(), p);
        assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
    }
    let regular = |tasks| demand(tasks, 100, Q16::ZERO, 0);
    let mut shares = [0; 4];
    let loops = [10_000, 20_000, 30_000, 40_000].map(regular);
    Allocator::default().divide_among(100, &loops, &mut shares);
    for (share, expected) in shares.iter().zip([10f64, 20.0, 30.0, 40.0]) {
        assert!((f64::from(*share) - expected).abs() <= 3.0, "{shares:?}");
    }
}

#[test]
fn a_regular_loop_ends_after_its_work_and_half_a_chunk() {
    for (tasks, mean) in [(64_000, 100), (1 << 40, 7), (640, 1_000_000)] {
        let left = demand(tasks, mean, Q16::ZERO, 0);
        let mut before = f64::MAX;
        for p in (0..16)
            .map(|shift| 1 << shift)
            .filter(|p| u64::from(*p) <= tasks)
        {
            let found = real(left.finish(p).total());
            let expected = tasks as f64 * mean as f64 / f64::from(p) + mean as f64 / 2.0;
            assert!(
                (found / expected - 1.0).abs() < 1e-6,
                "{p}: {found} {expected}"
            );
            assert!(found < before, "{p}: {found} after {before}");
            before = found;
        }
    }
    // With a least chunk above one task, up to the processors that can have one.
    let left = Demand {
        overhead: Overhead {
            chunk_ns: 0,
            band: 50,
        },
        ..demand(10_000, 100, Q16::ZERO, 0)
    };
    for p in 1..=200 {
        let (one, more) = (left.finish(p), left.finish(p + 1));
        assert_eq!(one.lag, Q16::whole(50 * 100 / 2), "{p}");
        assert!(p == 200 || more.total() < one.total(), "{p}");
    }
}

#[test]
fn the_lag_and_the_chunks_of_an_irregular_loop() {
    for (p, cv, min) in [(64u32, 1.0, 1u64), (512, 3.0, 4), (2, 0.3, 16), (1, 2.0, 3)] {
        let estimate = Estimate {
            mean_ns: Q16::whole(1000),
            cv: Q16::from_bits((cv * 65_536.0) as u64),
        };
        let spread = cv * 1000.0 * (2.0 * min as f64 * f64::from(p).ln()).sqrt();
        let expected = min as f64 * 500.0 + spread;
        let found = real(estimate.lag(min, p));
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }
    // The chunks against those of a complete dry run.
    let policy = Policy::Taper(Taper::default());
    for p in [1, 2, 7, 16, 64, 512] {
        for share in [1, 10, 100, 1000] {
            for cv in [0, 1, 3] {
                let left = demand(share * u64::from(p), 1000, Q16::whole(cv), 400);
                let cx = Instance::new(left.tasks, p).with_overhead(left.overhead, &left.estimate);
                let exact = policy.dry_run(left.estimate, &cx).count() as f64;
                let found = real(left.finish(p).sched) * f64::from(p) / 400.0;
                assert!(
                    (found / exact - 1.0).abs() <= 0.15,
                    "{p} {share} {cv}: {found} {exact}"
                );
            }
        }
    }
}

#[test]
fn loops_together_have_the_work_and_the_variation_of_all_tasks() {
    let (short, long) = (
        demand(3000, 100, Q16::ZERO, 10),
        demand(1000, 500, Q16::ZERO, 40),
    );
    let both = short.and(&long);
    let spread = (3.0 * 100f64.powi(2) + 500f64.powi(2)) / 4.0 - 200f64.powi(2);
    assert_eq!((both.tasks, both.overhead.chunk_ns), (4000, 40));
    assert!((real(both.estimate.mean_ns) - 200.0).abs() < 0.01);
    assert!((real(both.estimate.cv) - spread.sqrt() / 200.0).abs() < 0.001);
    let none = demand(0, 0, Q16::ZERO, 0);
    assert_eq!(none.and(&none), none);
    assert_eq!(none.and(&long), long);
    assert_eq!(none.finish(3).total(), Q16::ZERO);
}
