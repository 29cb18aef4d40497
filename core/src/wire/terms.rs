//! Terms of a channel, which must be equal at all ranks that open it.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use core::panic::Location;
use serde::{Deserialize, Serialize};

/// Characters of the name of a type.
const TYPE_CHARS: usize = 4000;

/// The terms under which a rank has opened a channel. They must be equal at all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The purpose of the channel.
    pub kind: String,
    /// The call that opened it: file, line and column.
    pub site: String,
    /// The type of its messages.
    pub message: String,
    /// The number of places of each rank.
    pub places: u32,
    /// The representation of numbers: the bytes of a word, and whether the lowest comes first.
    pub machine: (u8, bool),
}

impl Terms {
    pub(super) fn of<M>(kind: &str, places: u32, site: &Location<'_>) -> Self {
        Self::named(kind, places, site, core::any::type_name::<M>())
    }

    /// As `of`, for messages whose type has this name.
    pub(crate) fn named(kind: &str, places: u32, site: &Location<'_>, message: &str) -> Self {
        Self {
            kind: kind.to_string(),
            site: format!("{site}"),
            message: first_chars(message).to_string(),
            places,
            machine: (size_of::<usize>() as u8, cfg!(target_endian = "little")),
        }
    }
}

impl Terms {
    /// Returns the bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        self.kind.len() + self.site.len() + self.message.len()
    }

    /// Returns the terms shown for a call that its rank does not remember.
    pub(crate) fn forgotten() -> Self {
        Self {
            kind: "another operation".to_string(),
            site: "a call that it has forgotten".to_string(),
            message: String::new(),
            places: 1,
            machine: (size_of::<usize>() as u8, cfg!(target_endian = "little")),
        }
    }
}

/// Returns as much of the name of a type as terms have.
pub(crate) fn first_chars(name: &str) -> &str {
    let end = name.char_indices().nth(TYPE_CHARS);
    end.map_or(name, |(end, _)| &name[..end])
}

impl Terms {
    /// Returns these terms for a message that compares them with `other`: the call, and the
    /// differences.
    pub(super) fn diff<'a>(&'a self, other: &'a Self) -> TermsDiff<'a> {
        TermsDiff { terms: self, other }
    }
}

/// See [`Terms::diff`].
pub(super) struct TermsDiff<'a> {
    terms: &'a Terms,
    other: &'a Terms,
}

impl fmt::Display for TermsDiff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { terms, other } = self;
        write!(f, "`{}` at {}", OneLine(&terms.kind), OneLine(&terms.site))?;
        // Calls that differ explain why the types do.
        if (&terms.kind, &terms.site) == (&other.kind, &other.site)
            && terms.message != other.message
        {
            write!(f, ", messages: {}", OneLine(&terms.message))?;
        }
        if terms.places != other.places {
            write!(f, ", places of a rank: {}", terms.places)?;
        }
        if terms.machine != other.machine {
            let (bytes, is_little) = terms.machine;
            let order = if is_little { "little" } else { "big" };
            write!(
                f,
                ", machine: {} bits, {order}-endian",
                u32::from(bytes) * 8
            )?;
        }
        Ok(())
    }
}

/// A text of another rank, in which nothing ends the line.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |c: char| {
            if c.is_control() {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        };
        self.0.chars().try_for_each(|c| f.write_char(shown(c)))
    }
}
