//! Errors of operations.

use crate::ranks::error::RankError;
use std::fmt;
use tautline_core::Rank;
use tautline_core::comm::{self, Tag};
use tautline_core::wire::{self, Malformed, Unencodable};

/// The reason why an operation has ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The operation was cancelled before a message came.
    Cancelled,
    /// The message is longer than the receive permits: its sender and both lengths are in the text.
    Truncated(comm::Error),
    /// A rank or a tag that does not exist.
    Invalid(comm::Error),
    /// The communicator was freed.
    Freed,
    /// The world has ended.
    Closed,
    /// A value that cannot be encoded.
    Unencodable(Unencodable),
    /// A vector that is longer than a message may be.
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The most that are allowed.
        most: usize,
    },
    /// The message is not a value of the type that was to be received.
    Malformed {
        /// The sender.
        source: Rank,
        /// The tag.
        tag: Tag,
        /// The fault of the message.
        error: Malformed,
    },
    /// The program's code that decodes the message panicked.
    Panicked,
    /// Another rank is lost, or has ended all channels between the ranks.
    Rank(RankError),
}

impl From<comm::Error> for Error {
    fn from(error: comm::Error) -> Self {
        match error {
            comm::Error::Truncated { .. } => Self::Truncated(error),
            comm::Error::Lost { rank, .. } => Self::Rank(RankError::lost(rank, &error)),
            comm::Error::Freed { .. } => Self::Freed,
            comm::Error::Closed => Self::Closed,
            comm::Error::NoRank { .. } | comm::Error::NoTag { .. } => Self::Invalid(error),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the operation was cancelled"),
            Self::Truncated(error) | Self::Invalid(error) => error.fmt(f),
            Self::Freed => f.write_str("the communicator was freed"),
            Self::Closed => f.write_str("the world has ended before the operation"),
            Self::Unencodable(error) => error.fmt(f),
            Self::TooLong { bytes, most } => {
                write!(f, "a vector of {bytes} bytes: at most {most} are allowed")
            }
            Self::Malformed { source, tag, error } => {
                write!(f, "a message of {source} with {tag}: {error}")
            }
            Self::Panicked => f.write_str("decoding the message panicked"),
            Self::Rank(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for crate::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Rank(error) => Self::Rank(error),
            other => Self::invalid(other),
        }
    }
}

impl From<wire::Error> for Error {
    fn from(error: wire::Error) -> Self {
        Self::Rank(error.into())
    }
}
