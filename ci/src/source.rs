//! A source file, and which of its tokens exist in the program that ships.

use crate::syntax::{Lexed, Token, is_word, lex};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Code that a rule ignores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    /// Items that exist only under `cfg(test)`.
    Tests,
    /// Those, and items that exist only under `cfg(tautline_loom)`, `cfg(tautline_shuttle)`
    /// or `cfg(tautline_tsan)`.
    TestsAndModels,
}

/// One file, its path relative to the root of the tree.
#[derive(Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub lines: usize,
    pub lexed: Lexed,
    /// The declaration of this file as a module is itself gated away: by tests, by tests or models.
    dead: [bool; 2],
}

impl Source {
    pub(crate) fn new(path: impl Into<PathBuf>, text: &str) -> Self {
        Self {
            path: path.into(),
            lines: text.lines().count(),
            lexed: lex(text),
            dead: [false; 2],
        }
    }

    /// `path:line: text`, as a terminal can jump to it.
    pub(crate) fn at(&self, line: usize, text: impl AsRef<str>) -> String {
        format!("{}:{line}: {}", self.path.display(), text.as_ref())
    }

    /// The tokens that remain when what `skip` names is left out.
    pub(crate) fn live(&self, skip: Skip) -> Vec<&Token> {
        let dead = self.dead_ranges(skip);
        let all = self.lexed.tokens.iter().enumerate();
        all.filter(|(i, _)| !dead.iter().any(|r| r.contains(i)))
            .map(|(_, token)| token)
            .collect()
    }

    /// Returns the number of lines outside the file's tests.
    pub(crate) fn lines_without_tests(&self) -> usize {
        let mut covered = BTreeSet::new();
        for range in self.dead_ranges(Skip::Tests) {
            let tokens = &self.lexed.tokens[range];
            if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
                covered.extend(first.line..=last.line);
            }
        }
        self.lines - covered.len()
    }

    fn dead_ranges(&self, skip: Skip) -> Vec<Range<usize>> {
        let tokens = &self.lexed.tokens;
        if self.dead[skip as usize] {
            return vec![Range {
                start: 0,
                end: tokens.len(),
            }];
        }
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match gate(tokens, at, skip) {
                Some(Gate::File) => out.push(0..tokens.len()),
                Some(Gate::Item(end)) => {
                    out.push(at..end);
                    at = end;
                    continue;
                }
                None => {}
            }
            at += 1;
        }
        out
    }

    /// The modules in other files that this one declares under a gate.
    fn dead_modules(&self, skip: Skip) -> Vec<PathBuf> {
        let tokens = &self.lexed.tokens;
        let ranges = self.dead_ranges(skip).into_iter();
        let names = ranges.filter_map(|range| {
            let item = &tokens[range];
            let at = item.iter().position(|t| t.text == "mod")?;
            let outside = item.get(at + 2).is_some_and(|t| t.text == ";");
            outside.then(|| item[at + 1].text.clone())
        });
        let folder = children_of(&self.path);
        names.map(|name| folder.join(name)).collect()
    }
}

/// Marks the files whose `mod` declaration is gated, so that `#[cfg(test)] mod tests;` counts.
pub(crate) fn link(sources: &mut [Source]) {
    for skip in [Skip::Tests, Skip::TestsAndModels] {
        let dead: Vec<PathBuf> = sources.iter().flat_map(|s| s.dead_modules(skip)).collect();
        for source in sources.iter_mut() {
            let stem = source.path.with_extension("");
            source.dead[skip as usize] |= dead.iter().any(|d| stem.starts_with(d));
        }
    }
}

/// The folder in which the child modules of a file lie.
fn children_of(path: &Path) -> PathBuf {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    match stem {
        "mod" | "lib" | "main" => path.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => path.with_extension(""),
    }
}

enum Gate {
    File,
    Item(usize),
}

fn text(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |t| t.text.as_str())
}

/// If an attribute `cfg(…)` that `skip` makes false starts at `at`: what it takes away.
fn gate(tokens: &[Token], at: usize, skip: Skip) -> Option<Gate> {
    if text(tokens, at) != "#" {
        return None;
    }
    let inner = text(tokens, at + 1) == "!";
    let open = at + 1 + usize::from(inner);
    if text(tokens, open) != "[" || text(tokens, open + 1) != "cfg" {
        return None;
    }
    if holds(tokens, &mut (open + 3), skip) != Some(false) {
        return None;
    }
    Some(if inner {
        Gate::File
    } else {
        Gate::Item(item_end(tokens, close(tokens, open) + 1))
    })
}

/// The value of a cfg predicate when tests (and models) are off; `None` where it is not known.
fn holds(tokens: &[Token], at: &mut usize, skip: Skip) -> Option<bool> {
    let name = text(tokens, *at).to_owned();
    *at += 1;
    if text(tokens, *at) == "=" {
        *at += 2;
        return None;
    }
    if text(tokens, *at) != "(" {
        return match name.as_str() {
            "test" => Some(false),
            "tautline_loom" | "tautline_shuttle" | "tautline_tsan"
                if skip == Skip::TestsAndModels =>
            {
                Some(false)
            }
            _ => None,
        };
    }
    *at += 1;
    let mut values = Vec::new();
    while !matches!(text(tokens, *at), ")" | "") {
        values.push(holds(tokens, at, skip));
        if text(tokens, *at) == "," {
            *at += 1;
        }
    }
    *at += 1;
    match name.as_str() {
        "not" => values.first().copied().flatten().map(|v| !v),
        "all" if values.contains(&Some(false)) => Some(false),
        "any" if values.iter().all(|v| *v == Some(false)) => Some(false),
        "any" if values.contains(&Some(true)) => Some(true),
        "all" if values.iter().all(|v| *v == Some(true)) => Some(true),
        _ => None,
    }
}

/// The index of the bracket that closes the one at `open`, or the end.
pub(crate) fn close<T: std::borrow::Borrow<Token>>(tokens: &[T], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.borrow().text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return i;
        }
    }
    tokens.len()
}

/// Returns the end (exclusive) of the item, statement or field that starts at `at`.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    while text(tokens, at) == "#" {
        at = close(tokens, at + 1) + 1;
    }
    // A field, a variant or an arm ends at a comma; an item may have commas in its generics.
    const ITEMS: &[&str] = &[
        "pub", "mod", "fn", "impl", "struct", "enum", "trait", "const", "static", "use", "type",
        "unsafe", "extern", "let", "async", "union",
    ];
    let first = text(tokens, at);
    let comma_ends = is_word(first) && !ITEMS.contains(&first);
    while at < tokens.len() {
        match text(tokens, at) {
            "(" | "[" => at = close(tokens, at),
            "{" => return (close(tokens, at) + 1).min(tokens.len()),
            ";" => return at + 1,
            "," if comma_ends => return at + 1,
            "}" | ")" | "]" => return at,
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::{Skip, Source, link};

    fn live(text: &str, skip: Skip) -> String {
        let source = Source::new("x.rs", text);
        let words = source.live(skip).into_iter().map(|t| t.text.clone());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tests_and_models_are_left_out() {
        let text = "a; #[cfg(test)] mod t { b } #[cfg(tautline_loom)] use c; d";
        assert!(live(text, Skip::Tests).contains("use c"));
        assert_eq!(live(text, Skip::TestsAndModels), "a ; d");
    }

    #[test]
    fn predicates_are_evaluated() {
        let kept = "#[cfg(not(test))] a; #[cfg(any(test, unix))] b;";
        assert!(live(kept, Skip::Tests).contains('b') && live(kept, Skip::Tests).contains('a'));
        let gone = "#[cfg(all(test, not(tautline_loom)))] #[derive(X)] struct A<B, C>(u8); z";
        assert_eq!(live(gone, Skip::Tests), "z");
        assert_eq!(live("#![cfg(tautline_loom)] a", Skip::TestsAndModels), "");
        let shuttle = "#[cfg(tautline_shuttle)] a; b";
        assert_eq!(live(shuttle, Skip::TestsAndModels), "b");
        let door = "#[cfg(not(any(tautline_loom, tautline_shuttle)))] a;";
        assert!(live(door, Skip::TestsAndModels).ends_with("a ;"));
    }

    #[test]
    fn fields_and_statements_end_where_they_end() {
        let text = "struct S { #[cfg(test)] a: u8, b: u8 } fn f() { #[cfg(test)] g(1, 2); h }";
        let left = live(text, Skip::Tests);
        assert!(left.contains("b : u8") && left.contains('h'));
        assert!(!left.contains("a : u8") && !left.contains('g'));
    }

    #[test]
    fn modules_in_other_files_are_linked() {
        let mut sources = [
            Source::new("m/mod.rs", "#[cfg(test)] mod tests; mod live;"),
            Source::new("m/tests.rs", "a"),
            Source::new("m/live.rs", "b"),
        ];
        link(&mut sources);
        assert!(sources[1].live(Skip::Tests).is_empty());
        assert_eq!(sources[1].lines_without_tests(), 0);
        assert_eq!(sources[2].live(Skip::Tests).len(), 1);
    }
}
