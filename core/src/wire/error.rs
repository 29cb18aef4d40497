//! Errors between ranks, each reported in one line.

use super::terms::{OneLine, Terms};
use super::{Malformed, Unencodable};
use crate::group::GroupId;
use crate::id::{PlaceId, Rank};
use crate::watch::Site;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// The error for which the channels of this process have ended.
///
/// Its message is one line that names this rank, the other one, the channel, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The rank that reports it.
    pub here: Rank,
    /// The rank with which it was communicating.
    pub peer: Rank,
    /// The channel, where it is known.
    pub channel: Option<Name>,
    /// The cause.
    pub cause: Cause,
}

/// The name of a channel in messages, or of an operation on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The position of the channel in the order of opening, from 0.
    pub ordinal: u32,
    /// Its purpose, if it is open at this rank.
    pub kind: Option<&'static str>,
    /// The operation: its group, and its number among those of the group.
    pub operation: Option<(GroupId, u64)>,
}

/// A call of this rank that begins an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunCall {
    /// Its place in the program.
    pub site: Site,
    /// The other ranks that have begun the operation, as far as this one knows.
    pub others: Vec<Rank>,
}

/// An error of a channel's receiver, which ends all channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rank with which it was communicating, if not the sender of the message.
    pub peer: Option<Rank>,
    /// The operation on the channel, if it is one.
    pub name: Option<Name>,
    /// The cause.
    pub cause: Cause,
}

impl From<Cause> for Fault {
    fn from(cause: Cause) -> Self {
        let (peer, name) = (None, None);
        Self { peer, name, cause }
    }
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Cause::Malformed(malformed).into()
    }
}

/// The cause of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer was lost.
    Lost {
        /// The activity of the link when it noticed.
        doing: &'static str,
    },
    /// A parcel of the peer is not one that a rank sends.
    Corrupt {
        /// The position of the expected parcel among those of the peer, from 0.
        number: u64,
        /// The length of the parcel.
        bytes: usize,
        /// The violated rule.
        why: &'static str,
    },
    /// The body of a message is not what the channel's receiver expects.
    Malformed(Malformed),
    /// A message for the peer cannot be encoded, or is too long.
    Unencodable(Unencodable),
    /// The peer has opened another channel at this position, or begun another operation.
    Mismatch {
        /// The terms of this rank.
        here: Box<Terms>,
        /// The terms of the peer.
        there: Box<Terms>,
    },
    /// The body of a message is longer than the channels permit.
    TooLong {
        /// Its length.
        bytes: usize,
        /// The permitted length.
        limit: usize,
    },
    /// A message names places that are not the peer's and this rank's.
    Misdirected {
        /// The sender that it names.
        from: PlaceId,
        /// The receiver that it names.
        to: PlaceId,
        /// The number of places of a rank.
        places: u32,
    },
    /// The peer sent more than may be kept for channels that are not open here.
    TooEarly {
        /// The bytes of messages, or of announcements and what keeps them.
        count: usize,
        /// The permitted bytes.
        limit: usize,
    },
    /// The peer has not opened the channel, or begun the operation.
    Absent {
        /// The ranks that have not either, as far as this one knows.
        others: Vec<Rank>,
        /// The time for which this rank has waited for them, if it was that.
        within: Option<Duration>,
        /// The operation's call at this rank, if it is one.
        call: Option<Box<BegunCall>>,
    },
    /// The program of this rank, which is the peer too, panicked.
    Panicked,
    /// A rank gave up for an error of its own, as the peer reports.
    Failed {
        /// The rank that gave up, which may be the peer.
        first: Rank,
        /// The error's message.
        message: String,
    },
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operation {
            Some((group, number)) => write!(f, "operation {number}{group}")?,
            None => write!(f, "channel {}", self.ordinal)?,
        }
        write!(f, " ({})", self.kind.unwrap_or("not open here"))
    }
}

impl Error {
    /// Returns the wording for a channel, or for an operation.
    fn either(&self, channel: &'static str, operation: &'static str) -> &'static str {
        let is_of_operation = self.channel.is_some_and(|name| name.operation.is_some());
        if is_of_operation { operation } else { channel }
    }

    fn begun(&self) -> &'static str {
        self.either("opened", "begun")
    }

    /// Writes this rank, and the channel or operation.
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.here)?;
        let Some(channel) = &self.channel else {
            return Ok(());
        };
        match &self.cause {
            Cause::Absent {
                call: Some(call), ..
            } => write!(f, "{channel} at {}: ", call.site),
            _ => write!(f, "{channel}: "),
        }
    }

    /// Writes which ranks have not made a call.
    fn absent(
        &self,
        others: &[Rank],
        within: Option<Duration>,
        call: Option<&BegunCall>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let has = |others: &[Rank]| if others.is_empty() { "has" } else { "have" };
        write!(f, "{}", self.peer)?;
        others.iter().try_for_each(|other| write!(f, ", {other}"))?;
        write!(f, " {} not {} it", has(others), self.begun())?;
        within.map_or(Ok(()), |within| write!(f, " within {within:.1?}"))?;
        let present = call.and_then(|call| call.others.split_first());
        let Some((first, rest)) = present else {
            return Ok(());
        };
        write!(f, "; {first}")?;
        rest.iter().try_for_each(|other| write!(f, ", {other}"))?;
        write!(f, " {}", has(rest))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        let peer = self.peer;
        match &self.cause {
            Cause::Lost { doing } => write!(f, "{peer} was lost, noticed while {doing}"),
            Cause::Corrupt { number, bytes, why } => {
                write!(
                    f,
                    "expected parcel {number} of {peer}, got {bytes} bytes: {why}"
                )
            }
            Cause::Malformed(malformed) => write!(f, "a message from {peer} has {malformed}"),
            Cause::Unencodable(why) => write!(f, "for {peer}, {why}"),
            Cause::Mismatch { here, there } => {
                write!(f, "{peer} has {} {}, ", self.begun(), there.diff(here))?;
                write!(f, "this rank {}; ", here.diff(there))?;
                let rule = self.either("open the same channels", "begin the same operations");
                write!(f, "all ranks must {rule} in the same order")
            }
            Cause::TooLong { bytes, limit } => {
                write!(
                    f,
                    "{peer} sent a message of {bytes} bytes, at most {limit} are permitted"
                )
            }
            Cause::Misdirected { from, to, places } => {
                write!(f, "{peer} sent a message from {from} to {to}; ")?;
                write!(
                    f,
                    "expected a place of its own and one of this rank, {places} a rank"
                )
            }
            Cause::TooEarly { count, limit } => {
                write!(f, "{peer} sent {count} bytes ahead of this rank; ")?;
                let what = self.either("channels that are", "operations that have");
                write!(
                    f,
                    "at most {limit} are kept for {what} not {} here",
                    self.either("open", "begun")
                )
            }
            Cause::Absent {
                others,
                within,
                call,
            } => self.absent(others, *within, call.as_deref(), f),
            Cause::Panicked => f.write_str("its program panicked"),
            Cause::Failed { first, message } => {
                if *first != peer {
                    write!(f, "{peer} reports: ")?;
                }
                // The message starts with the name of its rank.
                let own = format!("{first}: ");
                let message = message.strip_prefix(&*own).unwrap_or(message);
                write!(f, "{first} gave up: {}", OneLine(message))
            }
        }
    }
}

impl core::error::Error for Error {}
