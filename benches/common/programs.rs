//! Programs of peers, as benches/peers.sh lists them.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A program of a peer.
pub(crate) struct Program {
    /// The row that it belongs to.
    pub row: String,
    /// Its name in reports.
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

/// Returns the output of a program that starts no others, or kills it after `limit` and returns
/// `None`.
///
/// # Errors
/// It cannot be started.
#[allow(dead_code, reason = "the others run programs that end")]
pub(crate) fn output_within(
    limit: Duration,
    command: &mut Command,
) -> std::io::Result<Option<Output>> {
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (ended, end) = mpsc::channel();
    // The pipes close when it ends, also if it is killed.
    let reader = std::thread::spawn(move || {
        let both = (all_of(out), all_of(err));
        _ = ended.send(());
        both
    });
    let in_time = end.recv_timeout(limit).is_ok();
    if !in_time {
        child.kill()?;
    }
    let status = child.wait()?;
    let (stdout, stderr) = reader.join().expect("a reader does not panic");
    Ok(in_time.then_some(Output {
        status,
        stdout,
        stderr,
    }))
}

/// Reads a pipe until it closes or fails.
#[allow(dead_code, reason = "see `output_within`")]
fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}
