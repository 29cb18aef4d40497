//! The machine and the conditions of a run, for the heads of tables.

use rustix::time::{ClockId, clock_gettime};
use std::process::Command;
use std::time::Duration;

/// The load of the last 1, 5 and 15 minutes.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The processor time of this process, of all its threads.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The version of a crate that this program was built with.
pub fn version(name: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != format!("name = {name:?}"));
    let version = lines.nth(1).and_then(|line| line.split('"').nth(1));
    version.unwrap_or("of unknown version")
}

/// The first line of the output of a program, if it is there.
pub fn said_by(program: &str, word: &str) -> Option<String> {
    let output = Command::new(program).arg(word).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}

/// A processor as its system names it. Virtual machines often hide the number of the product;
/// family and model then tell generations apart.
pub struct Processor {
    name: String,
    family: Option<[String; 2]>,
}

impl Processor {
    /// The one that this program runs on.
    pub fn discover() -> Self {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(k, v)| (k.trim() == key).then(|| v.trim().to_owned()))
        };
        let machine = tautline::Machine::discover();
        Self {
            name: machine.model().unwrap_or("unknown processor").to_owned(),
            family: value("cpu family")
                .zip(value("model"))
                .map(Into::<[_; 2]>::into),
        }
    }

    /// As the head of a table calls it.
    pub fn title(&self) -> String {
        let name = self.name.replace("(R)", "").replace("(TM)", "");
        match &self.family {
            Some([family, model]) => format!("{name}, family {family} model {model}"),
            None => name,
        }
    }

    /// The name of the folder of its figures.
    pub fn folder(&self) -> String {
        let title = self.title().to_lowercase().replace("processor", "");
        let words = title.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        words.join("-")
    }
}

/// Date, revision, processors, load and compiler of a run. A program that is carried to another
/// machine has the revision and the compiler that it was built with (`BENCH_REVISION` and
/// `BENCH_COMPILER` in the environment of the build).
pub fn conditions() -> String {
    let processors = tautline::Machine::discover().allowed().len();
    let date = said_by("date", "+%F");
    let revision = || {
        let git = Command::new("git")
            .args([
                "describe",
                "--always",
                "--dirty",
                "--abbrev=9",
                "--exclude=*",
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output();
        String::from_utf8(git.ok()?.stdout).ok()
    };
    let revision = option_env!("BENCH_REVISION")
        .map(str::to_owned)
        .or_else(revision);
    let compiler = option_env!("BENCH_COMPILER")
        .map(str::to_owned)
        .or_else(|| said_by("rustc", "--version"));
    format!(
        "{}, revision {}; {processors} processors, load {}; {}",
        date.as_deref().unwrap_or("unknown date"),
        revision.as_deref().map_or("unknown", str::trim),
        load(),
        compiler.as_deref().unwrap_or("unknown compiler"),
    )
}
