//! The error of another rank.
#![forbid(unsafe_code)]

use std::fmt;
use tautline_core::balance::{self, Left};
use tautline_core::comm;
use tautline_core::finish::Outcome;
use tautline_core::group::Group;
use tautline_core::task::Cancelled;
use tautline_core::wire::{self, Cause};
use tautline_core::{PlaceId, Rank};

/// A call over the ranks of a program that has ended without a result. Displayed as one line that
/// names the rank and the reason.
///
/// ```
/// use tautline::Error;
/// use tautline::world::{self, RankErrorKind};
///
/// let sums = world::loopback(2, |world| match world.is_home() {
///     true => world.all_reduce(1, |a, b| a + b).err(),
///     false => None, // leaves without the call
/// });
/// let Some(Error::Rank(error)) = &sums[0] else { panic!("{sums:?}") };
/// assert_eq!((error.kind(), error.rank().0), (RankErrorKind::Diverged, 1));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RankError {
    kind: RankErrorKind,
    rank: Rank,
    line: String,
}

/// The kind of a [`RankError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankErrorKind {
    /// The rank has ended, or the link to it.
    Lost,
    /// Its program has panicked.
    Panicked,
    /// A scope around its task was cancelled.
    Cancelled,
    /// The rank makes another call, leaves without this one, or has not made it within the
    /// [limit](crate::world::World::wait_at_most).
    Diverged,
    /// The rank has sent what no correct rank sends, or more than is permitted.
    Violated,
    /// A value for it cannot be encoded, or one of its values cannot be decoded.
    Encoding,
    /// The rank has given up for another error, which the line has.
    Failed,
    /// The rank has [freed](crate::globals::Globals::free) the object.
    Freed,
}

impl RankError {
    fn new(kind: RankErrorKind, rank: Rank, line: impl fmt::Display) -> Self {
        let line = line.to_string();
        Self { kind, rank, line }
    }

    /// Creates the error of a message that no correct rank sends.
    pub(crate) fn refused(from: Rank, why: impl fmt::Display) -> Self {
        Self::new(RankErrorKind::Violated, from, format_args!("{from}: {why}"))
    }

    /// Creates the error of a shared object, of which a rank is the cause.
    pub(crate) fn of_object(kind: RankErrorKind, rank: Rank, line: impl fmt::Display) -> Self {
        Self::new(kind, rank, line)
    }

    /// Creates the error of a call that rank `from` has not answered.
    pub(crate) fn unanswered(from: Rank) -> Self {
        let line = format_args!("{from}: the call has no result, since its finish has failed");
        Self::new(RankErrorKind::Cancelled, from, line)
    }

    /// Creates the error of a finish that was cancelled by a task of rank `here`.
    pub(crate) fn cancelled(here: Rank, cancelled: Cancelled) -> Self {
        Self::new(
            RankErrorKind::Cancelled,
            here,
            format_args!("{here}: {cancelled}"),
        )
    }

    /// Converts the outcome of a finish of a group.
    pub(crate) fn of_outcome(group: &Group, outcome: &Outcome) -> Self {
        let member = |at: PlaceId| group.member(Rank(at.0));
        match outcome {
            Outcome::Panicked { at, message } => {
                let rank = member(*at);
                let line = format_args!("{rank}: {message}");
                Self::new(RankErrorKind::Panicked, rank, line)
            }
            Outcome::Lost { at, .. } => {
                let rank = member(*at);
                Self::new(RankErrorKind::Lost, rank, format_args!("{rank} was lost"))
            }
            Outcome::Cancelled { at, reason } => {
                let reason = *reason;
                Self::cancelled(member(*at), Cancelled { reason })
            }
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> RankErrorKind {
        self.kind
    }

    /// Returns the rank that is its cause, as far as this one knows.
    pub fn rank(&self) -> Rank {
        self.rank
    }
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// The message itself: it is what a `main` that returns an error prints.
impl fmt::Debug for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.line)
    }
}

impl std::error::Error for RankError {}

impl From<wire::Error> for RankError {
    fn from(error: wire::Error) -> Self {
        let (kind, rank) = match &error.cause {
            Cause::Lost { .. } => (RankErrorKind::Lost, error.peer),
            Cause::Panicked => (RankErrorKind::Panicked, error.peer),
            Cause::Mismatch { .. } | Cause::Absent { .. } => (RankErrorKind::Diverged, error.peer),
            Cause::Malformed(_) | Cause::Unencodable(_) => (RankErrorKind::Encoding, error.peer),
            Cause::Failed { first, .. } => (RankErrorKind::Failed, *first),
            Cause::Corrupt { .. }
            | Cause::TooLong { .. }
            | Cause::Misdirected { .. }
            | Cause::TooEarly { .. } => (RankErrorKind::Violated, error.peer),
        };
        Self::new(kind, rank, error)
    }
}

impl RankError {
    /// Converts the error of a balanced computation at rank `here`.
    pub(crate) fn balanced(error: balance::RankError, here: Rank) -> Self {
        use balance::RankError as Balanced;
        let (kind, rank) = match error {
            Balanced::Wire(error) => return error.into(),
            Balanced::Cancelled(_) => (RankErrorKind::Cancelled, here),
            Balanced::Abandoned { from, ref why } => match *why {
                Left::Cancelled(_) => (RankErrorKind::Cancelled, from),
                Left::Panicked(_) => (RankErrorKind::Panicked, from),
                Left::Refused(_) => (RankErrorKind::Failed, from),
                Left::Lost(rank) => (RankErrorKind::Lost, rank),
                _ => (RankErrorKind::Failed, from),
            },
            Balanced::Refused { from, .. } => (RankErrorKind::Violated, from),
            Balanced::Result(_) => (RankErrorKind::Encoding, Rank(0)),
            _ => (RankErrorKind::Failed, here),
        };
        Self::new(kind, rank, error)
    }

    /// Converts the loss of `rank` during an operation of a communicator.
    pub(crate) fn lost(rank: Rank, error: &comm::Error) -> Self {
        Self::new(RankErrorKind::Lost, rank, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_core::glb::Reason;

    fn of_cause(cause: Cause) -> (RankErrorKind, Rank) {
        let [here, peer] = [Rank(0), Rank(1)];
        let error = wire::Error {
            here,
            peer,
            channel: None,
            cause,
        };
        let line = error.to_string();
        let error = RankError::from(error);
        assert_eq!(error.to_string(), line);
        (error.kind(), error.rank())
    }

    #[test]
    fn each_cause_has_its_kind_and_rank() {
        let (others, within, call) = (vec![Rank(2)], None, None);
        let (doing, why) = ("sending to it", "its check differs");
        let (first, message) = (Rank(3), "a panic".to_owned());
        for (cause, kind, rank) in [
            (Cause::Lost { doing }, RankErrorKind::Lost, 1),
            (Cause::Panicked, RankErrorKind::Panicked, 1),
            (
                Cause::Absent {
                    others,
                    within,
                    call,
                },
                RankErrorKind::Diverged,
                1,
            ),
            (
                Cause::Corrupt {
                    number: 4,
                    bytes: 5,
                    why,
                },
                RankErrorKind::Violated,
                1,
            ),
            (
                Cause::TooLong { bytes: 2, limit: 1 },
                RankErrorKind::Violated,
                1,
            ),
            (Cause::Failed { first, message }, RankErrorKind::Failed, 3),
        ] {
            assert_eq!(of_cause(cause), (kind, Rank(rank)));
        }
    }

    #[test]
    fn each_reason_to_leave_a_computation_has_its_kind_and_rank() {
        for (why, kind, rank) in [
            (Left::Cancelled(Reason::Found), RankErrorKind::Cancelled, 1),
            (Left::Panicked("no".to_owned()), RankErrorKind::Panicked, 1),
            (Left::Refused("no".to_owned()), RankErrorKind::Failed, 1),
            (Left::Lost(Rank(2)), RankErrorKind::Lost, 2),
        ] {
            let from = Rank(1);
            let error = balance::RankError::Abandoned { from, why };
            let line = error.to_string();
            let error = RankError::balanced(error, Rank(0));
            assert_eq!((error.kind(), error.rank()), (kind, Rank(rank)));
            assert_eq!(error.to_string(), line);
        }
    }
}
