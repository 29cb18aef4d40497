//! The ids by which comments name pairs of accesses.
//!
//! The table at the head of a file gives each pair of accesses an id (`| D1 | … |`). A comment
//! cites a pair of its own file by the id alone, and one of another file with that file's name
//! before it: `chase_lev.D1`; a `mod.rs` has the name of its folder.

use crate::source::Source;
use crate::syntax::Lexed;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The tables of one crate: where each id is defined, by the name of the file.
#[derive(Default)]
pub(super) struct Tables {
    rows: BTreeMap<(String, String), PathBuf>,
    ids: BTreeSet<String>,
}

impl Tables {
    /// Reads the tables of a crate; adds a finding for each id that would be ambiguous.
    pub(super) fn of(sources: &[Source], out: &mut Vec<String>) -> Self {
        let mut tables = Self::default();
        for source in sources {
            for (line, comment) in &source.lexed.comments {
                let Some(id) = row(comment) else { continue };
                let key = (name(&source.path), id.to_owned());
                if let Some(first) = tables.rows.insert(key, source.path.clone()) {
                    let first = first.display();
                    let why = format!("{id} is defined in {first} already, under the same name");
                    out.push(source.at(*line, why));
                }
                tables.ids.insert(id.to_owned());
            }
        }
        tables
    }

    /// Adds what is wrong with the citations of a file.
    pub(super) fn check(&self, source: &Source, out: &mut Vec<String>) {
        let own = name(&source.path);
        for (line, Citation { file, id, enclosed }) in citations(&source.lexed) {
            let at = (file.clone().unwrap_or_else(|| own.clone()), id.clone());
            let defined = self.rows.get(&at);
            let why = match file {
                // Elsewhere in a text such a word may be a name: of a processor, of a tree.
                None if !enclosed && !self.ids.contains(&id) => continue,
                None if defined.is_none_or(|path| *path != source.path) => {
                    let files = self.rows.keys().filter(|(_, known)| *known == id);
                    let known: Vec<String> = files.map(|(f, id)| format!("{f}.{id}")).collect();
                    match known.is_empty() {
                        true => format!("({id}) is in no table"),
                        false => format!(
                            "{id} is in no table of this file; written {} elsewhere",
                            known.join(" or ")
                        ),
                    }
                }
                Some(file) if defined.is_none() => format!("{file}.{id} is in no table"),
                Some(file) if file == own => format!("{file}.{id} is of this file: write {id}"),
                _ => continue,
            };
            out.push(source.at(line, why));
        }
    }
}

/// The name by which other files cite the table of this one.
fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    let name = match stem == "mod" {
        true => folder.unwrap_or(stem),
        false => stem,
    };
    name.to_string_lossy().into_owned()
}

/// The id that a row of a table defines.
fn row(comment: &str) -> Option<&str> {
    let text = comment.trim_start_matches(['/', '!']).trim_start();
    let (id, _) = text.strip_prefix("| ")?.split_once(" |")?;
    is_id(id).then_some(id)
}

/// A capital letter and a number of one or two digits.
fn is_id(word: &str) -> bool {
    let Some((letter, number)) = word.split_at_checked(1) else {
        return false;
    };
    let digits = (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    digits && letter.bytes().all(|b| b.is_ascii_uppercase())
}

#[derive(Debug, PartialEq, Eq)]
struct Citation {
    file: Option<String>,
    id: String,
    /// Whether it begins a parenthesis, or a file is named: then it cannot be anything else.
    enclosed: bool,
}

/// The ids in a file's comments, without those that its tables define and without code.
fn citations(lexed: &Lexed) -> Vec<(usize, Citation)> {
    let mut out = Vec::new();
    for (line, comment) in &lexed.comments {
        let mut text = comment.as_str();
        if row(text).is_some() {
            let start = text.find('|').map_or(0, |at| at + 1);
            let cell = text[start..].find('|').map_or(0, |at| at + 1);
            text = &text[start + cell..];
        }
        let mut in_code = false;
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if end == 0 {
                in_code ^= rest.starts_with('`');
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            let word = rest[..end].trim_end_matches('.');
            let (file, id) = match word.rsplit_once('.') {
                Some((file, id)) => (Some(file.to_owned()), id),
                None => (None, word),
            };
            if !in_code && is_id(id) {
                let enclosed = file.is_some() || text[..at].ends_with('(');
                let id = id.to_owned();
                out.push((*line, Citation { file, id, enclosed }));
            }
            at += end;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Tables;
    use crate::source::Source;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(p, t)| Source::new(*p, t)).collect();
        let mut out = Vec::new();
        let tables = Tables::of(&sources, &mut out);
        for source in &sources {
            tables.check(source, &mut out);
        }
        out
    }

    const TABLE: (&str, &str) = (
        "core/src/deque/chase_lev.rs",
        "//! | | writer | reader |\n//! |---|---|---|\n//! | D1 | `push` | `steal` |\n// D1 above (D1), `X9`.\n",
    );

    #[test]
    fn ids_of_the_file_and_prefixed_ids_are_silent() {
        let text =
            "// Release (chase_lev.D1, split.S1): an UltraSPARC T2, C11, (see D9), σ1\n// `(D1)`";
        let split = (
            "core/src/deque/split/mod.rs",
            "//! | S1 | a | after chase_lev.D1 |",
        );
        assert_eq!(
            found(&[TABLE, ("core/src/deque/ring.rs", text), split]),
            [""; 0]
        );
    }

    #[test]
    fn an_id_without_its_row_is_found() {
        for (text, what) in [
            ("// (D1)", "chase_lev.D1 elsewhere"),
            ("// Seen by D1.", "chase_lev.D1 elsewhere"),
            ("// (X9): b", "(X9) is in no table"),
            ("// (ring.D1)", "ring.D1 is in no table"),
            ("//! | S1 | a | D1 before |", "chase_lev.D1 elsewhere"),
        ] {
            let found = found(&[TABLE, ("core/src/deque/ring.rs", text)]);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(what), "{text}: {found:?}");
        }
    }

    #[test]
    fn own_ids_have_no_prefix_and_every_id_one_place() {
        let own = "//! | D5 | a |\n// (ring.D5)";
        assert_eq!(found(&[("core/src/deque/ring.rs", own)]).len(), 1);
        let twice = "//! | D5 | a |\n//! | D5 | b |";
        assert_eq!(found(&[("core/src/deque/ring.rs", twice)]).len(), 1);
        let namesake = ("core/src/task/ring.rs", "//! | D5 | a |");
        let other = ("core/src/deque/ring.rs", "//! | D5 | a |");
        assert!(!found(&[namesake, other]).is_empty());
        let apart = ("core/src/task/ring.rs", "//! | E5 | a |");
        assert_eq!(found(&[apart, other]), [""; 0]);
    }
}
