//! Programs of a library, launched as ranks on processors of their own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tautline::Machine;

/// Variables in which libraries pass a process its rank.
const RANKS: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The programs that were built with one MPI library.
pub(crate) struct Library {
    /// The name of its folder.
    pub name: String,
    folder: PathBuf,
}

/// Finds the folders that hold a script `launch`.
///
/// # Errors
/// The folder has no library: in words.
pub(crate) fn libraries(programs: &Path) -> Result<Vec<Library>, String> {
    let entries = std::fs::read_dir(programs);
    let entries = entries.map_err(|error| format!("--programs {}: {error}", programs.display()))?;
    let mut all = Vec::new();
    for folder in entries.flatten().map(|entry| entry.path()) {
        if folder.join("launch").is_file() {
            let name = folder.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            all.push(Library { name, folder });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    if all.is_empty() {
        let programs = programs.display();
        return Err(format!(
            "--programs {programs}: no folder with a script launch; benches/clusters.sh makes them"
        ));
    }
    Ok(all)
}

impl Library {
    /// Launches `ranks` processes of a program, with `each` processors for each. Returns what they
    /// print.
    ///
    /// # Errors
    /// The launch failed: in words.
    pub(crate) fn launch(
        &self,
        [ranks, each]: [usize; 2],
        words: &[&str],
    ) -> Result<String, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let program = self.folder.join(words[0]);
        let mut command = Command::new(self.folder.join("launch"));
        command.arg(ranks.to_string()).arg(own);
        command
            .args(["--at", &processors(ranks, each)])
            .arg(program)
            .args(&words[1..]);
        let output = command
            .output()
            .map_err(|error| format!("launch: {error}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().filter(|line| !line.trim().is_empty()).take(4);
            let why = why.collect::<Vec<_>>().join(" | ");
            return Err(format!("{}: {}: {why}", words.join(" "), output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The processors of each rank: of different cores if there are enough, else whole cores.
fn processors(ranks: usize, each: usize) -> String {
    let machine = Machine::discover();
    let mut cpus = machine.allowed().to_vec();
    if ranks * each <= machine.cores() {
        cpus.retain(|cpu| cpu.thread == 0);
    } else {
        cpus.sort_by_key(|cpu| (cpu.core, cpu.thread));
    }
    let of = |rank: usize| {
        let own = (0..each).map(|at| cpus[(rank * each + at) % cpus.len()].id.to_string());
        own.collect::<Vec<_>>().join(",")
    };
    (0..ranks).map(of).collect::<Vec<_>>().join("/")
}

/// Becomes the program, on the processors of this rank. Returns why that failed.
pub(crate) fn confined(at: &str, program: &[String]) -> String {
    let rank = RANKS.iter().find_map(|name| std::env::var(name).ok());
    let rank = rank.and_then(|rank| rank.parse().ok()).unwrap_or(0);
    let own = at.split('/').nth(rank).unwrap_or_default();
    let cpus: Result<Vec<usize>, _> = own.split(',').map(str::parse).collect();
    let Ok(cpus) = cpus else {
        return format!("--at {at}: no processors of rank {rank}");
    };
    if !tautline_node::machine::confine(&cpus) {
        return format!("--at {at}: the system refuses these processors");
    }
    let error = Command::new(&program[0]).args(&program[1..]).exec();
    format!("{}: {error}", program[0])
}
