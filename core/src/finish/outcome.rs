//! Outcomes of computations that did not complete.

#[cfg(feature = "alloc")]
use crate::id::{PlaceId, Rank};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

/// The reason why a computation was stopped before all work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Reason {
    /// A bag found the result.
    Found,
    /// A bag abandoned the search.
    GivenUp,
    /// The deadline passed.
    Deadline,
    /// The user or another part of the program interrupted the computation.
    Interrupted,
    /// A place that took part cannot be reached any more.
    Lost,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 5] = [
        Self::Found,
        Self::GivenUp,
        Self::Deadline,
        Self::Interrupted,
        Self::Lost,
    ];

    /// Returns the name used in tables and JSON.
    ///
    /// ```
    /// # use tautline_core::finish::Reason;
    /// assert_eq!(Reason::GivenUp.name(), "given up");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::GivenUp => "given up",
            Self::Deadline => "deadline",
            Self::Interrupted => "interrupted",
            Self::Lost => "place lost",
        }
    }
}

/// The [name](Reason::name).
///
/// ```
/// use tautline_core::glb::Reason;
///
/// assert_eq!(format!("stopped: {}", Reason::Deadline), "stopped: deadline");
/// ```
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why a finish over places did not complete.
///
/// Several places may fail independently. The outcome of the finish is the [first](Self::precedes)
/// of them in an order that does not depend on which message came first: panics precede losses,
/// losses precede cancellations; among equals the lowest place decides, and at one place the first
/// to occur.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// An activity panicked.
    Panicked {
        /// The place where it ran.
        at: PlaceId,
        /// The text of the panic; its payload does not leave the process.
        message: Box<str>,
    },
    /// A place that took part was lost.
    Lost {
        /// The lost place.
        at: PlaceId,
        /// The rank that had the place.
        rank: Rank,
    },
    /// The finish was cancelled.
    Cancelled {
        /// The place that requested it.
        at: PlaceId,
        /// The reason.
        reason: Reason,
    },
}

#[cfg(feature = "alloc")]
impl Outcome {
    /// Returns the place that the outcome is about.
    ///
    /// ```
    /// # use tautline_core::{PlaceId, finish::{Outcome, Reason}};
    /// let panicked = Outcome::Panicked { at: PlaceId(3), message: "overflow".into() };
    /// let cancelled = Outcome::Cancelled { at: PlaceId(1), reason: Reason::Found };
    /// assert_eq!((panicked.at(), cancelled.at()), (PlaceId(3), PlaceId(1)));
    /// ```
    pub fn at(&self) -> PlaceId {
        match self {
            Self::Panicked { at, .. } | Self::Lost { at, .. } | Self::Cancelled { at, .. } => *at,
        }
    }

    /// Whether this outcome takes precedence over `other`. A strict order of outcomes of different
    /// places or kinds.
    ///
    /// ```
    /// # use tautline_core::{PlaceId, finish::{Outcome, Reason}};
    /// let panicked = Outcome::Panicked { at: PlaceId(3), message: "overflow".into() };
    /// let cancelled = Outcome::Cancelled { at: PlaceId(1), reason: Reason::Found };
    /// assert!(panicked.precedes(&cancelled));
    /// ```
    pub fn precedes(&self, other: &Self) -> bool {
        (self.kind(), self.at()) < (other.kind(), other.at())
    }

    /// Replaces `outcome` if `other` takes precedence. Returns whether it does.
    pub(super) fn merge(outcome: &mut Option<Self>, other: &Self) -> bool {
        let first = outcome.as_ref().is_none_or(|known| other.precedes(known));
        if first {
            *outcome = Some(other.clone());
        }
        first
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Panicked { .. } => 0,
            Self::Lost { .. } => 1,
            Self::Cancelled { .. } => 2,
        }
    }
}

#[cfg(feature = "alloc")]
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked { at, message } => write!(f, "panicked at {at}: {message}"),
            Self::Lost { at, rank } => write!(f, "lost {at} with {rank}"),
            Self::Cancelled { at, reason } => write!(f, "cancelled at {at}: {}", reason.name()),
        }
    }
}

#[cfg(feature = "alloc")]
impl core::error::Error for Outcome {}
