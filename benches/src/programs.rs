//! Programs of peers, as benches/peers.sh lists them, and measurements in processes of their own.

use crate::machine::version;
use crate::stored::exit;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A program of a peer.
pub struct Program {
    /// The row that it belongs to.
    pub row: String,
    /// Its name in reports.
    pub contender: String,
    /// It, and its first words, with blanks between.
    pub path: String,
}

/// The programs of the list that an option names, if it is given; ends the program if the list
/// cannot be read or a line is malformed.
pub fn peers(list: Option<impl AsRef<Path>>) -> Vec<Program> {
    let listed = list.map_or(Ok(Vec::new()), |list| listed(list.as_ref()));
    listed.unwrap_or_else(|complaint| exit(&complaint))
}

/// The names of contenders: crates with their versions, and these programs.
pub fn contenders<'a>(crates: &[&str], programs: impl IntoIterator<Item = &'a Program>) -> String {
    let with_version = |name: &&str| format!("{name} {}", version(name));
    let mut all: Vec<String> = crates.iter().map(with_version).collect();
    for program in programs {
        if !all.contains(&program.contender) {
            all.push(program.contender.clone());
        }
    }
    all.join(", ")
}

fn listed(file: &Path) -> Result<Vec<Program>, String> {
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
    pub fn figure(&self) -> Result<f64, String> {
        let output = command(&self.path).output();
        let output = output.map_err(|error| format!("{}: {error}", self.path))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let figure = text.trim().parse();
        figure.map_err(|_| format!("{}: {text:?}, not a number", self.path))
    }
}

/// A command of a program and its first words.
pub fn command(path: &str) -> Command {
    let mut words = path.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

/// A command of this program.
///
/// # Panics
/// The system does not know its path.
pub fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("a running program has a path"))
}

/// A command that takes one measurement: of the program of a peer, which gets the size and the
/// number of workers, or else of this program, which gets `--measure` and `words`.
pub fn measurement(peer: Option<&str>, numbers: [&str; 2], words: &[&str], quick: bool) -> Command {
    if let Some(path) = peer {
        let mut command = command(path);
        command.args(numbers);
        return command;
    }
    let mut command = this_program();
    command.arg("--measure").args(words);
    command.args(quick.then_some("--quick"));
    command
}

/// The numbers with which the output of a program that has succeeded begins.
///
/// # Errors
/// Its end, and the last line of its standard error: in words.
pub fn numbers<const N: usize>(output: &Output) -> Result<[f64; N], String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let numbers: Vec<f64> = numbers.take(N).collect();
    let numbers = numbers.try_into().ok().filter(|_| output.status.success());
    numbers.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!(
            "{} {}",
            output.status,
            said.lines().last().unwrap_or_default()
        )
    })
}

/// Returns the output of a program that starts no others, or kills it after `limit` and returns
/// `None`.
///
/// # Errors
/// It cannot be started.
pub fn output_within(limit: Duration, command: &mut Command) -> std::io::Result<Option<Output>> {
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
fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}
