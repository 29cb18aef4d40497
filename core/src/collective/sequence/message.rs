//! Messages between sequences, and their events and effects.

use crate::id::Rank;
use core::fmt::{self, Debug};

/// A call that must be equal at all ranks that make it.
pub trait Call: Clone {
    /// Its description, which is shown where it differs.
    type Terms: Clone + Debug + PartialEq;

    /// Returns a number that differs between calls that differ, almost always.
    fn check(&self) -> u32;

    /// Returns its description.
    fn terms(&self) -> Self::Terms;
}

/// A message whose memory is bounded.
pub trait Weight {
    /// Returns the bytes that it takes.
    fn weight(&self) -> usize;
}

/// Messages between the sequences of two ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Sequenced<T, B> {
    /// A message of a call.
    Body {
        /// The number of the call.
        number: u64,
        /// Its check.
        check: u32,
        /// The message.
        body: B,
    },
    /// Requests [`Begun`](Self::Begun) once the receiver has made this call.
    Ask {
        /// The number of the call.
        number: u64,
        /// Its terms, if the sender has them.
        terms: Option<T>,
    },
    /// The number of calls that the sender has made.
    Begun {
        /// The number of calls.
        calls: u64,
    },
    /// The sender has made another call than the receiver, as the check of a message of the
    /// receiver shows.
    Differs {
        /// The number of the call.
        number: u64,
        /// Its terms at the sender, if it has them.
        terms: Option<T>,
    },
}

impl<T, B> Sequenced<T, B> {
    /// Returns the number of the call that it is about: of the next one, if it is about those
    /// before.
    pub fn number(&self) -> u64 {
        match self {
            Self::Body { number, .. } | Self::Ask { number, .. } | Self::Differs { number, .. } => {
                *number
            }
            Self::Begun { calls } => *calls,
        }
    }
}

/// A report of a rank to its sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event<C, B> {
    /// The program makes the next call.
    Begin(C),
    /// A call of this rank sends a message.
    Send {
        /// The number of the call.
        number: u64,
        /// The receiver.
        to: Rank,
        /// The message.
        body: B,
    },
    /// A call of this rank takes no message any more.
    End(u64),
    /// Time has passed: a call that was there at the last such event waits.
    Wait,
    /// A rank makes no further call.
    Left(Rank),
    /// This rank makes no further call.
    Leave,
}

/// A requirement of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<T, B> {
    /// A message has come for a call of this rank that has not ended.
    Deliver {
        /// The number of the call.
        number: u64,
        /// The sender.
        from: Rank,
        /// The message.
        body: B,
    },
    /// Another rank has made another call at this number. The sequence is over.
    Differs {
        /// The other rank.
        rank: Rank,
        /// The number.
        number: u64,
        /// The call of this rank; `None` if it has made others since.
        here: Option<T>,
        /// The call of the other rank; `None` if it is not known.
        there: Option<T>,
    },
    /// Another rank has left without a call that this rank waits in. The sequence is over.
    Absent {
        /// The other rank.
        rank: Rank,
        /// The number of the call.
        number: u64,
    },
}

/// The reason why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Its sender is not another rank of the group.
    NoMember,
    /// More bytes than may be kept for calls that this rank has not made.
    TooEarly {
        /// The bytes that would be kept.
        count: usize,
        /// The permitted bytes.
        limit: usize,
    },
    /// A contradiction to an earlier message.
    Contradicts,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMember => f.write_str("its sender is no other rank of the group"),
            Self::TooEarly { count, limit } => {
                write!(
                    f,
                    "{count} bytes for calls to come, at most {limit} are kept"
                )
            }
            Self::Contradicts => f.write_str("it contradicts an earlier message"),
        }
    }
}
