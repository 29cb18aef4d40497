//! TAPER against its table, its properties, and the formulas in floating point.

use super::reference::{Random, clipped, exact, published, real, varying};
use tautline_core::defer::Conditions;
use tautline_core::taper::{
    Allocator, CV_START, CostFunction, Estimate, Instance, Overhead, Policy, Q16, SAMPLES_MIN,
    Taper, Trail,
};

const ALPHA: Q16 = Q16::ratio(13, 10);

type Formula = fn(f64, u64, &Instance) -> f64;

fn taper(taper: Taper, left: u64, cv: Q16, cx: &Instance) -> u64 {
    Policy::Taper(taper).chunk(left, varying(cv), cx)
}

/// Lucco 1995, spec 2.4.2, P5.
#[test]
fn taper_takes_the_chunks_of_the_table() {
    const TARGETS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 1000];
    let table = [
        (Q16::ZERO, [1, 2, 5, 10, 20, 50, 100, 1000]),
        (Q16::ratio(39, 100), [1, 2, 4, 9, 18, 47, 95, 983]),
        (Q16::ratio(13, 10), [1, 1, 2, 5, 13, 38, 83, 943]),
        (Q16::whole(3), [1, 1, 1, 1, 5, 25, 62, 871]),
        (Q16::ratio(39, 10), [1, 1, 1, 1, 2, 18, 52, 834]),
    ];
    for (v, row) in table {
        for (target, chunk) in TARGETS.into_iter().zip(row) {
            for p in [2, 7, 64, 1000] {
                let left = target * u64::from(p);
                let cx = Instance::new(left, p);
                let fixed = taper(Taper::fixed(v), left, Q16::ZERO, &cx);
                assert_eq!(fixed, chunk, "v = {v}, T = {target}, p = {p}");
            }
        }
    }
    let cx = Instance::new(6400, 64);
    assert_eq!(taper(Taper::default(), 6400, Q16::whole(1), &cx), 83);
    assert_eq!(taper(Taper::default(), 6400, Q16::whole(3), &cx), 52);
    assert_eq!(taper(Taper::unmeasured(), 6400, Q16::whole(9), &cx), 62);
}

/// P1 of spec 2.4.2, for all that may be left.
#[test]
fn taper_without_variation_is_guided() {
    let chunk = |policy: Policy, left, cx: &Instance| policy.chunk(left, varying(Q16::ZERO), cx);
    for p in 1..=64 {
        let cx = Instance::new(100_000, p);
        for left in 0..=100_000 {
            let guided = chunk(Policy::Guided, left, &cx);
            for form in [Taper::published(ALPHA), Taper::exact(ALPHA)] {
                assert_eq!(chunk(Policy::Taper(form), left, &cx), guided, "{left} {p}");
            }
        }
    }
}

/// The tail of spec 2.4.2, P3 and P4.
#[test]
fn taper_ends_with_minimal_chunks() {
    let cx = Instance::new(10_000, 16);
    for v in 1..20 {
        let form = Taper::fixed(Q16::whole(v));
        for left in 1..=16 * v * v {
            assert_eq!(taper(form, left, Q16::ZERO, &cx), 1, "v = {v}, {left} left");
        }
        let more = taper(form, 2 * 16 * v * v, Q16::ZERO, &cx);
        assert!(v < 3 || more > 1, "v = {v}");
    }
    let alone = Instance::new(10_000, 1);
    for policy in [Policy::Taper, Policy::Distance, Policy::EvenStart] {
        let chunk = policy(Taper::default()).chunk(777, Estimate::START, &alone);
        assert_eq!(chunk, 777, "one processor takes all");
    }
}

/// P2 of spec 2.4.2.
#[test]
fn taper_shrinks_with_variation_and_with_what_is_left() {
    let mut random = Random(7);
    let forms = [Taper::published(ALPHA), Taper::exact(ALPHA)];
    for _ in 0..20_000 {
        let p = 2 + random.below(1000) as u32;
        let left = random.of_any_length(36);
        let cv = Q16::from_bits(random.of_any_length(20));
        let cx = Instance::new(1 << 36, p).with_min_chunk(random.of_any_length(8));
        for form in forms {
            let chunk = taper(form, left, cv, &cx);
            for step in [1, 7, 1000] {
                let more = Q16::from_bits(cv.to_bits() + step);
                assert!(taper(form, left, more, &cx) <= chunk, "{left} {cv} {cx:?}");
                assert!(
                    taper(form, left + step, cv, &cx) >= chunk,
                    "{left} {cv} {cx:?}"
                );
            }
        }
    }
}

#[test]
fn the_minimum_chunk_shifts_the_target() {
    let zero = Q16::ZERO;
    let cx = Instance::new(1000, 4);
    let shifted = |k| taper(Taper::default(), 1000, zero, &cx.with_min_chunk(k));
    assert_eq!([0, 1, 2, 20].map(shifted), [250, 251, 251, 260]);
    assert_eq!(cx.with_min_chunk(9999).min_chunk(), 250, "at most N/p");
    assert_eq!(Instance::new(3, 4).with_min_chunk(9).min_chunk(), 1);
    let mut random = Random(11);
    for _ in 0..20_000 {
        let p = 2 + random.below(100) as u32;
        let left = 1 + random.of_any_length(20);
        let min = 1 + random.below(50);
        let cx = Instance::new(1 << 20, p).with_min_chunk(min);
        let cv = Q16::from_bits(random.of_any_length(19));
        for policy in [Policy::Taper, Policy::Distance, Policy::EvenStart] {
            let chunk = policy(Taper::default()).chunk(left, varying(cv), &cx);
            assert!(chunk >= min.min(left), "{chunk} below {min} of {left}");
        }
    }
}

#[test]
fn the_minimum_chunk_outweighs_the_overhead() {
    let mean = |ns| Estimate {
        mean_ns: ns,
        cv: Q16::whole(1),
    };
    let min = |chunk_ns, band, estimate: Estimate| {
        Overhead { chunk_ns, band }.min_chunk(1000, 10, &estimate)
    };
    let hundred = mean(Q16::whole(100));
    // ⌊h/μ⌋ + 1; in shared memory there is no least band.
    assert_eq!([0, 99, 100, 250].map(|h| min(h, 0, hundred)), [1, 1, 2, 3]);
    assert_eq!(min(250, 2, hundred), 3, "the larger one");
    assert_eq!(min(250, 50, hundred), 50);
    assert_eq!(min(u64::MAX, 0, hundred), 100, "at most N/p");
    assert_eq!(min(0, u64::MAX, hundred), 100);
    assert_eq!(min(250, 0, Estimate::START), 1, "the mean is not known");
    assert_eq!(
        min(1, 0, mean(Q16::ratio(1, 4))),
        5,
        "iterations of a quarter ns"
    );
    let few = Overhead {
        chunk_ns: 250,
        band: 9,
    };
    assert_eq!(few.min_chunk(3, 10, &hundred), 1, "fewer than processors");
}

#[test]
fn fixed_point_agrees_with_floating_point() {
    let mut random = Random(13);
    for _ in 0..100_000 {
        let p = 2 + random.of_any_length(12) as u32;
        let left = 1 + random.of_any_length(44);
        let cx = Instance::new(left, p).with_min_chunk(random.of_any_length(10));
        let cv = Q16::from_bits(random.of_any_length(20));
        let epsilon = Q16::from_bits(1 + random.below(1 << 16));
        let forms: [(Taper, Formula); 3] = [
            (Taper::published(ALPHA), published),
            (Taper::exact(ALPHA), exact),
            (Taper::chebyshev(epsilon), exact),
        ];
        for (form, formula) in forms {
            let chunk = taper(form, left, cv, &cx);
            let v = real(form.v(cv));
            let expected = clipped(formula(v, left, &cx), left, &cx);
            assert!(
                chunk.abs_diff(expected) <= 1,
                "{chunk} not {expected}: {form:?} {left} {cv} {cx:?}"
            );
        }
    }
}

/// Up to 2^63 iterations, in wide arithmetic.
#[test]
fn large_loops_agree_with_floating_point() {
    for p in [2, 3, 64, 1 << 20] {
        for bits in 40..=63 {
            let left = 1u64 << bits;
            let cx = Instance::new(left, p);
            for cv in [Q16::ratio(1, 2), Q16::whole(3), Q16::whole(1000)] {
                let chunk = taper(Taper::default(), left, cv, &cx) as f64;
                let expected = published(real(Taper::default().v(cv)), left, &cx);
                let error = (chunk - expected.max(1.0)).abs();
                assert!(error <= 1.0 + expected * 1e-12, "{chunk} not {expected}");
            }
        }
    }
}

#[test]
fn defaults_are_the_published_constants() {
    assert_eq!(Taper::default(), Taper::published(ALPHA));
    assert_eq!(Taper::unmeasured(), Taper::fixed(Q16::whole(3)));
    assert_eq!((CV_START, SAMPLES_MIN), (Q16::whole(3), 8));
    assert_eq!(CostFunction::SAMPLE_GAIN, 2);
    assert_eq!(Conditions::default().threshold, 30, "thousandths");
    let allocator = Allocator::default();
    assert_eq!(allocator.tolerance, Q16::ratio(5, 100));
    assert_eq!(allocator.corrections, 4);
    assert_eq!(Trail::DEPTH, 3);
    assert_eq!(Estimate::default(), Estimate::START);
    let start = real(Taper::default().v(Estimate::START.cv));
    assert!((start - 3.9).abs() < 1e-4, "{start}");
    let tenth = Q16::ratio(1, 10);
    let normal = real(Taper::chebyshev(tenth).v(Q16::whole(1)));
    assert!(
        (normal - real(tenth).sqrt().recip()).abs() < 2e-5,
        "{normal}"
    );
}

/// The square of both sides of (4.2), for b = K_min p μ/2 and t/μ tasks: whether the chunk is large
/// enough that the work left is within v deviations.
fn is_within(chunk: u64, v: Q16, left: u64, cx: &Instance) -> bool {
    let (p, r, k) = (i128::from(cx.p()), i128::from(left), i128::from(chunk));
    // (R + b/μ − pK) in halves.
    let distance = 2 * r + p * i128::from(cx.min_chunk()) - 2 * p * k;
    let variance = p * (p - 2) * k + r;
    let v = i128::from(v.to_bits());
    distance <= 0 || ((distance * distance) << 32) <= 4 * v * v * variance
}

/// The exact form is the least integer that satisfies (4.2), and its formula satisfies it in
/// floating point.
#[test]
fn the_exact_form_solves_its_equation() {
    let mut random = Random(17);
    let mut compared = 0;
    for _ in 0..20_000 {
        let p = 2 + random.below(500) as u32;
        let left = 1 + random.of_any_length(30);
        let min = random.of_any_length(5);
        let cx = Instance::new(left, p).with_min_chunk(min);
        let form = Taper::exact(ALPHA);
        let cv = Q16::from_bits(random.of_any_length(19));
        let v = form.v(cv);
        let chunk = taper(form, left, cv, &cx);
        let least = cx.min_chunk().clamp(1, left);
        assert!(
            chunk == left || is_within(chunk, v, left, &cx),
            "{left} {cx:?}"
        );
        assert!(
            chunk == least || !is_within(chunk - 1, v, left, &cx),
            "{left} {cx:?}"
        );

        // Below 1, the difference of large terms has no digits left.
        let (v, k, p) = (real(v), exact(real(v), left, &cx), f64::from(p));
        let moved = left as f64 + p * cx.min_chunk() as f64 / 2.0;
        let right = v * (p * (p - 2.0) * k + left as f64).max(0.0).sqrt();
        let error = (moved - p * k - right).abs();
        assert!(k < 1.0 || error <= 1e-9 * moved, "{left} {cx:?}");
        compared += u32::from(k >= 1.0);
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn distance_begins_at_a_share() {
    let cx = Instance::new(1000, 4);
    let distance = Policy::Distance(Taper::default());
    assert_eq!(distance.chunk(1000, varying(Q16::ZERO), &cx), 250);
    // D − v √D.
    let one = varying(Q16::whole(1));
    assert_eq!(distance.chunk(1000, one, &cx), 230);
    // 100 tasks of 100 ns later, 150 are left for each processor.
    let later = cx.at(10_000);
    assert_eq!(distance.chunk(1000, varying(Q16::ZERO), &later), 150);
    assert_eq!(distance.chunk(1000, one, &later), 135);
    assert_eq!(distance.chunk(100, one, &later), 100, "clipped");
    let late = cx.at(30_000).with_min_chunk(5);
    assert_eq!(distance.chunk(1000, one, &late), 5, "past the expected end");
    let unknown = Estimate::START;
    assert_eq!(
        distance.chunk(1000, unknown, &later),
        distance.chunk(1000, unknown, &cx)
    );
}

#[test]
fn an_even_start_takes_distance_first() {
    let one = varying(Q16::whole(1));
    let cx = Instance::new(1000, 4);
    let even = Policy::EvenStart(Taper::default());
    let chunks: Vec<u64> = even.dry_run(one, &cx).collect();
    assert_eq!(chunks[..4], [230; 4], "DISTANCE at the start");
    let mut left = 1000 - 4 * 230;
    for &chunk in &chunks[4..] {
        assert_eq!(chunk, taper(Taper::default(), left, Q16::whole(1), &cx));
        left -= chunk;
    }
    assert_eq!(left, 0);
}
