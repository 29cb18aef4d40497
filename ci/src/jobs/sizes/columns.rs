//! Comments end at column 100: the check, and the paragraphs that fit.
//!
//! The paragraphs and list items of line comments are reflowed where one of their lines is longer.
//! Code, tables, headings, labels of links and lines in columns stay, however long they are. The
//! check reports exactly the blocks that reflowing changes.

use super::super::Verdict;
use crate::source::Source;
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

/// The job that reflows.
pub(in super::super) const WRAP: &str = "wrap";
const COLUMNS: usize = 100;

/// Reflows the comments of all files, or of those below the given folders.
pub(in super::super) fn wrap(tree: &Tree, folders: &[String]) -> Result<Verdict> {
    let mut files = 0;
    for source in tree.sources("")? {
        let is_chosen = folders.iter().any(|start| source.path.starts_with(start));
        if is_chosen || folders.is_empty() {
            let text = tree.read(&source.path)?;
            let new = reflowed(&source, &text);
            if new != text {
                fs::write(tree.path(&source.path), new)?;
                files += 1;
            }
        }
    }
    Ok(Verdict::Holds(format!("{files} files changed")))
}

/// The blocks with a line that is too long.
pub(super) fn check(tree: &Tree, source: &Source, out: &mut Vec<String>) -> Result<()> {
    let text = tree.read(&source.path)?;
    let lines: Vec<&str> = text.lines().collect();
    for (range, new) in blocks(source, &lines) {
        if new != lines[range.clone()] {
            let long = range.clone().find(|n| width(lines[*n]) > COLUMNS);
            let text = format!("a comment beyond column {COLUMNS}; `cargo ci {WRAP}` reflows it");
            out.push(source.at(long.unwrap_or(range.start) + 1, text));
        }
    }
    Ok(())
}

fn reflowed(source: &Source, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    let mut at = 0;
    for (range, new) in blocks(source, &lines) {
        out.extend(lines[at..range.start].iter().map(|line| (*line).to_owned()));
        out.extend(new);
        at = range.end;
    }
    out.extend(lines[at..].iter().map(|line| (*line).to_owned()));
    out.join("\n") + "\n"
}

/// The paragraphs and list items with a line that is too long, each with its new lines.
fn blocks(source: &Source, lines: &[&str]) -> Vec<(Range<usize>, Vec<String>)> {
    let code: BTreeSet<usize> = source.lexed.tokens.iter().map(|token| token.line).collect();
    let mut out = Vec::new();
    let mut open: Option<Block> = None;
    let mut is_code = false;
    let mut marker = "";
    for n in 0..=lines.len() {
        let is_comment = source.lexed.comments.contains_key(&(n + 1)) && !code.contains(&(n + 1));
        let line = lines.get(n).filter(|_| is_comment);
        let line = line.and_then(|line| Line::read(line));
        // Another kind of comment, or none.
        let same = line.as_ref().is_some_and(|line| line.marker == marker);
        if !same {
            is_code = false;
            out.extend(open.take().and_then(|block| block.ended(lines)));
        }
        let Some(line) = line else {
            marker = "";
            continue;
        };
        marker = line.marker;
        let is_fence = line.text.trim_start().starts_with("```");
        if is_fence || is_code || line.is_kept() {
            is_code ^= is_fence;
            out.extend(open.take().and_then(|block| block.ended(lines)));
            continue;
        }
        let begins = line.item().is_some() || line.is_labelled();
        if begins {
            out.extend(open.take().and_then(|block| block.ended(lines)));
        }
        match &mut open {
            Some(block) => block.range.end = n + 1,
            None => {
                let hanging = match line.item() {
                    Some(width) => width,
                    None => line.text.len() - line.text.trim_start().len(),
                };
                let first = line.text[..hanging].to_owned();
                open = Some(Block {
                    range: n..n + 1,
                    prefix: line.prefix.to_owned(),
                    first,
                });
            }
        }
    }
    out
}

/// A line of a comment.
struct Line<'a> {
    /// Indentation and marker.
    prefix: &'a str,
    /// `//`, `///` or `//!`.
    marker: &'a str,
    /// The rest, without the space after the marker.
    text: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let indent = line.len() - line.trim_start().len();
        let rest = &line[indent..];
        let markers = ["///", "//!", "//"];
        let marker = markers.into_iter().find(|it| rest.starts_with(it))?;
        let (prefix, text) = line.split_at(indent + marker.len());
        let marker = &line[indent..prefix.len()];
        // More slashes are a ruler; after a space they are a comment in an example.
        let is_ruler = text.starts_with('/');
        let text = text.strip_prefix(' ').unwrap_or(text);
        (!is_ruler).then_some(Self {
            prefix,
            marker,
            text,
        })
    }

    /// Whether the line stays as it is.
    fn is_kept(&self) -> bool {
        let text = self.text.trim_start();
        let indent = self.text.len() - text.len();
        let is_label = text.starts_with('[') && text.contains("]: ");
        let is_table = text.starts_with('|') || text.trim_end().contains("  ");
        let first = text.chars().next();
        is_label || is_table || indent >= 4 || matches!(first, None | Some('#' | '<' | '>'))
    }

    /// The width up to the text of a list item that begins here.
    fn item(&self) -> Option<usize> {
        let text = self.text.trim_start();
        let indent = self.text.len() - text.len();
        let mark = text.split(' ').next().unwrap_or_default();
        let rest = text.strip_prefix(mark)?.strip_prefix(' ')?;
        let is_mark = is_bullet(mark) && !rest.is_empty();
        is_mark.then_some(indent + mark.len() + 1)
    }

    /// Whether a statement with a label of its own begins: `SAFETY:`.
    fn is_labelled(&self) -> bool {
        let label = self.text.split(':').next().unwrap_or_default();
        let is_name = label.len() > 2 && label.chars().all(|c| c.is_ascii_uppercase());
        is_name && self.text.len() > label.len()
    }
}

/// Whether a word at the start of a line is the mark of a list item.
fn is_bullet(word: &str) -> bool {
    let digits = word.trim_end_matches(['.', ')']);
    let is_number = digits.len() + 1 == word.len() && digits.bytes().all(|b| b.is_ascii_digit());
    matches!(word, "-" | "*" | "+") || is_number && !digits.is_empty()
}

/// A paragraph or a list item.
struct Block {
    range: Range<usize>,
    prefix: String,
    /// The text before the first word: indentation, and the mark of an item.
    first: String,
}

impl Block {
    /// Returns the block with its new lines if one of its lines is too long.
    fn ended(self, lines: &[&str]) -> Option<(Range<usize>, Vec<String>)> {
        let old = &lines[self.range.clone()];
        if old.iter().all(|line| width(line) <= COLUMNS) {
            return None;
        }
        let mut words = Vec::new();
        for (n, line) in old.iter().enumerate() {
            let text = line.get(self.prefix.len()..)?.trim();
            let text = match n {
                0 => text.strip_prefix(self.first.trim()).unwrap_or(text),
                _ => text,
            };
            words.extend(text.split_whitespace().map(str::to_owned));
        }
        let hanging = " ".repeat(width(&self.first));
        let mut new = vec![format!("{} {}", self.prefix, self.first)];
        let mut is_first = true;
        for atom in atoms(words) {
            let last = new.last_mut()?;
            let wide = width(last) + width(&atom) + usize::from(!is_first);
            if !is_first && wide > COLUMNS {
                new.push(format!("{} {hanging}{atom}", self.prefix));
                continue;
            }
            if !is_first {
                last.push(' ');
            }
            is_first = false;
            *last += &atom;
        }
        Some((self.range, new))
    }
}

/// Words that stay on one line: code between backticks, and a word that would begin a list item or
/// another block if it began a line, with the word before it.
fn atoms(words: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words {
        let begins_block = is_bullet(&word) || word.starts_with(['#', '>', '|']);
        match out.last_mut() {
            Some(last) if is_open(last) || begins_block => {
                last.push(' ');
                *last += &word;
            }
            _ => out.push(word),
        }
    }
    // A backtick without another one: all words again.
    let is_wide = out.iter().any(|atom| width(atom) > COLUMNS / 2);
    let split = |atom: String| match is_wide && width(&atom) > COLUMNS / 2 {
        true => atom.split(' ').map(str::to_owned).collect(),
        false => vec![atom],
    };
    out.into_iter().flat_map(split).collect()
}

fn is_open(text: &str) -> bool {
    text.matches('`').count() % 2 == 1
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, reflowed};
    use crate::source::Source;

    fn wrapped(text: &str) -> String {
        let new = reflowed(&Source::new("a.rs", text), text);
        assert_eq!(reflowed(&Source::new("a.rs", &new), &new), new, "twice");
        new
    }

    #[test]
    fn a_comment_in_an_example_keeps_its_fence() {
        let long = "call(); ".repeat(16);
        let text =
            format!("/// ```\n/// // A note.\n/// {long}\n/// end();\n/// ```\nfn f() {{}}\n");
        assert_eq!(wrapped(&text), text);
    }

    #[test]
    fn paragraphs_and_items_are_reflowed_and_keep_their_words() {
        let long = "word ".repeat(24);
        let text = format!(
            "    /// Head.\n    ///\n    /// {long}\n    /// end.\n    ///\n    /// - {long}\n    ///   last\n    /// - b\n    fn f() {{}}\n"
        );
        let new = wrapped(&text);
        assert!(
            new.lines().all(|line| line.chars().count() <= COLUMNS),
            "{new}"
        );
        let words = |text: &str| {
            let words = text.split_whitespace().filter(|word| *word != "///");
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(&new), words(&text));
        assert!(
            new.contains("    ///   word") && new.contains("    /// - b\n"),
            "{new}"
        );
    }

    #[test]
    fn other_blocks_and_short_ones_stay() {
        let long = "word ".repeat(24);
        let long = long.trim();
        for text in [
            format!("/// ```\n/// {long}\n/// ```\nfn f() {{}}\n"),
            format!("/// | {long} |\nfn f() {{}}\n"),
            format!("//! # {long}\n"),
            format!("//! [a]: {long}\n"),
            format!("//!     {long}\n"),
            format!("let s = \"\n// {long}\n\";\n"),
            format!("f(); // {long}\n"),
            format!("// {}\n", "w".repeat(120)),
            "// a\n// b\n".to_owned(),
        ] {
            assert_eq!(wrapped(&text), text);
        }
    }

    #[test]
    fn statements_with_labels_stay_apart_and_code_stays_whole() {
        let long = "word ".repeat(17);
        let text = format!("// ORDERING: {long}`a b c d e f`\n// SAFETY: b\nf();\n");
        let new = wrapped(&text);
        assert!(new.contains("\n// `a b c d e f`\n// SAFETY: b\n"), "{new}");
        let dash = format!("// {long}w - a b c d\nf();\n");
        assert!(!wrapped(&dash).contains("\n// - "), "{}", wrapped(&dash));
    }
}
