//! A text as words.

use crate::text::Text;
use std::fmt::Display;
use tautline::FileError;

/// A part of the text: it knows its place by its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    of: &'a Text,
    /// A description of the text if there is no word.
    nothing: &'static str,
}

impl<'a> Word<'a> {
    /// Returns the error of a word that is not `expected`.
    pub(super) fn expected<T>(&self, expected: impl Display) -> Result<T, FileError> {
        let found = match self.text {
            "" => self.nothing,
            text => text,
        };
        self.found(expected, found)
    }

    /// Returns the same with other words for what was found.
    pub(super) fn found<T>(
        &self,
        expected: impl Display,
        found: impl Display,
    ) -> Result<T, FileError> {
        self.refused(format!("expected {expected}, found {found}"))
    }

    /// Returns the error of a mistake here.
    pub(super) fn refused<T>(&self, message: String) -> Result<T, FileError> {
        Err(self.of.error(self.text, message))
    }

    /// Parses a finite number that satisfies `fits`.
    pub(super) fn real(
        &self,
        expected: impl Display,
        fits: impl FnOnce(f64) -> bool,
    ) -> Result<f64, FileError> {
        let number = self.text.parse().ok().filter(|x: &f64| x.is_finite());
        match number.filter(|x| fits(*x)) {
            Some(number) => Ok(number),
            None => self.expected(expected),
        }
    }

    /// Parses a whole number from 0 to `most`, which may be written as `12`, `12.0` or `1.2e1`.
    pub(super) fn whole(&self, expected: impl Display, most: u32) -> Result<usize, FileError> {
        let fits = |x: f64| x.fract() == 0.0 && (0.0..=f64::from(most)).contains(&x);
        Ok(self.real(expected, fits)? as usize)
    }

    /// Returns one of the values by its name, in capital or small letters.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&str, T)]) -> Result<T, FileError> {
        let is_it = |(name, _): &&(&str, T)| name.eq_ignore_ascii_case(self.text);
        match names.iter().find(is_it) {
            Some((_, value)) => Ok(*value),
            None => {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                self.expected(format!("one of {}", names.join(" ")))
            }
        }
    }

    /// Returns the line, from 1.
    pub(super) fn line(&self) -> usize {
        let whole = self.of.as_str();
        let at = self.text.as_ptr().addr() - whole.as_ptr().addr();
        whole[..at].matches('\n').count() + 1
    }

    /// Returns the word in capital letters.
    pub(super) fn capital(&self) -> String {
        self.text.to_ascii_uppercase()
    }
}

/// The text that is not read yet.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    of: &'a Text,
    rest: &'a str,
}

pub(super) const END: &str = "the end of the file";

impl<'a> Words<'a> {
    pub(super) fn new(of: &'a Text) -> Self {
        let rest = of.as_str();
        Self { of, rest }
    }

    /// Reads up to the first character that `is_end`.
    fn take(&mut self, is_end: impl FnMut(char) -> bool) -> &'a str {
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    fn word_until(&mut self, is_end: impl FnMut(char) -> bool, nothing: &'static str) -> Word<'a> {
        let text = self.take(is_end);
        let of = self.of;
        Word { text, of, nothing }
    }

    /// Returns the next word, on any line; at the end an empty one.
    pub(super) fn word(&mut self) -> Word<'a> {
        self.take(|c| !c.is_whitespace());
        self.word_until(char::is_whitespace, END)
    }

    /// Returns the next word of this line; at its end an empty one.
    pub(super) fn word_of_line(&mut self) -> Word<'a> {
        self.take(|c| c == '\n' || !c.is_whitespace());
        self.word_until(char::is_whitespace, "the end of the line")
    }

    /// Returns what [`word`](Self::word) returns next.
    pub(super) fn peek(&self) -> Word<'a> {
        let mut ahead = *self;
        ahead.word()
    }

    /// Returns the next keyword, and whether a colon followed, which is read too.
    pub(super) fn keyword(&mut self) -> (Word<'a>, bool) {
        self.take(|c| !c.is_whitespace());
        let word = self.word_until(|c| c.is_whitespace() || c == ':', END);
        self.take(|c| c == '\n' || !c.is_whitespace());
        let is_colon = self.rest.starts_with(':');
        self.rest = self.rest.strip_prefix(':').unwrap_or(self.rest);
        (word, is_colon)
    }

    /// Returns the rest of this line.
    pub(super) fn value(&mut self) -> Word<'a> {
        self.take(|c| c == '\n' || !c.is_whitespace());
        let value = self.word_until(|c| c == '\n', "nothing");
        let text = value.text.trim_end();
        Word { text, ..value }
    }
}
