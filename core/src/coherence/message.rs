//! Accesses, modes, and messages between the ranks of an object.

use crate::id::Rank;
use core::fmt;

/// The protocol by which other ranks than the home access the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Mode {
    /// The value stays at the home: operations travel to it, and closures borrow it
    /// (`X10Protocol`).
    Home,
    /// Ranks keep copies, which a directory at the home invalidates (`DirCoPX`).
    Directory,
    /// As [`Directory`](Self::Directory), and a rank that misses a read obtains the only copy,
    /// directly from the former owner (the augmented `DirCoPX`).
    Migratory,
}

/// The state of the copy of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyState {
    /// No access may use the copy.
    Invalid,
    /// The copy is current; other ranks may have one, too.
    Shared,
    /// The only copy.
    Exclusive,
}

impl CopyState {
    /// Whether an access of this kind can be performed on a copy in this state.
    pub fn permits(self, kind: Kind) -> bool {
        match kind {
            Kind::Read => self != Self::Invalid,
            Kind::Update | Kind::Modify => self == Self::Exclusive,
        }
    }
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads the value.
    Read,
    /// Changes the value by an operation that can be performed at any rank.
    Update,
    /// Changes the value by a closure that must run at this rank.
    Modify,
}

/// An access of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// Identifies the access among those of its rank that have not been performed.
    pub number: u64,
    /// The kind of access.
    pub kind: Kind,
}

/// A message between two ranks about an object, with values `V`, operations `O`, and their outputs
/// `R`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<V, O, R> {
    /// An access cannot be performed on the sender's copy; to the home.
    Request(Request<O>),
    /// The answer of the home, with the present mode.
    Grant(Mode, Grant<V, R>),
    /// The home needs the copy of the receiver.
    Recall(Recall),
    /// The answer to a recall; to the home.
    Answer(Answer<V>),
    /// The value, from its former owner to the rank that the home has named.
    Passed(V),
}

/// A request to the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Request<O> {
    /// For a copy to read.
    Read,
    /// For the only copy, with the value.
    Write,
    /// To make the sender's shared copy the only one.
    Upgrade,
    /// For the only copy, which its owner passes on directly.
    ReadExclusive,
    /// For the value, once: the sender keeps no copy.
    Get,
    /// To perform an operation on the value at the home.
    Operate {
        /// The number of the access.
        access: u64,
        /// The operation.
        operation: O,
    },
    /// For the value, which the sender returns at once.
    Borrow,
}

impl<O> Request<O> {
    /// Returns the number of the access, if the request has one.
    pub(super) fn access(&self) -> Option<u64> {
        match self {
            Self::Operate { access, .. } => Some(*access),
            _ => None,
        }
    }
}

/// An answer of the home to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Grant<V, R> {
    /// A copy to read.
    Shared(V),
    /// The only copy.
    Exclusive(V),
    /// The receiver's shared copy is now the only one.
    Upgraded,
    /// The receiver is the owner. The value comes from the former one.
    Owned {
        /// The former owner.
        former: Rank,
    },
    /// The value, of which no copy is kept.
    Value(V),
    /// The operation was performed.
    Done {
        /// The number of the access.
        access: u64,
        /// The output of the operation.
        output: R,
    },
    /// The value, to be returned at once.
    Lent(V),
    /// No copies are given in the present mode. The access is to be requested again.
    Refused,
    /// The value was lost, with the only rank that had it.
    Lost {
        /// The lost rank.
        owner: Rank,
        /// The number of the access whose operation was requested; `None` for another request.
        access: Option<u64>,
    },
}

/// A request of the home for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Recall {
    /// Drop the shared copy.
    Invalidate,
    /// Send the value of the only copy to the home, and share it.
    Share,
    /// Send the value of the only copy to the home, and drop it.
    Take,
    /// Send the only copy to this rank.
    Pass(Rank),
}

/// An answer to the home about a copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Answer<V> {
    /// The sender has no copy.
    Invalidated,
    /// The value of what was the only copy.
    Value(V),
    /// The value was sent to the rank that the recall has named.
    Passed,
    /// The value that the sender has borrowed.
    Returned(V),
    /// The value of the only copy, which the sender drops on its own.
    Evicted(V),
    /// The sender is the owner, and this rank was lost, which had to pass the value to it.
    Missing(Rank),
}

/// The reason for refusing a message: no correct rank sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A message for the home at another rank, or one for another rank at the home.
    Role,
    /// The sender is not the rank that sends messages of this kind.
    Sender,
    /// The sender has another request outstanding, or an access of this number.
    Twice,
    /// The receiver has requested nothing that this message answers.
    Unrequested,
    /// The copy is not in a state in which the home sends this recall.
    State,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Role => "a message about a shared object for another rank than this",
            Self::Sender => "a message about a shared object from another rank than expected",
            Self::Twice => "a request for a shared object while the last one is not answered",
            Self::Unrequested => "an answer about a shared object that was not requested",
            Self::State => "a recall of a copy that this rank cannot have",
        })
    }
}

impl core::error::Error for Refusal {}
