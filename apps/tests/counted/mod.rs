//! Numbers of vertices and edges of files of graphs, counted simply: of files that are known to be
//! of the format and without mistakes.

pub(crate) mod counts;

/// Vertices and edges of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) vertices: usize,
    pub(crate) edges: usize,
}

/// Decodes a file, bytes that are not UTF-8 as Latin-1: without a mark, with LF alone, and without
/// the end of file of DOS.
pub(crate) fn decoded(bytes: &[u8]) -> String {
    let chunks = bytes.utf8_chunks();
    let text: Vec<_> = chunks
        .flat_map(|chunk| {
            let latin: String = chunk
                .invalid()
                .iter()
                .map(|byte| char::from(*byte))
                .collect();
            [chunk.valid().to_owned(), latin]
        })
        .collect();
    let text = text.concat();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.trim_end_matches(['\u{1a}', '\n', ' ', '\t'])
        .to_owned()
}
