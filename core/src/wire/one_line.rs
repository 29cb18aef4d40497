//! What another rank sent, in a message of one line.

use core::fmt::{self, Write};

/// A text of another rank, in which nothing ends the line.
pub(super) struct OneLine<'a>(pub(super) &'a str);

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
