//! Errors of spaces: one line each.

use std::error::Error;
use std::fmt;
use std::panic::Location;
use tautline_core::space::Misuse;

/// The call that made a space.
pub(super) type Site = &'static Location<'static>;

/// The most keys that are displayed.
const SHOWN: usize = 5;

/// A call that a space refuses, with the key, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub(super) space: Site,
    pub(super) key: String,
    pub(super) misuse: Misuse,
}

impl Refused {
    /// Returns the reason.
    pub fn misuse(&self) -> Misuse {
        self.misuse
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, key, misuse } = self;
        write!(f, "space of {space}: {key}: ")?;
        match misuse {
            Misuse::AlreadyPut => f.write_str("put before; a key is put once"),
            Misuse::Undeclared(0) => f.write_str("read, but `readers` returns 0 for this key"),
            Misuse::Undeclared(reads) => write!(
                f,
                "read more often than `readers` returns for this key: {reads}"
            ),
            Misuse::Shared(None) => f.write_str(
                "taken, but reads are not declared; `take` requires `readers` that return 1",
            ),
            Misuse::Shared(Some(reads)) => {
                write!(
                    f,
                    "taken, but `readers` returns {reads} for this key; `take` requires 1"
                )
            }
            other => other.fmt(f),
        }
    }
}

impl Error for Refused {}

/// A put that a space refuses, with its value.
#[derive(Clone, PartialEq, Eq)]
pub struct PutError<V> {
    /// The reason.
    pub refused: Refused,
    /// The value that was not put.
    pub value: V,
}

impl<V> fmt::Display for PutError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refused.fmt(f)
    }
}

/// Without the value, so that any put can be unwrapped.
impl<V> fmt::Debug for PutError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refused.fmt(f)
    }
}

impl<V> Error for PutError<V> {}

/// The end of a space that a task has abandoned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    pub(super) space: Site,
    pub(super) reason: Box<str>,
}

impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, reason } = self;
        write!(f, "space of {space}: abandoned: {reason}")
    }
}

impl Error for Abandoned {}

/// The keys of a closed space for which reads wait, that no task will put any more.
#[derive(Clone, PartialEq, Eq)]
pub struct Waiting {
    pub(super) space: Site,
    /// The keys, as they are displayed by `Debug`, with the number of reads that wait for each.
    pub keys: Vec<(String, usize)>,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads: usize = self.keys.iter().map(|(_, reads)| reads).sum();
        let plural = if reads == 1 {
            "read waits"
        } else {
            "reads wait"
        };
        write!(
            f,
            "space of {}: closed while {reads} {plural} for",
            self.space
        )?;
        for (at, (key, _)) in self.keys.iter().take(SHOWN).enumerate() {
            write!(f, "{}{key}", if at == 0 { " " } else { ", " })?;
        }
        match self.keys.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more keys"),
        }
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for Waiting {}
