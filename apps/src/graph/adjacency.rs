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
        let from = builder.vertex(first);
        for word in words {
            super::list::named(text, word)?;
            let to = builder.vertex(word);
            builder.edge((from, to), None, Ways::Unsaid, word)?;
        }
    }
    builder.listed("adjacency list".to_owned())
}
