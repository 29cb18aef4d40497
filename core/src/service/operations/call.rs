//! Calls of the program that begin operations, as they are compared between ranks.

use crate::collective::sequence::Call;
use crate::id::Rank;
use crate::wire::{Terms, first_chars};
use alloc::format;
use core::fmt;
use core::panic::Location;
use core::ptr;

/// The kind of a call: its name, and the arguments that all ranks must have alike.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::service::Kind;
///
/// assert_eq!(Kind::from("barrier").to_string(), "barrier");
/// assert_eq!(Kind::rooted("gather", Rank(2)).to_string(), "gather, root: rank 2");
/// assert_eq!(Kind::sized("all-reduce", 8).to_string(), "all-reduce, elements: 8");
/// let accumulator = Kind::from("accumulator").with("operator", 2);
/// assert_eq!(accumulator.to_string(), "accumulator, operator: 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    name: &'static str,
    root: Option<Rank>,
    argument: Option<(&'static str, u64)>,
    types: Option<&'static str>,
}

impl Kind {
    /// Returns the kind of a call with a root, a rank of the group.
    pub const fn rooted(name: &'static str, root: Rank) -> Self {
        Self {
            name,
            root: Some(root),
            argument: None,
            types: None,
        }
    }

    /// Returns the kind of a call over this number of elements.
    pub const fn sized(name: &'static str, elements: u64) -> Self {
        Self {
            name,
            root: None,
            argument: Some(("elements", elements)),
            types: None,
        }
    }

    /// Returns this kind with a named number that all ranks must have alike, in place of another
    /// one.
    #[must_use]
    pub const fn with(self, argument: &'static str, number: u64) -> Self {
        Self {
            argument: Some((argument, number)),
            ..self
        }
    }

    /// Returns this kind with types that all ranks must have alike, by their names, in addition to
    /// that of the messages.
    #[must_use]
    pub const fn of_types(mut self, types: &'static str) -> Self {
        self.types = Some(types);
        self
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn is_same(&self, other: &Self) -> bool {
        ptr::eq(self.name, other.name) && (self.root, self.argument) == (other.root, other.argument)
    }
}

impl From<&'static str> for Kind {
    fn from(name: &'static str) -> Self {
        Self {
            name,
            root: None,
            argument: None,
            types: None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.root
            .map_or(Ok(()), |root| write!(f, ", root: {root}"))?;
        self.argument
            .map_or(Ok(()), |(name, number)| write!(f, ", {name}: {number}"))
    }
}

/// Counts of the operations of a group, or of all groups, at one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// Operations begun.
    pub begun: u64,
    /// Messages sent, without questions and answers about the calls.
    pub sent: u64,
    /// Bytes of these messages.
    pub sent_bytes: u64,
    /// Messages that came before their operation was begun here, and were kept.
    pub early: u64,
}

impl OperationCounts {
    /// Returns the sums of two.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            begun: self.begun + other.begun,
            sent: self.sent + other.sent,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            early: self.early + other.early,
        }
    }
}

/// A call of the program that begins an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) kind: Kind,
    pub(super) site: &'static Location<'static>,
    /// The type of its messages.
    pub(super) message: &'static str,
    check: u32,
}

impl Made {
    /// Describes a call; `last` may be any other one: mostly a call is made again and again.
    pub(super) fn new(
        kind: Kind,
        site: &'static Location<'static>,
        message: &'static str,
        last: Option<&Self>,
    ) -> Self {
        let message = kind.types.unwrap_or(message);
        let is_same = |last: &&Self| {
            last.kind.is_same(&kind) && ptr::eq(last.site, site) && ptr::eq(last.message, message)
        };
        let check = match last.filter(is_same) {
            Some(last) => last.check,
            None => check(kind, site, message),
        };
        Self {
            kind,
            site,
            message,
            check,
        }
    }
}

/// Returns a number that differs between calls that differ, almost always.
fn check(kind: Kind, site: &Location<'_>, message: &str) -> u32 {
    let place = u64::from(site.line()) << 32 | u64::from(site.column());
    // What the terms have: calls whose terms are equal are the same.
    let message = first_chars(message);
    let texts = [kind.name, site.file(), message].map(str::as_bytes);
    let root = kind.root.map_or(0, |root| 1 + u64::from(root.0));
    let arguments = [
        root,
        kind.argument
            .map_or(0, |(_, number)| number.wrapping_add(1)),
    ];
    let hash = texts.into_iter().fold(place, hashed);
    (arguments.into_iter().fold(hash, mixed) >> 32) as u32
}

impl Call for Made {
    type Terms = Terms;

    fn check(&self) -> u32 {
        self.check
    }

    fn terms(&self) -> Terms {
        Terms::named(&format!("{}", self.kind), 1, self.site, self.message)
    }
}

/// Returns a hash of `hash` and the bytes, the same at all ranks: that of FxHash, by words of eight
/// bytes, lowest first.
fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let hash = bytes.chunks(8).map(word).fold(hash, mixed);
    mixed(hash, bytes.len() as u64)
}

fn mixed(hash: u64, word: u64) -> u64 {
    const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
    (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR)
}
