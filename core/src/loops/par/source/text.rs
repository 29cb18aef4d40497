//! Characters, lines and words of strings.
//!
//! # Algorithm
//! The indices of a string are those of its bytes. Each produces what begins there, so a claim on
//! some bytes finds its first item by a search from its first byte on, and its last item may end
//! beyond its last byte. No pass over the whole text comes first.

use super::super::super::raw::{Claimed, PerIndex, Source};
use super::super::Par;
use crate::port::Host;
use core::iter;
use core::ops::Range;

/// A string as a source of its characters.
#[derive(Debug)]
pub struct Text<'a>(pub(super) &'a str);

impl<'a> Source for Text<'a> {
    type Item = char;
    type State = ();
    const PER_INDEX: PerIndex = PerIndex::AtMostOne;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = char> {
        let indices = claimed.indices();
        let (start, end) = (
            boundary(self.0, indices.start),
            boundary(self.0, indices.end),
        );
        self.0[start..end].chars()
    }
}

/// Returns the first index from `at` on at which a character begins, or the text ends.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

/// The ends of the parts of a text.
trait Separator: Sync {
    /// Returns the parts of `text` without their separators, and their lengths with these. The last
    /// one, which has none, is omitted if it is empty; the length of a separator may count for it.
    fn divide<'a>(&self, text: &'a str) -> impl Iterator<Item = (&'a str, usize)>;

    /// Returns what a separator leaves of the part that it ends.
    #[inline]
    fn end<'a>(&self, part: &'a str) -> &'a str {
        part
    }
}

/// Line feeds, which are found faster than by a predicate.
struct LineFeed;

impl Separator for LineFeed {
    #[inline]
    fn divide<'a>(&self, text: &'a str) -> impl Iterator<Item = (&'a str, usize)> {
        let lines = text.split_terminator('\n');
        lines.map(|line| (line, line.len() + 1))
    }

    #[inline]
    fn end<'a>(&self, line: &'a str) -> &'a str {
        line.strip_suffix('\r').unwrap_or(line)
    }
}

/// The characters that satisfy a predicate.
struct When<F>(F);

impl<F: Fn(char) -> bool + Sync> Separator for When<F> {
    #[inline]
    fn divide<'a>(&self, text: &'a str) -> impl Iterator<Item = (&'a str, usize)> {
        let mut rest = text;
        iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut characters = rest.char_indices();
            let found = characters.find(|(_, character)| (self.0)(*character));
            let (len, separator) = found.map_or((rest.len(), 0), |(at, character)| {
                (at, character.len_utf8())
            });
            let part = &rest[..len];
            rest = &rest[len + separator..];
            Some((part, len + separator))
        })
    }
}

/// The parts of a text that end with a separator, and the rest after the last separator unless that
/// is empty.
struct Parts<'a, B> {
    text: &'a str,
    separator: B,
}

impl<B: Separator> Parts<'_, B> {
    /// Returns the begin of the first part that begins at one of `indices`.
    fn first(&self, indices: Range<usize>) -> Option<usize> {
        if indices.is_empty() || indices.start == 0 {
            return Some(0).filter(|_| !indices.is_empty());
        }
        // Parts begin where a separator ends, of which the first here contains the byte before. The
        // search ends with the claim, so that each byte is searched by one claim, however long the
        // parts are.
        let mut before = (0..indices.start).rev();
        let from = before.find(|at| self.text.is_char_boundary(*at))?;
        let near = &self.text[from..boundary(self.text, indices.end)];
        let begin = from + self.separator.divide(near).next()?.1;
        (begin < indices.end).then_some(begin)
    }
}

impl<'a, B: Separator> Source for Parts<'a, B> {
    type Item = &'a str;
    type State = ();
    /// At most one, but most indices have none: memory for one each is not worth it.
    const PER_INDEX: PerIndex = PerIndex::Any;

    fn len(&self) -> usize {
        self.text.len()
    }

    fn begin(&self) {}

    #[inline]
    fn items(&self, claimed: Claimed, (): &mut ()) -> impl Iterator<Item = &'a str> {
        let indices = claimed.indices();
        let end = indices.end;
        let first = self.first(indices);
        let mut parts = self.separator.divide(&self.text[first.unwrap_or(0)..]);
        let mut next = first.unwrap_or(end);
        iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let (part, len) = parts.next()?;
            let is_ended = next + part.len() < self.text.len();
            next += len;
            Some(match is_ended {
                true => self.separator.end(part),
                false => part,
            })
        })
    }
}

impl<'x, 's, 'e, 'a, P: Host> Par<'x, 's, 'e, P, Text<'a>> {
    /// Iterates over the lines of a string, without their ends, as [`str::lines`].
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let lengths: Vec<usize> = cx.par("one\r\n\nthree").lines().map(str::len).collect();
    /// assert_eq!(lengths, [3, 0, 5]);
    /// # }
    /// ```
    pub fn lines(self) -> Par<'x, 's, 'e, P, impl Source<Item = &'a str>> {
        let separator = LineFeed;
        self.with(|Text(text)| Parts { text, separator })
    }

    /// Iterates over the words of a string: its parts between white space, as
    /// [`str::split_whitespace`].
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let longest = cx.par(" to be or not ").split_whitespace().max_by_key(|word| word.len());
    /// assert_eq!(longest, Some("not"));
    /// # }
    /// ```
    pub fn split_whitespace(self) -> Par<'x, 's, 'e, P, impl Source<Item = &'a str>> {
        self.split(char::is_whitespace)
            .filter(|word| !word.is_empty())
    }

    /// Iterates over the parts of a string between the characters for which `separates` returns
    /// true. The part after the last of them is omitted if it is empty, as by
    /// [`str::split_terminator`].
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let fields: Vec<_> = cx.par("a;b;;c;").split(|c| c == ';').collect();
    /// assert_eq!(fields, ["a", "b", "", "c"]);
    /// # }
    /// ```
    pub fn split<F: Fn(char) -> bool + Sync>(
        self,
        separates: F,
    ) -> Par<'x, 's, 'e, P, impl Source<Item = &'a str>> {
        let separator = When(separates);
        self.with(|Text(text)| Parts { text, separator })
    }
}
