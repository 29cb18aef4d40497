//! Choice of the machine that balances the next instance of a loop.

use super::Geometry;
use crate::taper::{Coherence, Q16};

/// The coherence from which on iterations take the same time again, but for noise: 0.99.
const STEADY: Q16 = Q16::ratio(99, 100);

/// The coherence below which [`Deferred`](super::Deferred) makes no plan: 0.8 (spec 2.12 of Lucco
/// 1995).
const COHERENT: Q16 = Q16::ratio(8, 10);

/// The coherence below which earlier times predict nothing: 0.5 (spec 2.8).
const TRUSTED: Q16 = Q16::ratio(1, 2);

/// The method that balances an instance.
///
/// | iterations | coherence | choice |
/// |---|---|---|
/// | communicate with their neighbours | from 0.8 on | [`Choice::Deferred`], contiguous |
/// | do not | from 0.99 on | [`Choice::Deferred`], free |
/// | do not | from 0.5 on | [`Choice::Placed`] |
/// | any | below, or not known | [`Choice::Counted`] |
///
/// A plan is as old as two instances when it takes effect, and costs an instance nothing.
/// Self-scheduling from the placement of the instance before uses the newest times and corrects
/// them while it runs, at the price of messages; so it is better where times change.
///
/// ```
/// # use tautline_core::defer::{Choice, Geometry};
/// # use tautline_core::taper::Coherence;
/// let mut coherence = Coherence::default();
/// assert_eq!(Choice::of(&coherence, false), Choice::Counted);
/// coherence.record(100, 90);
/// assert_eq!(Choice::of(&coherence, false), Choice::Placed);
/// assert_eq!(Choice::of(&coherence, true), Choice::Deferred(Geometry::Contiguous));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// By [`Epochs`](super::Epochs), counting iterations.
    Counted,
    /// By [`Epochs::placed`](super::Epochs::placed): predicted work, from where iterations were
    /// executed before.
    Placed,
    /// By [`Deferred`](super::Deferred).
    Deferred(Geometry),
}

impl Choice {
    /// Chooses by the work-weighted coherence of the instances so far, and whether iterations
    /// communicate with their neighbours.
    pub fn of(coherence: &Coherence, communicates: bool) -> Self {
        let coherence = coherence.weighted().unwrap_or(Q16::ZERO);
        match communicates {
            true if coherence >= COHERENT => Self::Deferred(Geometry::Contiguous),
            false if coherence >= STEADY => Self::Deferred(Geometry::Free),
            false if coherence >= TRUSTED => Self::Placed,
            _ => Self::Counted,
        }
    }
}
