//! Messages between the ranks of a space, and its errors.

use crate::id::Rank;
use alloc::boxed::Box;
use core::fmt;

/// A message about a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<K, V> {
    /// The value, put at the sender; to the home.
    Put {
        /// The key.
        key: K,
        /// Its value.
        value: V,
    },
    /// Tasks of the sender wait for the value; to the home.
    Fetch {
        /// The key.
        key: K,
    },
    /// The value, from the home.
    Data {
        /// The key.
        key: K,
        /// The rank that has put it.
        by: Rank,
        /// Its value.
        value: V,
    },
    /// The space has ended.
    End(Failure<K>),
}

/// The error with which a space ends at all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Failure<K> {
    /// Two ranks have put the same key, or one has done so long after its first put.
    PutTwice {
        /// The key.
        key: K,
        /// The rank whose value is used.
        first: Rank,
        /// The other one.
        second: Rank,
    },
    /// The program has abandoned the space.
    Abandoned {
        /// The rank that has done so.
        by: Rank,
        /// The reason.
        reason: Box<str>,
    },
}

impl<K: fmt::Debug> fmt::Display for Failure<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutTwice { key, first, second } => {
                write!(f, "{key:?} was put by {second}, and by {first}")
            }
            Self::Abandoned { by, reason } => write!(f, "abandoned by {by}: {reason}"),
        }
    }
}

/// The reason for refusing a message: no correct rank sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A put or a fetch for a key whose home is another rank: homes differ between ranks.
    Home(Rank),
    /// A value from a rank that is not the home, or a message from no other rank of the program.
    Sender,
    /// A value said to be put by a rank that the home does not name to this one.
    Putter(Rank),
    /// A second fetch of the sender, a fetch of a rank that has put the key, or a second value.
    Twice,
    /// A value that was not fetched.
    Unrequested,
    /// A value at a rank that declares no read: readers differ between ranks.
    Undeclared,
    /// A fetch though readers are declared.
    Declared,
    /// A message that the present round of counting does not have.
    Round,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home(home) => write!(f, "a key at another rank than its home, which is {home}"),
            Self::Sender => f.write_str("a value from another rank than the home of its key"),
            Self::Putter(rank) => write!(f, "a value that {rank} cannot have put"),
            Self::Twice => f.write_str("a second fetch or a second value of a key"),
            Self::Unrequested => f.write_str("a value that was not fetched"),
            Self::Undeclared => f.write_str("a value that no task here is declared to read"),
            Self::Declared => f.write_str("a fetch of a key with declared readers"),
            Self::Round => f.write_str("a count of messages that is not due"),
        }
    }
}

impl core::error::Error for Refusal {}
