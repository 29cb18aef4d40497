//! A text as words, of formats with quotes and brackets.

use crate::text::Text;
use tautline::FileError;

/// A word, and whether it was quoted; without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) is_quoted: bool,
}

impl Word<'_> {
    /// Whether it is this mark or keyword, in letters of either case.
    pub(super) fn is(&self, word: &str) -> bool {
        !self.is_quoted && self.text.eq_ignore_ascii_case(word)
    }
}

/// Splits `line` at white space; quoted parts are words, and each of the characters `marks` is one.
///
/// # Errors
/// A quote without an end.
pub(super) fn split<'a>(
    text: &Text,
    part: &'a str,
    marks: &[char],
) -> Result<Vec<Word<'a>>, FileError> {
    let mut words = Vec::new();
    let mut rest = part.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = if first == '"' {
            let Some((word, after)) = rest[1..].split_once('"') else {
                return Err(text.error(rest, "a quote without an end"));
            };
            let word = Word {
                text: word,
                is_quoted: true,
            };
            (word, after)
        } else {
            let is_end = |c: char| c.is_whitespace() || c == '"' || marks.contains(&c);
            let end = match marks.contains(&first) {
                true => first.len_utf8(),
                false => rest.find(is_end).unwrap_or(rest.len()),
            };
            let (word, after) = rest.split_at(end);
            let word = Word {
                text: word,
                is_quoted: false,
            };
            (word, after)
        };
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}
