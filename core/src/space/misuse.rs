//! Calls of a program that a space refuses.

use crate::id::Rank;
use core::fmt;

/// The reason for which a call of the program is refused. The space continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// The home of the key, or one of its readers, is not a rank of the program.
    NoRank(Rank),
    /// This rank has put the key before.
    AlreadyPut,
    /// The readers declare this number of reads at this rank, and all have begun.
    Undeclared(u32),
    /// The value cannot be taken: this number of tasks is declared to read it, and not one; `None`
    /// if readers are not declared.
    Shared(Option<u32>),
    /// The program has closed the space at this rank.
    Closed,
    /// The space has ended with an error.
    Ended,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRank(rank) => write!(f, "{rank} is the home or a reader, but does not exist"),
            Self::AlreadyPut => f.write_str("the key was put before"),
            Self::Undeclared(0) => f.write_str("no read is declared at this rank"),
            Self::Undeclared(reads) => {
                write!(f, "a read in addition to the {reads} declared at this rank")
            }
            Self::Shared(Some(reads)) => {
                write!(
                    f,
                    "{reads} reads are declared, and only the value of one can be taken"
                )
            }
            Self::Shared(None) => f.write_str("a value can be taken only if readers are declared"),
            Self::Closed => f.write_str("the space was closed before"),
            Self::Ended => f.write_str("the space has ended"),
        }
    }
}

impl core::error::Error for Misuse {}
