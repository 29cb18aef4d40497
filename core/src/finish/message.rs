//! Messages about finishes, reports to and requests of their driver, and refusals.

use super::Outcome;
use crate::id::PlaceId;
use alloc::vec::Vec;
use core::{fmt, mem};

/// A finish over places, named by the place that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct FinishId {
    /// The place that waits: the home.
    pub root: PlaceId,
    /// Counts the finishes of that place.
    pub number: u64,
}

impl fmt::Display for FinishId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "finish {} of {}", self.number, self.root)
    }
}

/// A message between the [`Finishes`](super::Finishes) of two places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Counts, on their way up to the home.
    Report(FinishId, Combined),
    /// An activity failed; for the home, ahead of the report.
    Fail(FinishId, Outcome),
    /// The activities of the finish are to be cancelled. Counted as an activity.
    Cancel(FinishId, Outcome),
    /// The home repeats the count without these lost places.
    Recount(FinishId, Vec<PlaceId>),
    /// The finish has ended.
    Over(FinishId),
}

/// Reports of one or several places, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Combined {
    /// The number of lost places that the counts exclude.
    pub epoch: u32,
    /// The reports contained: place and number, ascending.
    pub parts: Vec<(PlaceId, u64)>,
    /// Activities spawned at a place minus activities ended there, without zeros, by ascending
    /// place.
    pub counts: Vec<(PlaceId, i64)>,
    /// The outcome that takes precedence among those contained.
    pub outcome: Option<Outcome>,
}

impl Combined {
    /// Adds the reports in `other`, or changes nothing if a report is in both or a sum overflows.
    pub(super) fn merge(&mut self, other: &Self) -> Result<(), Refusal> {
        let parts = merge(&self.parts, &other.parts, |(place, number), _| {
            Err(Refusal::Doubled(place, number))
        })?;
        let mut counts = merge(&self.counts, &other.counts, |(place, n), (_, m)| {
            let sum = n.checked_add(m).ok_or(Refusal::Overflow(place))?;
            Ok((place, sum))
        })?;
        counts.retain(|(_, n)| *n != 0);
        self.parts = parts;
        self.counts = counts;
        if let Some(outcome) = &other.outcome {
            Outcome::merge(&mut self.outcome, outcome);
        }
        Ok(())
    }

    /// Takes everything out.
    pub(super) fn take(&mut self) -> Self {
        mem::take(self)
    }
}

/// The key by which [`merge`] orders and matches entries.
trait Key {
    type Key: Ord;
    fn key(&self) -> Self::Key;
}

impl Key for (PlaceId, u64) {
    type Key = Self;
    fn key(&self) -> Self {
        *self
    }
}

impl Key for (PlaceId, i64) {
    type Key = PlaceId;
    fn key(&self) -> PlaceId {
        self.0
    }
}

/// Merges two ascending lists; `both` combines entries with the same key.
fn merge<T: Key + Copy>(
    a: &[T],
    b: &[T],
    mut both: impl FnMut(T, T) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => x.key().cmp(&y.key()),
            (Some(_), None) => core::cmp::Ordering::Less,
            (None, Some(_)) => core::cmp::Ordering::Greater,
            (None, None) => return Ok(merged),
        };
        merged.extend(match next {
            core::cmp::Ordering::Less => a.next(),
            core::cmp::Ordering::Greater => b.next(),
            core::cmp::Ordering::Equal => match (a.next(), b.next()) {
                (Some(x), Some(y)) => Some(both(x, y)?),
                _ => None,
            },
        });
    }
}

/// Reports of a place's driver to its [`Finishes`](super::Finishes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// All activities of the finish that ran here have ended.
    ///
    /// # Panics
    /// The step panics if no activity of the finish runs here.
    Quiet(FinishId),
    /// An activity of the finish failed here, or requests to cancel them all. At the home it may
    /// occur until the finish has ended.
    ///
    /// # Panics
    /// The step panics if no activity of the finish runs here and its home is elsewhere, or if it
    /// has ended.
    Fail(FinishId, Outcome),
    /// The driver is about to wait. Reports are sent towards their homes; those that wait for this
    /// event are sent as one.
    Flush,
}

/// Requests of a place's [`Finishes`](super::Finishes) to its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Cancel the activities of the finish that run or wait here; those that arrive later are
    /// [skipped](super::Arrival::Skip). They must still end, which [`Event::Quiet`] reports.
    /// Required once for each finish and place.
    Cancel(FinishId, Outcome),
    /// All activities of the finish have ended. Reported at its home only, once.
    Done(FinishId, Option<Outcome>),
}

/// A reason to refuse a message about a finish: no correct place sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The message names a place that does not exist, or that cannot be meant.
    Place(PlaceId),
    /// The finish has not begun, or has ended.
    Unknown(FinishId),
    /// The receiver is not the home.
    NotHome,
    /// The sender is not the home of this finish.
    NotFromHome(FinishId),
    /// The sender does not report here, or not for this place.
    Path(PlaceId),
    /// This report of this place was received before; reports are numbered from 1.
    Doubled(PlaceId, u64),
    /// The lists of a report are not in ascending order.
    Order,
    /// Activities are said to have ended at a place that this report is not from.
    EndedElsewhere(PlaceId),
    /// The count of this place overflows.
    Overflow(PlaceId),
    /// The report excludes another number of lost places than the home requested.
    Epoch(u32),
    /// The finish is said to be over while activities run here.
    Running(FinishId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "it names {place}, which does not take part"),
            Self::Unknown(id) => write!(f, "{id} has not begun or has ended"),
            Self::NotHome => write!(f, "a report at a place that is not the home"),
            Self::NotFromHome(id) => write!(f, "only the home speaks for {id}"),
            Self::Path(place) => write!(f, "the report of {place} does not come this way"),
            Self::Doubled(place, number) => {
                write!(f, "report {number} of {place} was received before")
            }
            Self::Order => write!(f, "the lists of the report are not ascending"),
            Self::EndedElsewhere(place) => {
                write!(f, "activities ended at {place}, which did not report")
            }
            Self::Overflow(place) => write!(f, "the count of {place} overflows"),
            Self::Epoch(lost) => write!(
                f,
                "the report excludes {lost} lost places, more than the home"
            ),
            Self::Running(id) => write!(f, "{id} is said to be over, but runs here"),
        }
    }
}

impl core::error::Error for Refusal {}
