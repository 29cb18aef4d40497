//! Reasons to refuse a message.

use crate::id::Rank;
use core::fmt;

/// The reason why a message is refused, which no correct rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A message that this rank does not receive from the sender.
    Path,
    /// The message names a rank that it cannot concern.
    Names(Rank),
    /// The numbers reported about a rank contradict each other, or those reported before.
    Progress(Rank),
    /// More iterations have begun than the loop has.
    Count,
    /// An epoch, a size or a load out of range.
    Range,
    /// The iterations sent are not of the loop, or are here already.
    Iterations,
    /// Iterations after the end, or an end while iterations are left here.
    End,
    /// An answer that was not requested, or a second request before the first was answered.
    Unasked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => write!(f, "it is not for this rank"),
            Self::Names(rank) => write!(f, "it does not concern {rank}, which it names"),
            Self::Progress(rank) => write!(f, "the progress of {rank} contradicts itself"),
            Self::Count => write!(f, "more iterations have begun than the loop has"),
            Self::Range => write!(f, "an epoch, a size or a load out of range"),
            Self::Iterations => write!(f, "iterations of another loop, or sent twice"),
            Self::End => write!(f, "the loop has ended, or iterations are left"),
            Self::Unasked => write!(f, "an answer or a request out of turn"),
        }
    }
}

impl core::error::Error for Refusal {}
