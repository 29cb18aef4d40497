//! Programs of peers, as benches/peers.sh lists them.

use std::path::Path;

/// A program of a peer.
pub(crate) struct Program {
    /// The row that it belongs to.
    pub row: String,
    /// What reports call it.
    pub who: String,
    /// It, and its first words, with blanks between.
    pub path: String,
}

/// The programs of a list.
///
/// # Errors
/// A list that cannot be read, or a line that is none of it: in words.
pub(crate) fn listed(file: &Path) -> Result<Vec<Program>, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let program = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let [row, who, path] = words[..] else {
            return Err(format!(
                "{line:?}: a row, a name and a program, with tabs between"
            ));
        };
        let [row, who, path] = [row, who, path].map(str::to_owned);
        Ok(Program { row, who, path })
    };
    lines.map(program).collect()
}
