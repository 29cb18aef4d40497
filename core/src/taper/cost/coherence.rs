//! Coherence of two executions of a loop.
//!
//! # Algorithm
//! Lucco 1995, 003:482: the coherence of an iteration is the smaller of its two times over the
//! larger, and that of a pair of executions their mean. The mean hides the few iterations that
//! carry the work, so decisions use Σ min / Σ max instead (spec 2.7).

use super::super::fixed::Q16;

/// The variation below which a loop is regular: σ/μ = 0.1 (spec 2.7).
const REGULAR: Q16 = Q16::ratio(1, 10);

/// The mean coherence from which on a loop is coherent: 0.8 (spec 2.7).
const COHERENT: Q16 = Q16::ratio(8, 10);

/// The coherence of two executions.
///
/// ```
/// # use tautline_core::taper::Coherence;
/// let mut coherence = Coherence::default();
/// coherence.record(2, 1);
/// coherence.record(4, 4);
/// assert_eq!(coherence.mean().unwrap().to_string(), "0.7500");
/// assert_eq!(coherence.weighted().unwrap().to_string(), "0.8333");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coherence {
    count: u64,
    /// Sum of the ratios in Q16.
    ratios: u64,
    least: u64,
    most: u64,
}

impl Coherence {
    /// Adds the two times of an iteration, or of a section.
    pub fn record(&mut self, a: u64, b: u64) {
        let (least, most) = (a.min(b), a.max(b));
        let ratio = match most {
            0 => Q16::whole(1),
            _ => Q16::ratio(least, most),
        };
        self.count += 1;
        self.ratios = self.ratios.saturating_add(ratio.to_bits());
        self.least = self.least.saturating_add(least);
        self.most = self.most.saturating_add(most);
    }

    /// Returns the mean of the ratios, if there is one.
    pub fn mean(&self) -> Option<Q16> {
        self.ratios.checked_div(self.count).map(Q16::from_bits)
    }

    /// Returns the sum of the smaller times over the sum of the larger ones, if there is one.
    pub fn weighted(&self) -> Option<Q16> {
        match (self.count, self.most) {
            (0, _) => None,
            (_, 0) => Some(Q16::whole(1)),
            (_, most) => Some(Q16::ratio(self.least, most)),
        }
    }
}

/// The predictions that a loop's times allow (Lucco 1995, 003:601).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// All iterations take about the same time.
    Regular,
    /// An iteration takes about the time of its last execution.
    Coherent,
    /// Neither.
    Chaotic,
}

impl Class {
    /// Returns the class of a loop with the coefficient of variation `cv` and the mean coherence
    /// `coherence`.
    pub fn of(cv: Q16, coherence: Q16) -> Self {
        match () {
            () if cv < REGULAR => Self::Regular,
            () if coherence >= COHERENT => Self::Coherent,
            () => Self::Chaotic,
        }
    }
}
