//! What is wrong with a message.

use crate::id::Rank;
use core::fmt;

/// A message that no correct rank sends. The state of the receiver is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The sender.
    pub from: Rank,
    /// What is wrong.
    pub why: Refusal,
}

/// What is wrong with a message.
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

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message from {} refused: ", self.from)?;
        match self.why {
            Refusal::Path => write!(f, "it is not for this rank"),
            Refusal::Names(rank) => write!(f, "it does not concern {rank}, which it names"),
            Refusal::Progress(rank) => write!(f, "the progress of {rank} contradicts itself"),
            Refusal::Count => write!(f, "more iterations have begun than the loop has"),
            Refusal::Range => write!(f, "an epoch, a size or a load out of range"),
            Refusal::Iterations => write!(f, "iterations of another loop, or sent twice"),
            Refusal::End => write!(f, "the loop has ended, or iterations are left"),
            Refusal::Unasked => write!(f, "an answer or a request out of turn"),
        }
    }
}

impl core::error::Error for Refused {}
