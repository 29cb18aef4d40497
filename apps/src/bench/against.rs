//! The comparison of two records: which figures have become worse, by more than their noise.
//!
//! # Algorithm
//! The median of n samples lies with a probability of at least 99 % between the k-th smallest and
//! the k-th largest one, whatever their distribution, where k is the largest number with P(B < k) ≤
//! 0.5 % for a binomial B of n throws of a coin (W. R. Thompson, On confidence ranges for the
//! median, 1936): of 20 samples the 4th and the 17th. A figure is worse if its interval lies wholly
//! above the earlier one and its median is more than [`LEAST`] above: two intervals of one
//! distribution are disjoint in less than one comparison of a thousand, and a smaller difference
//! comes from where the system has put pages and code. Fewer than 8 samples have no such interval,
//! and get no verdict.
#![forbid(unsafe_code)]

use super::{Figure, Record, Spread};
use std::fmt;

/// The part of a median that is no change: two runs of one build on one machine have differed by 8
/// %.
pub const LEAST: f64 = 0.1;
/// The probability that a median lies below, or above, its interval.
const OUTSIDE: f64 = 0.005;

/// The findings of a comparison of two records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Against {
    /// Figures that are worse than before.
    pub worse: Vec<Change>,
    /// Figures that are better than before.
    pub better: Vec<Change>,
    /// The number of figures that are equal within their noise.
    pub equal: usize,
    /// Figures that get no verdict.
    pub refused: Vec<Refusal>,
    /// The number of figures that only one of the records has.
    pub unmatched: usize,
}

/// A figure that has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The benchmark.
    pub bench: String,
    /// The name of the figure.
    pub figure: String,
    /// The medians, in nanoseconds, before and now.
    pub medians_ns: [f64; 2],
    /// The bounds of the interval of each median.
    pub intervals_ns: [[f64; 2]; 2],
}

/// Figures of a benchmark without a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The benchmark.
    pub bench: String,
    /// The number of figures.
    pub figures: usize,
    /// The reason why there is no verdict.
    pub reason: String,
}

impl Against {
    /// Compares the figures that both records have.
    ///
    /// # Errors
    /// Why the records cannot be compared.
    pub fn compare(before: &Record, now: &Record) -> Result<Self, String> {
        Self::check(before, now)?;
        let mut found = Self::default();
        for figure in &now.figures {
            let mut all = before.figures.iter();
            match all.find(|one| one.bench == figure.bench && one.figure == figure.figure) {
                Some(earlier) => found.judge(earlier, figure),
                None => found.unmatched += 1,
            }
        }
        let matched = now.figures.len() - found.unmatched;
        if matched == 0 {
            return Err("expected a file with some of the figures that are measured".to_owned());
        }
        found.unmatched += before.figures.len().saturating_sub(matched);
        Ok(found)
    }

    /// Checks that figures of the two records may be compared, whatever figures they have.
    ///
    /// # Errors
    /// Why they may not.
    pub fn check(before: &Record, now: &Record) -> Result<(), String> {
        if !before.machine.is_like(&now.machine) {
            let (this, other) = (now.machine.title(), before.machine.title());
            let topology = if this == other {
                " of another topology"
            } else {
                ""
            };
            return Err(format!(
                "expected figures of this machine, {this}; it has those of {other}{topology}"
            ));
        }
        if before.processors != now.processors {
            let (this, other) = (&now.processors, &before.processors);
            return Err(format!(
                "expected figures of the processors {this:?}; it has those of {other:?}"
            ));
        }
        Ok(())
    }

    fn judge(&mut self, before: &Figure, now: &Figure) {
        let reason = match (before.doubts.first(), now.doubts.first()) {
            (_, Some(doubt)) => Some(doubt.clone()),
            (Some(doubt), None) => Some(format!("in the earlier file, {doubt}")),
            (None, None) => moved(before.line_ns, now.line_ns),
        };
        let intervals = [before, now].map(|figure| interval(&figure.samples_ns));
        let (intervals_ns, None) = (intervals, &reason) else {
            return self.refuse(&now.bench, reason.unwrap_or_default());
        };
        let [Some(earlier), Some(later)] = intervals_ns else {
            let [b, n] = [before, now].map(|figure| figure.samples_ns.len());
            return self.refuse(&now.bench, format!("{b} and {n} samples are too few"));
        };
        let median = |figure: &Figure| Spread::of(&figure.samples_ns).map_or(0.0, |s| s.median);
        let change = Change {
            bench: now.bench.clone(),
            figure: now.figure.clone(),
            medians_ns: [before, now].map(median),
            intervals_ns: [earlier, later],
        };
        let [b, n] = change.medians_ns;
        let is_large = (n - b).abs() > LEAST * b.abs();
        if is_large && later[0] > earlier[1] {
            self.worse.push(change);
        } else if is_large && later[1] < earlier[0] {
            self.better.push(change);
        } else {
            self.equal += 1;
        }
    }

    fn refuse(&mut self, bench: &str, reason: String) {
        let mut known = self.refused.iter_mut();
        match known.find(|one| one.bench == bench && one.reason == reason) {
            Some(one) => one.figures += 1,
            None => self.refused.push(Refusal {
                bench: bench.to_owned(),
                figures: 1,
                reason,
            }),
        }
    }
}

/// Returns why figures cannot be compared whose processors were at other distances. A host may run
/// the processors of a virtual machine anywhere.
fn moved(before: Option<f64>, now: Option<f64>) -> Option<String> {
    let (before, now) = (before?, now?);
    let is_elsewhere = (now - before).abs() > LEAST * before.min(now);
    is_elsewhere.then(|| {
        format!(
            "the processors are elsewhere: a cache line takes {now:.0} ns, before {before:.0} ns"
        )
    })
}

/// Returns the interval of the median of `samples`, if there are enough.
fn interval(samples: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = rank(sorted.len())?;
    Some([sorted[rank - 1], sorted[sorted.len() - rank]])
}

/// Returns the largest k, from 1, with P(B < k) ≤ [`OUTSIDE`] for a binomial B of this many throws.
fn rank(samples: usize) -> Option<usize> {
    // By logarithms, as the probability of one outcome of thousands of throws is no number.
    let n = samples as f64;
    let (mut log, mut below, mut rank) = (-n * std::f64::consts::LN_2, 0.0, 0);
    while rank < samples / 2 {
        below += log.exp();
        if below > OUTSIDE {
            break;
        }
        let k = rank as f64;
        log += ((n - k) / (k + 1.0)).ln();
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, now] = self.medians_ns;
        let [earlier, later] = self.intervals_ns;
        let Self { bench, figure, .. } = self;
        let percent = (now / before - 1.0) * 100.0;
        let word = if now > before { "worse" } else { "better" };
        let [a, b, c, d] = [earlier[0], earlier[1], later[0], later[1]];
        write!(
            f,
            "{word}: {bench}, {figure}: {now:.1} ns ({c:.1} to {d:.1}), before {before:.1} ns \
             ({a:.1} to {b:.1}), {percent:+.0} %"
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            bench,
            figures,
            reason,
        } = self;
        let s = if *figures == 1 { "" } else { "s" };
        write!(f, "no verdict on {bench} ({figures} figure{s}): {reason}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;
    use crate::random::SplitMix;

    /// Samples about 1000 within a few percent, as a quiet machine gives them.
    fn quiet(seed: u64) -> Vec<f64> {
        let mut random = SplitMix::new(seed);
        let mut sample = || 1000.0 + (random.next() % 1000) as f64 / 15.0;
        (0..20).map(|_| sample()).collect()
    }

    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        // P(B < k): of 8 throws 0.39 % for 1 and 3.5 % for 2; of 20 throws 0.13 % for 4 and 0.59 %
        // for 5.
        let ranks = [0, 7, 8, 20, 100, 100_000].map(rank);
        let expected = [None, None, Some(1), Some(4), Some(37), Some(49_593)];
        assert_eq!(ranks, expected);
    }

    #[test]
    fn a_record_against_itself_or_another_of_the_same_machine_has_no_change() {
        let before = record(&quiet(1));
        let itself = Against::compare(&before, &before).unwrap();
        let expected = Against {
            equal: 2,
            ..Against::default()
        };
        assert_eq!(itself, expected);
        for seed in 2..500 {
            let found = Against::compare(&before, &record(&quiet(seed))).unwrap();
            assert_eq!(found, expected, "{seed}");
        }
    }

    #[test]
    fn a_figure_that_is_slower_by_a_fifth_is_found_both_ways() {
        let (before, mut now) = (record(&quiet(1)), record(&quiet(2)));
        for sample in &mut now.figures[0].samples_ns {
            *sample *= 1.2;
        }
        let found = Against::compare(&before, &now).unwrap();
        assert_eq!((found.worse.len(), found.equal), (1, 1), "{found:?}");
        let line = found.worse[0].to_string();
        assert!(
            line.starts_with("worse: barrier, 2 tasks: phaser: 12"),
            "{line}"
        );
        let found = Against::compare(&now, &before).unwrap();
        assert_eq!((found.worse.len(), found.better.len()), (0, 1), "{found:?}");
    }

    #[test]
    fn a_change_within_wide_samples_is_noise() {
        let wide: Vec<f64> = (0..20).map(|at| 800.0 + 40.0 * f64::from(at)).collect();
        let slower: Vec<f64> = wide.iter().map(|ns| ns * 1.2).collect();
        let found = Against::compare(&record(&wide), &record(&slower)).unwrap();
        assert_eq!((found.worse.len(), found.equal), (0, 2));
    }

    #[test]
    fn doubts_and_few_samples_get_no_verdict() {
        let (before, mut now) = (record(&[1.0; 20]), record(&[9.0; 20]));
        now.figures[0].doubts = vec!["other programs used 40 % of the processors".to_owned()];
        now.figures[1].samples_ns.truncate(7);
        let found = Against::compare(&before, &now).unwrap();
        assert_eq!((found.worse.len(), found.refused.len()), (0, 2));
        let lines: Vec<_> = found.refused.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "no verdict on barrier (1 figure): other programs used 40 % of the processors",
                "no verdict on barrier (1 figure): 20 and 7 samples are too few",
            ]
        );
    }

    /// On a virtual machine of two processors all figures changed by up to three times when its
    /// host moved them.
    #[test]
    fn processors_that_are_elsewhere_get_no_verdict() {
        let (before, mut now) = (record(&[1.0; 20]), record(&[9.0; 20]));
        now.figures[0].line_ns = Some(340.0);
        now.figures[1].line_ns = None;
        let found = Against::compare(&before, &now).unwrap();
        assert_eq!((found.worse.len(), found.refused.len()), (1, 1));
        let line = found.refused[0].to_string();
        let expected = "the processors are elsewhere: a cache line takes 340 ns, before 80 ns";
        assert!(line.ends_with(expected), "{line}");
    }

    #[test]
    fn other_machines_processors_and_figures_are_refused() {
        let before = record(&[1.0; 20]);
        let mut other = before.clone();
        other.machine.model = Some("Z80".to_owned());
        let why = Against::compare(&other, &before).unwrap_err();
        assert!(why.contains("those of Z80"), "{why}");
        let mut other = before.clone();
        other.processors = vec![77];
        let why = Against::compare(&other, &before).unwrap_err();
        assert!(why.contains("[77]"), "{why}");
        let mut other = before.clone();
        other.figures.clear();
        assert!(Against::compare(&other, &before).is_err());
    }
}
