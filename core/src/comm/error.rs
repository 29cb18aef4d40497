//! Errors of operations, each reported in one line.

use super::message::{CommId, Tag};
use crate::id::Rank;
use core::fmt;

/// The reason for which an operation has ended without a result. Other operations are not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The message was longer than the receive permits; it is lost.
    Truncated {
        /// The sender.
        source: Rank,
        /// The tag of the message.
        tag: Tag,
        /// Its length.
        bytes: usize,
        /// The permitted length.
        limit: usize,
    },
    /// The rank with which the operation communicates was lost.
    Lost {
        /// The lost rank.
        rank: Rank,
        /// The occasion on which it was noticed, as in "while sending to it".
        doing: &'static str,
    },
    /// No such rank exists.
    NoRank {
        /// The requested rank.
        rank: Rank,
        /// The number of ranks.
        ranks: u32,
    },
    /// No such tag exists.
    NoTag {
        /// The requested tag.
        tag: Tag,
        /// The greatest tag.
        last: Tag,
    },
    /// The communicator was freed.
    Freed {
        /// The communicator.
        comm: CommId,
    },
    /// The communication worker of this rank has ended.
    Closed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated {
                source,
                tag,
                bytes,
                limit,
            } => write!(
                f,
                "the message of {source} with {tag} has {bytes} bytes, the receive permits at most {limit}"
            ),
            Self::Lost { rank, doing } => write!(f, "{rank} was lost, noticed while {doing}"),
            Self::NoRank { rank, ranks } => {
                write!(f, "there is no {rank}: ranks are from 0 to {}", ranks - 1)
            }
            Self::NoTag { tag, last } => {
                write!(f, "{tag} is out of range: tags are from 0 to {}", last.0)
            }
            Self::Freed { comm } => write!(
                f,
                "{comm} was freed: operations on it must be submitted before"
            ),
            Self::Closed => f.write_str("the communication worker of this rank has ended"),
        }
    }
}

impl core::error::Error for Error {}
