//! Identification of messages: tags, envelopes and patterns.

mod body;

pub use body::Body;

use crate::id::Rank;
use core::fmt;

/// A communicator: messages of one are never received in another. The ranks of a program agree on
/// its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct CommId(pub u32);

impl fmt::Display for CommId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "communicator {}", self.0)
    }
}

/// The subject of a message, chosen by the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Tag(pub u32);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tag {}", self.0)
    }
}

/// The messages that a receive or a probe accepts.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::comm::{CommId, Envelope, Pattern, Tag};
///
/// let envelope = Envelope { comm: CommId(0), source: Rank(3), tag: Tag(7), bytes: 80 };
/// assert!(Pattern::any(CommId(0)).accepts(&envelope));
/// assert!(!Pattern { tag: Some(Tag(8)), ..Pattern::any(CommId(0)) }.accepts(&envelope));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The communicator.
    pub comm: CommId,
    /// The sender; `None`: any rank.
    pub source: Option<Rank>,
    /// The tag; `None`: any.
    pub tag: Option<Tag>,
}

impl Pattern {
    /// Returns the pattern of all messages of a communicator.
    pub const fn any(comm: CommId) -> Self {
        Self {
            comm,
            source: None,
            tag: None,
        }
    }

    /// Whether a message with this envelope may be received.
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        self.comm == envelope.comm
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}

/// The description of a message, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The communicator.
    pub comm: CommId,
    /// The sender.
    pub source: Rank,
    /// The tag.
    pub tag: Tag,
    /// The length of the body.
    pub bytes: usize,
}
