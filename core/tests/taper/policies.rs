//! The baselines: reference sequences, the whole loop covered, and the constant chunk.

use super::reference::{Random, chunks, varying};
use std::iter::repeat_n;
use tautline_core::taper::{Estimate, Instance, Overhead, Policy, Q16, Taper};

/// One policy of each kind.
pub(crate) const ALL: [Policy; 11] = [
    Policy::SelfScheduling,
    Policy::Fixed(7),
    Policy::Guided,
    Policy::Factoring,
    Policy::Trapezoid,
    Policy::Taper(Taper::published(Q16::ratio(13, 10))),
    Policy::Taper(Taper::exact(Q16::ratio(13, 10))),
    Policy::Taper(Taper::chebyshev(Q16::ratio(1, 10))),
    Policy::Taper(Taper::unmeasured()),
    Policy::Distance(Taper::published(Q16::ratio(13, 10))),
    Policy::EvenStart(Taper::published(Q16::ratio(13, 10))),
];

/// Lucco 1995, spec 2.3.
#[test]
fn guided_takes_the_published_chunks() {
    let published = [
        250, 188, 141, 106, 79, 59, 45, 33, 25, 19, 14, 11, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1,
    ];
    assert_eq!(chunks(Policy::Guided, 1000, 4), published);
    assert_eq!(chunks(Policy::SelfScheduling, 1000, 4), [1; 1000]);
    let fixed = chunks(Policy::Fixed(300), 1000, 4);
    assert_eq!(fixed, [300, 300, 300, 100], "the last chunk is clipped");
    assert_eq!(chunks(Policy::Fixed(0), 3, 4), [1; 3]);
}

/// Lucco 1995, spec 2.3.
#[test]
fn factoring_takes_the_published_chunks() {
    let batches = [125, 63, 31, 16, 8, 4, 2, 1];
    let published: Vec<u64> = batches.iter().flat_map(|&k| repeat_n(k, 4)).collect();
    assert_eq!(chunks(Policy::Factoring, 1000, 4), published);
}

/// The chunks by the definition, which has a state: ⌈R/(2p)⌉, the same p times.
fn factoring_by_batches(n: u64, p: u64) -> Vec<u64> {
    let (mut left, mut out) = (n, Vec::new());
    while left > 0 {
        let size = left.div_ceil(2 * p);
        for _ in 0..p {
            let chunk = size.min(left);
            left -= chunk;
            out.extend((chunk > 0).then_some(chunk));
        }
    }
    out
}

/// Factoring without a state is factoring.
#[test]
fn factoring_follows_from_the_position() {
    for p in (1..=9).chain([16, 31, 64]) {
        for n in (0..300).chain((300..10_000).step_by(97)) {
            let expected = factoring_by_batches(n, u64::from(p));
            assert_eq!(chunks(Policy::Factoring, n, p), expected, "{n} on {p}");
        }
    }
    let n = 1 << 63;
    assert_eq!(
        chunks(Policy::Factoring, n, 3),
        factoring_by_batches(n, 3),
        "2^63 iterations"
    );
}

/// The trapezoid by its definition, in exact fractions: boundaries of chunks that decrease
/// linearly, rounded up.
fn trapezoid_by_boundaries(n: u64, p: u64) -> Vec<u64> {
    let first = n.div_ceil(2 * p);
    let count = (2 * n).div_ceil(first + 1);
    let (down, steps) = (
        u128::from(first - 1),
        u128::from(count.saturating_sub(1).max(1)),
    );
    let boundary = |j: u64| {
        let whole = u128::from(j) * u128::from(first);
        // ⌈j f − x⌉ = j f − ⌊x⌋.
        let less = u128::from(j) * u128::from(j.saturating_sub(1)) * down / (2 * steps);
        u64::try_from(whole - less).unwrap().min(n)
    };
    let sizes = (0..count).map(|j| boundary(j + 1) - boundary(j));
    sizes.filter(|&k| k > 0).collect()
}

#[test]
fn trapezoid_decreases_linearly() {
    for p in (1..=9).chain([16, 31, 64]) {
        for n in (1..300).chain((300..10_000).step_by(97)) {
            let expected = trapezoid_by_boundaries(n, u64::from(p));
            assert_eq!(chunks(Policy::Trapezoid, n, p), expected, "{n} on {p}");
        }
    }
    let few = chunks(Policy::Trapezoid, 1000, 4);
    assert_eq!(few[..5], [125, 117, 109, 100, 92]);
    let many = chunks(Policy::Trapezoid, 1 << 63, 1000);
    assert_eq!(many[0], (1u64 << 63).div_ceil(2000));
    assert_eq!(many.iter().sum::<u64>(), 1 << 63);
    assert!(many.is_sorted_by(|a, b| a >= b), "its chunks never grow");
}

/// No chunk is empty, and together they are the loop.
fn covers(policy: Policy, n: u64, p: u32) {
    let cx = Instance::new(n, p);
    let (mut left, mut count) = (n, 0u64);
    for chunk in policy.dry_run(varying(Q16::ratio(1, 2)), &cx) {
        assert!((1..=left).contains(&chunk), "{policy:?}: {n} on {p}");
        left -= chunk;
        count += 1;
    }
    assert_eq!(left, 0, "{policy:?}: {n} on {p}");
    assert!(count <= n);
}

#[test]
fn every_policy_covers_the_loop() {
    for policy in ALL {
        (0..200).for_each(|n| (1..=64).for_each(|p| covers(policy, n, p)));
        // Each size once, on a number of processors that changes with it.
        (200..=10_000).step_by(17).for_each(|n| {
            covers(policy, n, 1 + (n * 37 % 64) as u32);
        });
    }
}

#[test]
#[ignore = "cargo ci deep: minutes, with --release"]
fn every_policy_covers_every_loop() {
    for policy in ALL {
        (0..=10_000).for_each(|n| (1..=64).for_each(|p| covers(policy, n, p)));
    }
}

/// Chunks stay within bounds for any argument, also where those contradict each other.
#[test]
fn every_chunk_is_within_what_is_left() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let p = random.of_any_length(32).max(1) as u32;
        let cx = Instance::new(random.of_any_length(63), p)
            .with_min_chunk(random.of_any_length(64))
            .at(random.of_any_length(64));
        let estimate = Estimate {
            mean_ns: Q16::from_bits(random.of_any_length(64)),
            cv: Q16::from_bits(random.of_any_length(64)),
        };
        let left = random.of_any_length(64).min(1 << 63);
        for policy in ALL {
            let chunk = policy.chunk(left, estimate, &cx);
            let least = left.min(1);
            assert!((least..=left).contains(&chunk), "{policy:?} {left} {cx:?}");
            let epoch = policy.epoch_chunk(left, estimate, &cx);
            assert!((least..=left).contains(&epoch), "{policy:?} {left} {cx:?}");
        }
    }
}

/// The chunk sizes of the epochs of a loop.
fn epochs(policy: Policy, n: u64, p: u32) -> Vec<u64> {
    let cx = Instance::new(n, p);
    let (mut left, mut out) = (n, Vec::new());
    while left > 0 {
        let chunk = policy.epoch_chunk(left, varying(Q16::ratio(1, 2)), &cx);
        out.push(chunk);
        left = left.saturating_sub(chunk * u64::from(p));
    }
    out
}

/// Lucco 1995, spec 2.5.
#[test]
fn epochs_shrink_as_published() {
    assert_eq!(epochs(Policy::Factoring, 8192, 512), [8, 4, 2, 1, 1]);
    assert_eq!(epochs(Policy::Guided, 8192, 512), [11, 4, 1]);
    assert_eq!(epochs(Policy::SelfScheduling, 2048, 512), [1; 4]);
    for policy in ALL {
        let all = epochs(policy, 8192, 512);
        assert!(all[0] <= 16, "{policy:?}: no epoch takes more than is left");
    }
}

/// K of Kruskal and Weiss in floating point.
fn single_chunk(n: u64, p: u32, overhead: f64, cv: f64) -> f64 {
    let p = f64::from(p);
    let root = 2f64.sqrt() * n as f64 * overhead / (cv * p * p.ln().sqrt());
    root.powf(2.0 / 3.0).clamp(1.0, (n as f64 / p).max(1.0))
}

#[test]
fn the_single_chunk_is_that_of_kruskal_and_weiss() {
    let mut random = Random(5);
    for _ in 0..2_000 {
        let (n, p) = (random.of_any_length(40), 2 + random.below(1000) as u32);
        let cv = Q16::from_bits((1 << 10) | random.of_any_length(19));
        let h = random.of_any_length(20);
        let overhead = Overhead {
            chunk_ns: h,
            band: 0,
        };
        let Policy::Fixed(chunk) =
            Policy::kruskal_weiss(&Instance::new(n, p), overhead, varying(cv))
        else {
            panic!("a constant chunk");
        };
        let cv = cv.to_bits() as f64 / 65_536.0;
        let expected = single_chunk(n, p, h as f64 / 100.0, cv);
        let error = (chunk as f64 - expected).abs();
        assert!(
            error <= 1.0 + expected / 1e4,
            "{chunk} not {expected}: {n} on {p}"
        );
    }
}

#[test]
fn the_single_chunk_has_limits() {
    let chunk = |n, p, chunk_ns, estimate| {
        let overhead = Overhead { chunk_ns, band: 0 };
        Policy::kruskal_weiss(&Instance::new(n, p), overhead, estimate)
    };
    let one = varying(Q16::whole(1));
    assert_eq!(chunk(1000, 1, 50, one), Policy::Fixed(1000), "p = 1");
    assert_eq!(chunk(1000, 3, 50, varying(Q16::ZERO)), Policy::Fixed(334));
    assert_eq!(chunk(1000, 3, 0, one), Policy::Fixed(1), "no overhead");
    assert_eq!(chunk(1000, 3, 50, Estimate::START), Policy::Fixed(1));
    assert_eq!(chunk(1000, 4, u64::MAX, one), Policy::Fixed(250));
    assert_eq!(chunk(0, 4, 50, one), Policy::Fixed(1));
}
