//! Values that all ranks must have alike, such as their arguments and the files that each of them
//! reads.

use super::{Rank, World};
use crate::Result;
use crate::error::Error;
use std::fmt;

/// The most characters of a value in an error.
const SHOWN: usize = 60;

/// A rank that differs from rank 0. The error of all ranks.
#[derive(Debug)]
struct Different(String);

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Different {}

impl World {
    /// Checks that all ranks have the same `value` of `what`. All ranks make this call, and all
    /// return the error if one of them differs from rank 0, so that none computes with the others.
    ///
    /// A program whose ranks each read a file compares a digest of its content so. Data that rank 0
    /// alone reads needs no comparison.
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let errors = world::loopback(2, |world| {
    ///     let vertices = if world.is_home() { "34 vertices" } else { "33 vertices" };
    ///     world.agree("graph", vertices).unwrap_err().to_string()
    /// });
    /// let line = "rank 1 has another graph than rank 0: 33 vertices instead of 34 vertices; all ranks must have the same";
    /// assert_eq!(errors, [line, line]);
    /// ```
    ///
    /// # Errors
    /// A rank whose value differs; those of all operations over ranks.
    #[track_caller]
    pub fn agree(&self, what: &str, value: &str) -> Result<()> {
        let home = self.broadcast(value.to_owned())?;
        let difference = (value != home).then(|| {
            let [here, home] =
                [value, &home].map(|value| shortened(&value.escape_debug().to_string()));
            difference(self.rank(), &format!("another {what}"), [&here, &home])
        });
        refused(self.all_reduce(difference, Option::or)?)
    }
}

/// Returns the line that names a rank, what it has otherwise than rank 0, and both values.
pub(super) fn difference(rank: Rank, what: &str, [here, home]: [&str; 2]) -> String {
    format!("{rank} has {what} than rank 0: {here} instead of {home}; all ranks must have the same")
}

/// Returns the error of all ranks if one of them has found a difference.
pub(super) fn refused(difference: Option<String>) -> Result<()> {
    difference.map_or(Ok(()), |line| Err(Error::invalid(Different(line))))
}

/// Returns the beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the parts in which two lists differ: from their first different item to their last one.
#[cfg(feature = "process")]
pub(super) fn parts([here, home]: [&[String]; 2]) -> [&[String]; 2] {
    let before = here.iter().zip(home).take_while(|(a, b)| a == b).count();
    let (here, home) = (&here[before..], &home[before..]);
    let pairs = here.iter().rev().zip(home.iter().rev());
    let after = pairs.take_while(|(a, b)| a == b).count();
    [here, home].map(|list| &list[..list.len() - after])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shortened_between_characters() {
        let text = "é".repeat(SHOWN);
        assert_eq!(shortened(&text), text);
        assert_eq!(shortened(&(text.clone() + "é")), text + "…");
    }

    #[cfg(feature = "process")]
    #[test]
    fn lists_differ_from_the_first_to_the_last_difference() {
        let list = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        for (here, home, expected) in [
            ("a b c", "a x c", ["b", "x"]),
            ("a b", "a b c", ["", "c"]),
            ("a a", "a", ["a", ""]),
            ("", "a b", ["", "a b"]),
            ("a b", "b a", ["a b", "b a"]),
            ("a b c d", "a x c y", ["b c d", "x c y"]),
        ] {
            let (here, home) = (list(here), list(home));
            let found = parts([&here, &home]).map(|part| part.join(" "));
            assert_eq!(found, expected);
        }
    }
}
