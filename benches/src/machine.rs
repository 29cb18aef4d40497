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

/// The use of all processors until now, in ticks of the system's clock.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The time of all processors.
    all: u64,
    /// The time that they were busy or, in a virtual machine, taken away.
    busy: u64,
    /// The time of this process and of those descendants that have been waited for.
    own: u64,
    processors: usize,
}

impl Usage {
    /// Reads it from the system, if it is Linux.
    pub fn read() -> Option<Self> {
        let [all, own] = ["/proc/stat", "/proc/self/stat"].map(std::fs::read_to_string);
        Self::parse(&all.ok()?, &own.ok()?)
    }

    fn parse(all: &str, own: &str) -> Option<Self> {
        // User, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
        let mut times = [0; 8];
        let mut words = all.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        for time in &mut times {
            *time = words.next()?.parse().ok()?;
        }
        // utime, stime, cutime, cstime, which are 14 to 17; the name, 2, may have blanks.
        let words = own.rsplit_once(')')?.1.split_whitespace();
        let words: Result<Vec<u64>, _> = words.skip(11).take(4).map(str::parse).collect();
        let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
        let total = times.iter().sum();
        Some(Self {
            all: total,
            busy: total - times[3] - times[4],
            own: words.ok()?.iter().sum(),
            processors: all.lines().filter(is_processor).count(),
        })
    }

    /// Returns how many processors others have used since then.
    pub fn others_since(self) -> Option<f64> {
        Some(self.others_until(Self::read()?))
    }

    fn others_until(self, end: Self) -> f64 {
        let busy = end.busy.saturating_sub(self.busy);
        let others = busy.saturating_sub(end.own.saturating_sub(self.own));
        let all = end.all.saturating_sub(self.all).max(1);
        others as f64 / all as f64 * end.processors as f64
    }
}

/// The version of a crate that this program was built with.
pub fn version(name: &str) -> &'static str {
    version_of(name).unwrap_or("of unknown version")
}

/// As [`version`]; `None` if there is no crate of this name.
pub fn version_of(name: &str) -> Option<&'static str> {
    let lock = include_str!("../../Cargo.lock");
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != format!("name = {name:?}"));
    lines.nth(1)?.split('"').nth(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(times: &str, own: &str) -> Usage {
        let all = format!("cpu  {times} 7 7\ncpu0 1\ncpu1 1\nintr 5\n");
        let own = format!("12 (a b) c) S 1 1 1 0 -1 4 9 9 9 9 {own} 20 0");
        Usage::parse(&all, &own).expect("well formed")
    }

    #[test]
    fn others_are_charged_with_what_this_process_and_its_children_did_not_use() {
        let before = usage("100 0 50 1000 10 1 1 0", "60 20 300 5");
        // 400 ticks of two processors: 210 idle, 190 busy, 150 of them by children.
        let after = usage("200 10 100 1200 20 11 11 10", "70 30 420 15");
        assert_eq!(before.others_until(after), 2.0 * 40.0 / 400.0);
        assert_eq!(before.others_until(before), 0.0);
    }

    #[test]
    fn malformed_usage_is_unknown() {
        assert!(Usage::parse("cpu 1 2 3", "1 (a) S").is_none());
        assert!(Usage::parse("", "").is_none());
        assert_eq!(Usage::read().is_some(), cfg!(target_os = "linux"));
    }
}
