//! Means and deviations, against Welford's recurrence and Chan's rule in floating point.

use super::reference::{Random, real};
use tautline_core::taper::{Estimate, Q16, Summary};

/// Welford's recurrence (1962).
#[derive(Clone, Copy, Default)]
struct Welford {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Welford {
    fn record(&mut self, x: f64) {
        self.count += 1.0;
        let distance = x - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (x - self.mean);
    }

    /// Chan, Golub and LeVeque 1979.
    fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        self.squares +=
            other.squares + distance * distance * self.count * other.count / count.max(1.0);
        self.mean += distance * other.count / count.max(1.0);
        self.count = count;
    }

    fn deviation(&self) -> f64 {
        (self.squares / self.count).sqrt()
    }
}

fn assert_near(found: f64, expected: f64) {
    let error = (found - expected).abs();
    assert!(
        error <= 2e-5 + expected * 1e-6,
        "{found} instead of {expected}"
    );
}

fn assert_agree(summary: &Summary, reference: &Welford) {
    assert_eq!(summary.count() as f64, reference.count);
    assert_near(real(summary.mean_ns().unwrap()), reference.mean);
    assert_near(real(summary.deviation_ns().unwrap()), reference.deviation());
}

#[test]
fn a_summary_agrees_with_welford_and_chan() {
    let mut random = Random(19);
    for longest in [1, 3, 8, 20, 42] {
        let (mut all, mut reference) = (Summary::default(), Welford::default());
        for _ in 0..50 {
            let (mut part, mut of_part) = (Summary::default(), Welford::default());
            for _ in 0..random.below(100) {
                let ns = random.of_any_length(longest);
                part.record(ns);
                of_part.record(ns as f64);
            }
            all.merge(&part);
            reference.merge(&of_part);
        }
        assert_agree(&all, &reference);
    }
}

/// Small deviations of long times, for which a sum of squares in floating point cancels.
#[test]
fn a_summary_does_not_cancel() {
    let (mut summary, mut reference) = (Summary::default(), Welford::default());
    let hour = 3_600_000_000_000;
    for i in 0..999 {
        summary.record(hour + i % 3);
        reference.record((hour + i % 3) as f64);
    }
    assert_agree(&summary, &reference);
    assert_near(real(summary.deviation_ns().unwrap()), (2.0f64 / 3.0).sqrt());
}

#[test]
fn the_order_of_samples_and_merges_is_irrelevant() {
    let mut random = Random(23);
    let times: Vec<u64> = (0..999).map(|_| random.of_any_length(44)).collect();
    let mut forwards = Summary::default();
    times.iter().for_each(|&ns| forwards.record(ns));
    let mut merged = Summary::default();
    for part in times.rchunks(7) {
        let mut summary = Summary::default();
        part.iter().rev().for_each(|&ns| summary.record(ns));
        summary.merge(&merged);
        merged = summary;
    }
    assert_eq!(merged, forwards);
}

/// 2^40 samples of half of them an hour and half of them two: no sum overflows.
#[test]
fn a_summary_holds_2_to_the_40_samples_of_hours() {
    let mut summary = Summary::default();
    let hour = 3_600_000_000_000;
    summary.record(hour);
    summary.record(2 * hour);
    for _ in 1..40 {
        let half = summary;
        summary.merge(&half);
    }
    assert_eq!(summary.count(), 1 << 40);
    let estimate = summary.estimate();
    assert_eq!(estimate.mean_ns, Q16::whole(hour * 3 / 2));
    assert_eq!(estimate.cv, Q16::ratio(1, 3));
    // Any further sample is ignored.
    let full = summary;
    summary.record(1);
    assert_eq!(summary, full);
}

#[test]
fn the_longest_samples_do_not_overflow() {
    let mut summary = Summary::default();
    summary.record(u64::MAX);
    for _ in 0..40 {
        let half = summary;
        summary.merge(&half);
    }
    assert_eq!(summary.count(), 1 << 40);
    assert_eq!(summary.mean_ns(), Some(Q16::whole((1 << 44) - 1)));
    assert_eq!(summary.deviation_ns(), Some(Q16::ZERO));
}

#[test]
fn eight_samples_replace_the_start_value() {
    let mut summary = Summary::default();
    assert_eq!((summary.mean_ns(), summary.deviation_ns()), (None, None));
    for i in 0..7 {
        summary.record(100 + 100 * (i % 2));
        assert_eq!(summary.estimate(), Estimate::START);
    }
    summary.record(200);
    let measured = Estimate {
        mean_ns: Q16::whole(150),
        cv: Q16::ratio(1, 3),
    };
    assert_eq!(summary.estimate(), measured);
    let mut zero = Summary::default();
    (0..100).for_each(|_| zero.record(0));
    assert_eq!(zero.estimate(), Estimate::START, "below the clock's period");
}
