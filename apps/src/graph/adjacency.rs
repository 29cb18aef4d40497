//! Adjacency lists: a vertex and its neighbours a line, separated by white space.

use super::{Builder, Listed, Options, Ways};
use crate::text::Text;
use tautline::FileError;

pub(super) fn read(text: &Text, options: &Options) -> Result<Listed, FileError> {
    if options.is_weighted {
        return Err(text.error_at(0, "adjacency list: it has no lengths"));
    }
    let mut builder = Builder::new(text, options);
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else {
            continue;
        };
        named(text, first)?;
        let from = builder.vertex(first);
        for word in words {
            named(text, word)?;
            let to = builder.vertex(word);
            builder.edge((from, to), None, Ways::Unsaid, word)?;
        }
    }
    builder.listed("adjacency list".to_owned())
}

/// Refuses a word that is no name, such as the data of an edge in a multi-line adjacency list.
fn named(text: &Text, word: &str) -> Result<(), FileError> {
    if word.starts_with('{') {
        let message = format!(
            "`{word}`: the data of an edge: expected names alone, in Python by networkx.write_adjlist"
        );
        return Err(text.error(word, message));
    }
    super::list::named(text, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Listed, String> {
        let text = Text::new("g", text, |_| false).unwrap();
        super::read(&text, &Options::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn lists_of_other_kinds_are_refused() {
        let listed = read("# c\na b c\nd\n").unwrap();
        assert_eq!((listed.names.len(), listed.entries), (4, 2));
        for (text, said) in [
            (
                "a 1\nb {'weight': 3}\n",
                "g:2:3: `{'weight':`: the data of an edge",
            ),
            ("a 1\nb {}\n", "g:2:3: `{}`: the data of an edge"),
            ("a: b c\n", "g:1:1: `a:`: a colon, a bracket or an arrow"),
            (
                "-> b\n",
                "g:1:1: `->`: the name of a vertex has a letter or a digit",
            ),
        ] {
            let line = read(text).unwrap_err();
            assert!(line.starts_with(said), "{text:?}: {line}");
        }
    }
}
