//! The cost function of a loop: the predicted time of any range of its iterations.
//!
//! # Algorithm
//! Adaptive sampling (Lucco 1995, 003:512-526; spec 2.9). The iterations are divided into sections,
//! at first 16 of equal size. A sample is the time of a *block* of consecutive iterations, and
//! belongs to the section in which the block begins. After an execution, a section whose mean ·
//! variance exceeds 2 μσ², of the whole loop, is divided into four, which the samples of the next
//! execution fill. Differences to the thesis: the parts have equal size, not an equal number of
//! samples; and the number of sections is bounded, so that a call site takes 4 KiB at most.
//!
//! A sample of more than 16 times the mean of its section counts as that: it is then likely that
//! the thread was preempted. Older samples weigh as much as those of the last execution together,
//! at most. A loop whose size has changed by more than a factor of two is sampled again.

use super::super::fixed::Q16;
use super::super::summary::{Estimate, Summary};
use super::coherence::{Class, Coherence};
use core::ops::Range;

/// The largest number of sections.
const SECTIONS: usize = 32;

/// The number of sections before any is refined.
const BASE: u64 = 16;

/// Parts of a section that is refined.
const PARTS: usize = 4;

/// Units of work in a nanosecond: an iteration may take less than one.
const UNITS: u128 = 256;

/// The coherence below which the samples predict nothing (spec 2.8: 0.5).
const TRUSTED: Q16 = Q16::ratio(1, 2);

/// The samples of one execution, by section.
#[derive(Clone, Debug)]
pub struct Samples([Summary; SECTIONS]);

/// No samples.
impl Default for Samples {
    fn default() -> Self {
        Self([Summary::NONE; SECTIONS])
    }
}

impl Samples {
    /// Adds the samples of `other`, taken with the same cost function.
    pub fn merge(&mut self, other: &Self) {
        let pairs = self.0.iter_mut().zip(&other.0);
        pairs.for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// Returns the samples of all sections.
    pub fn summary(&self) -> Summary {
        sum(&self.0)
    }
}

/// The predicted times of the iterations of a loop.
///
/// ```
/// # use tautline_core::taper::{CostFunction, Samples};
/// let (mut cost, mut samples) = (CostFunction::default(), Samples::default());
/// cost.prepare(1000);
/// // The second half takes three times as long.
/// for at in 0..1000 {
///     cost.record(&mut samples, at, if at < 500 { 100 } else { 300 });
/// }
/// cost.learn(&samples, 1);
/// assert_eq!(cost.work(0..1000), Some(200_000));
/// assert_eq!(cost.take(0, 500), 666, "a half of the work");
/// ```
#[derive(Clone, Debug)]
pub struct CostFunction {
    n: u64,
    len: usize,
    /// The first iteration after each section.
    ends: [u64; SECTIONS],
    /// The work of all sections up to this one; all 0 if nothing is predicted.
    work: [u64; SECTIONS],
    history: [Summary; SECTIONS],
    /// Iterations of a sample.
    block: u64,
    all: Summary,
    residual: Estimate,
    coherence: Coherence,
}

/// Nothing is known.
impl Default for CostFunction {
    fn default() -> Self {
        Self {
            n: 0,
            len: 0,
            ends: [0; SECTIONS],
            work: [0; SECTIONS],
            history: [Summary::NONE; SECTIONS],
            block: 0,
            all: Summary::NONE,
            residual: Estimate::default(),
            coherence: Coherence::default(),
        }
    }
}

impl CostFunction {
    /// The multiple of the loop's mean · variance above which a section is refined (Lucco 1995,
    /// 003:522: 2).
    pub const SAMPLE_GAIN: u64 = 2;

    /// Prepares for an execution of `n` iterations: keeps the sections in proportion, or forgets
    /// them if the size has changed by more than a factor of two. Returns whether it begins without
    /// times.
    pub fn prepare(&mut self, n: u64) -> bool {
        if self.n == n {
            return false;
        }
        let is_alike = n > 0 && n / 2 <= self.n && self.n / 2 <= n && n >= self.len as u64;
        if !is_alike || self.n == 0 {
            let len = n.min(BASE);
            *self = Self {
                n,
                len: len as usize,
                ..Self::default()
            };
            (0..len).for_each(|i| self.ends[i as usize] = scale(i + 1, n, len));
            return true;
        }
        let before = self.n;
        let ends = &mut self.ends[..self.len];
        ends.iter_mut()
            .for_each(|end| *end = scale(*end, n, before));
        self.n = n;
        self.predict();
        false
    }

    /// Records in `samples` that the block that begins at iteration `at` took `ns` nanoseconds.
    #[inline]
    pub fn record(&self, samples: &mut Samples, at: u64, ns: u64) {
        if self.len > 0 {
            let section = self.section(at);
            samples.0[section].record(self.history[section].clip(ns));
        }
    }

    /// Learns from the samples of an execution, of `block` iterations each.
    pub fn learn(&mut self, samples: &Samples, block: u64) {
        if self.block != block {
            // Times of blocks of another size do not compare.
            self.history = [Summary::NONE; SECTIONS];
            self.block = block;
        }
        let mut coherence = Coherence::default();
        for (old, new) in self.history.iter_mut().zip(&samples.0) {
            if let (Some(a), Some(b)) = (old.mean_ns(), new.mean_ns()) {
                coherence.record(a.to_bits(), b.to_bits());
            }
            if new.count() > 0 {
                old.thin(new.count());
                old.merge(new);
            }
        }
        self.coherence = coherence;
        self.all = sum(&self.history);
        self.refine();
        self.predict();
    }

    /// Returns whether earlier executions predict the times of this one.
    pub fn is_known(&self) -> bool {
        let trusted = self.coherence.weighted().is_none_or(|c| c >= TRUSTED);
        self.total() > 0 && trusted
    }

    /// Returns the predicted time of a range in nanoseconds, if anything is known.
    pub fn work(&self, range: Range<u64>) -> Option<u64> {
        let units = self
            .before(range.end)
            .saturating_sub(self.before(range.start));
        (self.total() > 0).then_some(units / UNITS as u64)
    }

    /// Returns the iterations of a sample; 0 before there is one.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Returns the mean and variation of blocks.
    pub fn estimate(&self) -> Estimate {
        self.all.estimate()
    }

    /// Returns the mean and variation of blocks about the means of their sections: what is not
    /// predicted.
    pub fn residual(&self) -> Estimate {
        self.residual
    }

    /// Returns the coherence of the last two executions, section by section.
    pub fn coherence(&self) -> Coherence {
        self.coherence
    }

    /// Returns the class, once there were two executions.
    pub fn class(&self) -> Option<Class> {
        let mean = self.coherence.mean()?;
        Some(Class::of(self.estimate().cv, mean))
    }

    /// Returns the number of sections.
    pub fn sections(&self) -> usize {
        self.len
    }

    /// Returns the number of iterations.
    pub(super) fn n(&self) -> u64 {
        self.n
    }

    /// Returns the predicted work of the loop.
    pub(super) fn total(&self) -> u64 {
        self.len.checked_sub(1).map_or(0, |last| self.work[last])
    }

    /// Returns the predicted work of the iterations before `at`.
    pub(super) fn before(&self, at: u64) -> u64 {
        if at >= self.n {
            return self.total();
        }
        let section = self.section(at);
        let (iterations, work) = self.bounds(section);
        work.start
            + scale(
                at - iterations.start,
                work.end - work.start,
                iterations.end - iterations.start,
            )
    }

    /// Returns the last iteration before which there is no more than `work`.
    pub(super) fn reach(&self, target: u64) -> u64 {
        let section = self.work[..self.len].partition_point(|&end| end <= target);
        if section >= self.len {
            return self.n;
        }
        let (iterations, work) = self.bounds(section);
        iterations.start
            + scale(
                target - work.start,
                iterations.end - iterations.start,
                work.end - work.start,
            )
    }

    fn section(&self, at: u64) -> usize {
        let section = self.ends[..self.len].partition_point(|&end| end <= at);
        section.min(self.len.saturating_sub(1))
    }

    /// Returns the iterations of a section, and its work.
    fn bounds(&self, section: usize) -> (Range<u64>, Range<u64>) {
        let (from, done) = match section.checked_sub(1) {
            Some(before) => (self.ends[before], self.work[before]),
            None => (0, 0),
        };
        (from..self.ends[section], done..self.work[section])
    }

    /// Divides the sections that vary or weigh too much for one mean.
    fn refine(&mut self) {
        let limit = moment(&self.all).saturating_mul(Self::SAMPLE_GAIN.into());
        let mut section = 0;
        while section < self.len && self.len + PARTS - 1 <= SECTIONS {
            let (Range { start, end }, _) = self.bounds(section);
            let samples = self.history[section];
            let is_coarse =
                moment(&samples) > limit && end - start >= PARTS as u64 * self.block.max(1);
            if !is_coarse || limit == 0 {
                section += 1;
                continue;
            }
            let (len, to) = (self.len, section + PARTS);
            self.ends.copy_within(section + 1..len, to);
            self.history.copy_within(section + 1..len, to);
            // Each part begins with the mean of all, as one sample.
            let mut one = samples;
            one.thin(1);
            for part in 0..PARTS {
                self.ends[section + part] =
                    start + scale(part as u64 + 1, end - start, PARTS as u64);
                self.history[section + part] = one;
            }
            self.len += PARTS - 1;
            section = to;
        }
    }

    /// Computes the work of the sections, and the variation about their means.
    fn predict(&mut self) {
        let Some(mean) = self.all.mean_ns() else {
            return;
        };
        let (mut done, mut around, mut count) = (0u64, 0u128, 0);
        for section in 0..self.len {
            let (iterations, _) = self.bounds(section);
            let samples = &self.history[section];
            let per_block = samples.mean_ns().unwrap_or(mean).to_bits();
            let work = u128::from(iterations.end - iterations.start) * u128::from(per_block);
            let units = (work / (u128::from(self.block.max(1)) * (65_536 / UNITS))).min(1 << 58);
            done = done.saturating_add(units as u64);
            self.work[section] = done;
            let deviation = u128::from(samples.deviation_ns().unwrap_or(Q16::ZERO).to_bits() >> 8);
            around = around.saturating_add(u128::from(samples.count()) * deviation * deviation);
            count += samples.count();
        }
        let deviation = (around / u128::from(count.max(1))).isqrt() as u64;
        let cv = match mean.to_bits() >> 8 {
            0 => Estimate::START.cv,
            mean => Q16::ratio(deviation, mean),
        };
        self.residual = Estimate { mean_ns: mean, cv };
    }
}

/// Returns the sum of samples.
fn sum(sections: &[Summary]) -> Summary {
    let mut all = Summary::default();
    sections.iter().for_each(|samples| all.merge(samples));
    all
}

/// Returns mean · variance.
fn moment(samples: &Summary) -> u128 {
    let (mean, deviation) = (samples.mean_ns(), samples.deviation_ns());
    let bits = |number: Option<Q16>| number.map_or(0, |q| u128::from(q.to_bits() >> 8));
    let variance = bits(deviation) * bits(deviation);
    (bits(mean) >> 8).saturating_mul(variance)
}

/// Returns `a b / c`, 0 if `c` is.
#[inline]
pub(super) fn scale(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product.checked_div(c).unwrap_or(0),
        None => (u128::from(a) * u128::from(b))
            .checked_div(u128::from(c))
            .unwrap_or(0) as u64,
    }
}
