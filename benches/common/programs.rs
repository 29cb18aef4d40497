//! Programs of peers, as benches/peers.sh lists them.

use std::path::Path;

/// A program of a peer.
pub(crate) struct Program {
    /// The row that it belongs to.
    pub row: String,
    /// What reports call it.
    pub contender: String,
    /// It, and its first words, with blanks between.
    pub path: String,
}

/// The programs of a list.
///
/// # Errors
/// A message if the list cannot be read or a line is malformed.
pub(crate) fn listed(file: &Path) -> Result<Vec<Program>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let program = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let [row, contender, path] = words[..] else {
            return Err(format!(
                "{line:?}: a row, a name and a program, with tabs between"
            ));
        };
        let [row, contender, path] = [row, contender, path].map(str::to_owned);
        Ok(Program {
            row,
            contender,
            path,
        })
    };
    lines.map(program).collect()
}
