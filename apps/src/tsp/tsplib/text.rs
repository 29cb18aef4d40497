//! A text as words with their positions.

use super::TsplibError;
use std::borrow::Cow;

/// A part of the text, with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Word<'_> {
    pub(super) fn expected<T>(
        &self,
        expected: impl Into<Cow<'static, str>>,
    ) -> Result<T, TsplibError> {
        Err(TsplibError {
            line: self.line,
            column: self.column,
            expected: expected.into(),
            found: match self.text {
                "" => "nothing".to_owned(),
                text => text.to_owned(),
            },
        })
    }

    /// Parses a number that satisfies `fits`.
    pub(super) fn number<T: std::str::FromStr>(
        &self,
        expected: impl Into<Cow<'static, str>>,
        fits: impl FnOnce(&T) -> bool,
    ) -> Result<T, TsplibError> {
        match self.text.parse().ok().filter(fits) {
            Some(number) => Ok(number),
            None => self.expected(expected),
        }
    }
}

/// The text, and the position up to which it was read.
pub(super) struct Text<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
}

pub(super) const END: &str = "the end of the file";

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
            column: 1,
        }
    }

    /// Reads up to the first character that `is_end`.
    fn take(&mut self, is_end: impl FnMut(char) -> bool) -> Word<'a> {
        let (line, column) = (self.line, self.column);
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        for character in text.chars() {
            match character {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.rest = rest;
        Word { text, line, column }
    }

    /// Returns the next word, on any line.
    pub(super) fn word(&mut self) -> Word<'a> {
        self.take(|c| !c.is_whitespace());
        let word = self.take(char::is_whitespace);
        match word.text {
            "" => Word { text: END, ..word },
            _ => word,
        }
    }

    /// Returns the next keyword, without the colon that may follow.
    pub(super) fn keyword(&mut self) -> Word<'a> {
        self.take(|c| !c.is_whitespace());
        let word = self.take(|c| c.is_whitespace() || c == ':');
        self.take(|c| c == '\n' || !c.is_whitespace());
        if self.rest.starts_with(':') {
            let mut seen = false;
            self.take(|_| std::mem::replace(&mut seen, true));
        }
        match word.text {
            "" if self.rest.is_empty() => Word { text: END, ..word },
            _ => word,
        }
    }

    /// Returns the rest of this line.
    pub(super) fn value(&mut self) -> Word<'a> {
        self.take(|c| c == '\n' || !c.is_whitespace());
        let value = self.take(|c| c == '\n');
        Word {
            text: value.text.trim_end(),
            ..value
        }
    }
}
