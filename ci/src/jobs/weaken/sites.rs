//! Strong orderings and fences in the text of a file, and the accesses that have them.
//!
//! A model knows an access by its line and column; results are kept by a name that does not change
//! when other lines do: the function, the word, the operation, and a number where the same occurs
//! again in the file.

use crate::jobs::orderings::{FENCES, comment};
use crate::source::{Skip, Source, close};
use crate::syntax::{Token, is_word};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const STRONG: &[&str] = &["Acquire", "Release", "AcqRel", "SeqCst"];

/// A strong ordering, or a call of a fence.
#[derive(Debug)]
pub(crate) struct Site {
    pub line: usize,
    pub bytes: Range<usize>,
    pub ordering: &'static str,
    /// The accesses that have this ordering.
    pub accesses: Vec<Access>,
    /// Whether the comment of its statement has the mark.
    pub is_marked: bool,
}

/// Place of an access as the compiler reports it, and the role of the ordering there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Access {
    pub line: usize,
    pub column: usize,
    pub role: &'static str,
    pub name: String,
}

/// One weaker ordering of an access.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Weaker {
    pub file: String,
    /// In the file.
    pub name: String,
    /// The site, as models write it.
    pub site: String,
    pub to: &'static str,
}

impl Weaker {
    /// Returns a fence that is left out, if this is a weaker fence.
    pub(crate) fn left_out(&self) -> Option<Self> {
        let name = self.name.strip_suffix(self.to)?;
        (self.to == "AcqRel").then(|| Self {
            name: format!("{name}none"),
            to: "none",
            ..self.clone()
        })
    }
}

impl Site {
    /// Returns all accesses with each ordering that is next weaker.
    pub(crate) fn weaker(&self, file: &str) -> Vec<Weaker> {
        let accesses = self.accesses.iter();
        let weaker = accesses.flat_map(|access| access.weaker(file, self.ordering));
        weaker.collect()
    }
}

impl Access {
    /// Returns this access with each ordering that is next weaker than its own.
    fn weaker(&self, file: &str, ordering: &str) -> Vec<Weaker> {
        let to: &[&'static str] = match ordering {
            "AcqRel" => &["Acquire", "Release"],
            "SeqCst" => &["AcqRel"],
            // A fence cannot be Relaxed.
            _ if self.name.ends_with(" fence") => &["none"],
            _ => &["Relaxed"],
        };
        let role = match self.role {
            "order" => String::new(),
            role => format!(" {role}"),
        };
        let (line, column) = (self.line, self.column);
        let one = |to: &&'static str| Weaker {
            file: file.to_owned(),
            name: format!("{}{role} {ordering} -> {to}", self.name),
            site: format!("{file}:{line}:{column} {} {ordering}", self.role),
            to,
        };
        to.iter().map(one).collect()
    }
}

/// Returns the sites of a file outside of its tests. `mark` is looked for in their comments.
pub(crate) fn sites(source: &Source, text: &str, mark: &str) -> Vec<Site> {
    let tokens = source.live(Skip::TestsAndModels);
    let code: BTreeSet<usize> = source.lexed.tokens.iter().map(|t| t.line).collect();
    let names = names(&tokens);
    let found = (0..tokens.len()).filter_map(|at| {
        let (ordering, end) = strong(&tokens, at)?;
        let start = byte(text, tokens[at])?;
        let last = tokens[end];
        let bytes = start..byte(text, last)? + last.text.len();
        let accesses = accesses(&tokens, at).into_iter().map(|(call, role)| {
            let first = tokens[first_of_path(&tokens, call)];
            Access {
                line: first.line,
                column: first.column,
                role,
                name: names.get(&call).cloned().unwrap_or_default(),
            }
        });
        Some(Site {
            line: tokens[at].line,
            bytes,
            ordering,
            accesses: accesses.collect(),
            is_marked: comment(source, &tokens, at, &code, mark),
        })
    });
    found.collect()
}

fn text<'t>(tokens: &[&'t Token], at: usize) -> &'t str {
    tokens.get(at).map_or("", |t| t.text.as_str())
}

/// The ordering that begins at a token, or that of the fence that is called there, and its last
/// token.
fn strong(tokens: &[&Token], at: usize) -> Option<(&'static str, usize)> {
    if text(tokens, at) == "Ordering" && text(tokens, at + 1) == "::" {
        let named = STRONG.iter().find(|name| **name == text(tokens, at + 2));
        return named.map(|name| (*name, at + 2));
    }
    let is_defined = at > 0 && text(tokens, at - 1) == "fn";
    let is_call = FENCES.contains(&text(tokens, at)) && text(tokens, at + 1) == "(";
    (is_call && !is_defined).then_some(("SeqCst", at + 2))
}

/// Returns the position of a token in the text.
fn byte(text: &str, token: &Token) -> Option<usize> {
    let lines = text.split_inclusive('\n');
    let start: usize = lines.take(token.line - 1).map(str::len).sum();
    let mut chars = text[start..].char_indices();
    chars.nth(token.column - 1).map(|(at, _)| start + at)
}

/// The names of all calls, by the index of their last word.
fn names(tokens: &[&Token]) -> BTreeMap<usize, String> {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut function = "";
    let mut out = BTreeMap::new();
    for at in 0..tokens.len() {
        if text(tokens, at) == "fn" && is_word(text(tokens, at + 1)) {
            function = text(tokens, at + 1);
        }
        let is_call = is_word(text(tokens, at)) && text(tokens, at + 1) == "(";
        if !is_call || at > 0 && text(tokens, at - 1) == "fn" {
            continue;
        }
        let word = word(tokens, at);
        let name = format!("{function}: {word}{}", text(tokens, at));
        let nth = count.entry(name.clone()).or_default();
        *nth += 1;
        let name = match *nth {
            1 => name,
            n => format!("{name} {n}"),
        };
        out.insert(at, name);
    }
    out
}

/// The word of which a method is called, with a dot: the last name before it.
fn word(tokens: &[&Token], call: usize) -> String {
    if call == 0 || text(tokens, call - 1) != "." {
        return String::new();
    }
    let mut at = call - 1;
    let mut depth = 0usize;
    while at > 0 {
        at -= 1;
        match text(tokens, at) {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" if depth == 0 => break,
            "(" | "[" | "{" => depth -= 1,
            ";" | "=" if depth == 0 => break,
            name if depth == 0 && is_word(name) => return format!("{name}."),
            _ => {}
        }
    }
    String::new()
}

/// Returns the first token of the path of a call: the compiler counts from there, but for methods.
fn first_of_path(tokens: &[&Token], mut at: usize) -> usize {
    while at >= 2 && text(tokens, at - 1) == "::" && is_word(text(tokens, at - 2)) {
        at -= 2;
    }
    at
}

/// The calls that are passed the ordering at a token, and its role in each; a fence itself.
fn accesses(tokens: &[&Token], at: usize) -> Vec<(usize, &'static str)> {
    if text(tokens, at) != "Ordering" {
        return vec![(at, "order")];
    }
    let Some(open) = opening(tokens, at) else {
        return bound(tokens, at, None);
    };
    if open > 0 && is_word(text(tokens, open - 1)) && text(tokens, open - 1) != "return" {
        return vec![(open - 1, role(tokens, open, at))];
    }
    bound(tokens, at, Some(open))
}

/// The parenthesis around a token, within its statement.
fn opening(tokens: &[&Token], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for i in (0..at).rev() {
        match text(tokens, i) {
            ")" | "]" | "}" => depth += 1,
            "(" if depth == 0 => return Some(i),
            ";" | "[" | "{" if depth == 0 => return None,
            "(" | "[" | "{" => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the role of the argument at a token in the call with this parenthesis.
fn role(tokens: &[&Token], open: usize, at: usize) -> &'static str {
    if !text(tokens, open - 1).starts_with("compare_exchange") {
        return "order";
    }
    match position(tokens, open, at) {
        2 => "success",
        _ => "failure",
    }
}

/// Returns the number of commas before a token in a list.
fn position(tokens: &[&Token], open: usize, at: usize) -> usize {
    let mut i = open + 1;
    let mut commas = 0;
    while i < at {
        match text(tokens, i) {
            "(" | "[" | "{" => i = close(tokens, i),
            "," => commas += 1,
            _ => {}
        }
        i += 1;
    }
    commas
}

/// The calls to which the name is passed that `let` gives to the ordering at a token; `tuple`: the
/// parenthesis around it.
fn bound(tokens: &[&Token], at: usize, tuple: Option<usize>) -> Vec<(usize, &'static str)> {
    let first = tuple.unwrap_or(at);
    let Some(begin) = (0..first).rev().find(|i| text(tokens, *i) == "let") else {
        return Vec::new();
    };
    let equals = (begin..first).find(|i| text(tokens, *i) == "=");
    let pattern: Vec<&str> = (begin + 1..equals.unwrap_or(begin + 1))
        .map(|i| text(tokens, i))
        .collect();
    let names = pattern
        .iter()
        .filter(|name| is_word(name) && **name != "mut");
    let nth = tuple.map_or(0, |open| position(tokens, open, at));
    let Some(name) = names.copied().nth(nth) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut depth = 0usize;
    let mut i = at;
    while let Some(token) = tokens.get(i) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "let" if binds(tokens, i, name) => break,
            word if word == name => {
                if let Some(open) = opening(tokens, i).filter(|open| *open > at) {
                    out.push((open - 1, role(tokens, open, i)));
                }
            }
            _ => {}
        }
        i += 1;
    }
    out
}

/// Whether `let` at a token gives a name again.
fn binds(tokens: &[&Token], at: usize, name: &str) -> bool {
    let pattern = (at + 1..tokens.len()).map(|i| text(tokens, i));
    let mut pattern = pattern.take_while(|word| !matches!(*word, "=" | ";" | ":"));
    pattern.any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::sites;
    use crate::source::Source;

    const TEXT: &str = "
fn f(&self) {
    // ORDERING: Release on success, Acquire on failure.
    let (success, failure) = (Ordering::Release, Ordering::Acquire);
    while let Err(é) = self.top
        .compare_exchange_weak(pack(1, 2), 1, success, failure) {}
    // ORDERING: AcqRel; no mutant: its partner carries the same.
    A[at(1)].swap(1, Ordering::AcqRel);
    A.load(Ordering::Relaxed);
    super::fence(super::Ordering::SeqCst);
    full_fence();
    A.load(Ordering::Acquire); é(A.load(Ordering::Acquire));
}
#[cfg(tautline_loom)]
fn model() { A.load(Ordering::Acquire); }
fn full_fence(fence: &impl Fence) {
    fence.light_fence();
    let order = Ordering::Release;
    self.words.shared(order).call();
    let order = 1;
    b(order);
}
";

    #[test]
    fn each_strong_ordering_has_its_accesses() {
        let said = sites(&Source::new("x.rs", TEXT), TEXT, "no mutant:");
        let said: Vec<_> = said
            .iter()
            .map(|site| {
                let access = &site.accesses[0];
                assert_eq!(site.accesses.len(), 1);
                (
                    &TEXT[site.bytes.clone()],
                    (access.line, access.column, access.role),
                    access.name.as_str(),
                )
            })
            .collect();
        assert_eq!(
            said,
            [
                (
                    "Ordering::Release",
                    (6, 10, "success"),
                    "f: top.compare_exchange_weak"
                ),
                (
                    "Ordering::Acquire",
                    (6, 10, "failure"),
                    "f: top.compare_exchange_weak"
                ),
                ("Ordering::AcqRel", (8, 14, "order"), "f: A.swap"),
                ("Ordering::SeqCst", (10, 5, "order"), "f: fence"),
                ("full_fence()", (11, 5, "order"), "f: full_fence"),
                ("Ordering::Acquire", (12, 7, "order"), "f: A.load 2"),
                ("Ordering::Acquire", (12, 36, "order"), "f: A.load 3"),
                (
                    "light_fence()",
                    (17, 11, "order"),
                    "full_fence: fence.light_fence"
                ),
                (
                    "Ordering::Release",
                    (19, 16, "order"),
                    "full_fence: words.shared"
                ),
            ],
        );
    }

    #[test]
    fn each_next_weaker_ordering_is_named() {
        let said = sites(&Source::new("x.rs", TEXT), TEXT, "");
        let weaker = |nth: usize| said[nth].accesses[0].weaker("x.rs", said[nth].ordering);
        assert_eq!(
            weaker(0)[0].name,
            "f: top.compare_exchange_weak success Release -> Relaxed"
        );
        assert_eq!(weaker(0)[0].site, "x.rs:6:10 success Release");
        let swap = weaker(2);
        assert_eq!(swap[0].name, "f: A.swap AcqRel -> Acquire");
        assert_eq!(
            (swap[1].to, swap.len(), swap[1].left_out()),
            ("Release", 2, None)
        );
        let fence = weaker(4)[0].left_out().unwrap();
        assert_eq!(
            (&*fence.name, fence.to),
            ("f: full_fence SeqCst -> none", "none")
        );
    }

    #[test]
    fn a_fence_that_cannot_be_weaker_is_left_out() {
        let text = "fn g() { fence(Ordering::Acquire); }";
        let said = sites(&Source::new("x.rs", text), text, "");
        let weaker = said[0].accesses[0].weaker("x.rs", said[0].ordering);
        let [fence] = &weaker[..] else {
            panic!("{} weaker fences", weaker.len());
        };
        assert_eq!(
            (&*fence.name, fence.to),
            ("g: fence Acquire -> none", "none")
        );
    }

    #[test]
    fn a_mark_is_found_in_the_comment_of_the_statement() {
        let marked = sites(&Source::new("x.rs", TEXT), TEXT, "no mutant:");
        let marked = marked.iter().filter(|site| site.is_marked);
        let marked: Vec<_> = marked.map(|site| site.ordering).collect();
        assert_eq!(marked, ["AcqRel"]);
    }
}
