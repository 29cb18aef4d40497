//! The variables by which a launched process finds its ranks.
#![forbid(unsafe_code)]

use crate::Error;
use std::ffi::{OsStr, OsString};

/// The variable with the rank of a launched process.
pub const RANK_VARIABLE: &str = "TAUTLINE_RANK";
/// The variable with the number of ranks.
pub const RANKS_VARIABLE: &str = "TAUTLINE_RANKS";
/// The variable with the file descriptor of the segment.
pub const SEGMENT_VARIABLE: &str = "TAUTLINE_SEGMENT";

/// The values of the three variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) descriptor: i32,
}

impl Seat {
    /// Reads the variables, of which an empty one counts as unset.
    pub(crate) fn read(value: impl Fn(&str) -> Option<OsString>) -> Result<Option<Self>, Error> {
        let names = [RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE];
        let mut texts = names.map(|_| None);
        for (text, name) in texts.iter_mut().zip(names) {
            if let Some(value) = value(name) {
                let read = value.to_str().ok_or_else(|| not_unicode(name, &value))?;
                let read = Some(read.trim().to_owned());
                *text = read.filter(|text| !text.is_empty());
            }
        }
        let Some(set) = texts.iter().position(Option::is_some) else {
            return Ok(None);
        };
        if let Some(unset) = texts.iter().position(Option::is_none) {
            let value = texts[set].as_deref().unwrap_or_default();
            let reason = format!(
                "set by a launcher together with {}, which is not set",
                names[unset]
            );
            return Err(refuse(names[set], value, reason));
        }
        let number = |at: usize, allowed: &str| {
            let text = texts[at].as_deref().unwrap_or_default();
            let number = text.parse::<i32>().ok().filter(|number| *number >= 0);
            number.ok_or_else(|| refuse(names[at], text, allowed.to_owned()))
        };
        let (rank, ranks) = (
            number(0, "the number of a rank, from 0")?,
            number(1, "the number of ranks, from 1")?,
        );
        let descriptor = number(2, "the file descriptor of a shared segment")?;
        if rank >= ranks {
            let allowed = format!("a rank below {ranks}, the number of ranks");
            return Err(refuse(RANK_VARIABLE, &rank.to_string(), allowed));
        }
        Ok(Some(Self {
            rank: rank as u32,
            ranks: ranks as u32,
            descriptor,
        }))
    }
}

/// Returns the error of a value that is not text.
fn not_unicode(name: &'static str, value: &OsStr) -> Error {
    Error::Variable {
        name,
        value: format!("\"{}\"", value.as_encoded_bytes().escape_ascii()),
        reason: "not Unicode, expected UTF-8".to_owned(),
    }
}

/// Returns the error of a variable.
pub(crate) fn refuse(name: &'static str, value: &str, reason: String) -> Error {
    Error::Variable {
        name,
        value: value.escape_debug().to_string(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn read(values: [&str; 3]) -> Result<Option<Seat>, String> {
        let names = [RANK_VARIABLE, RANKS_VARIABLE, SEGMENT_VARIABLE];
        let value = |name: &str| {
            let at = names.iter().position(|known| *known == name)?;
            (values[at] != "-").then(|| values[at].into())
        };
        Seat::read(value).map_err(|error| error.to_string())
    }

    #[test]
    fn the_variables_are_read_together() {
        assert_eq!(read(["-", "-", "-"]), Ok(None));
        assert_eq!(read(["", " ", ""]), Ok(None));
        let seat = Seat {
            rank: 1,
            ranks: 4,
            descriptor: 7,
        };
        assert_eq!(read(["1", "4", "7"]), Ok(Some(seat)));
    }

    #[test]
    fn variables_of_no_launch_are_named_with_their_value() {
        for (values, line) in [
            (
                ["1", "-", "-"],
                "TAUTLINE_RANK 1: set by a launcher together with TAUTLINE_RANKS, which is not set",
            ),
            (
                ["-", "4", ""],
                "TAUTLINE_RANKS 4: set by a launcher together with TAUTLINE_RANK, which is not set",
            ),
            (
                ["1", "4", "-"],
                "TAUTLINE_RANK 1: set by a launcher together with TAUTLINE_SEGMENT, which is not set",
            ),
            (
                ["one", "4", "7"],
                "TAUTLINE_RANK one: the number of a rank, from 0",
            ),
            (
                ["-1", "4", "7"],
                "TAUTLINE_RANK -1: the number of a rank, from 0",
            ),
            (
                ["4", "4", "7"],
                "TAUTLINE_RANK 4: a rank below 4, the number of ranks",
            ),
            (
                ["0", "0", "7"],
                "TAUTLINE_RANK 0: a rank below 0, the number of ranks",
            ),
            (
                ["0", "99999999999", "7"],
                "TAUTLINE_RANKS 99999999999: the number of ranks, from 1",
            ),
            (
                ["0", "1", "x"],
                "TAUTLINE_SEGMENT x: the file descriptor of a shared segment",
            ),
        ] {
            assert_eq!(read(values), Err(line.to_owned()));
        }
    }
}
