//! Programs of peers, as benches/peers.sh lists them.

use std::path::Path;
use std::process::Command;

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

impl Program {
    /// Runs it without further words; returns the figure that it prints.
    ///
    /// # Errors
    /// It cannot be run, or prints no figure: in words.
    #[allow(
        dead_code,
        reason = "tables with sizes call their programs with words of their own"
    )]
    pub(crate) fn figure(&self) -> Result<f64, String> {
        let mut words = self.path.split(' ');
        let output = Command::new(words.next().unwrap_or_default())
            .args(words)
            .output();
        let output = output.map_err(|error| format!("{}: {error}", self.path))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let figure = text.trim().parse();
        figure.map_err(|_| format!("{}: {text:?}, not a number", self.path))
    }
}
