//! Running launches: their processes, and how they end.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use crate::started::tautline;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// A search that no test lives to see the end of.
pub(crate) const ENDLESS: &str = "uts T1WL --baseline none --ranks";

/// The variable by which the processes of a launch are found.
const MARK: &str = "OF_TEST";

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

/// Returns the state of a process, as a letter; `None` if it has ended.
pub(crate) fn state(process: &str) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let (_, rest) = stat.rsplit_once(") ")?;
    // One that was not waited for has ended.
    let state = rest.chars().next();
    state.filter(|state| !matches!(state, 'Z' | 'X'))
}

/// Waits for what must come.
pub(crate) fn until(what: &str, mut has_come: impl FnMut() -> bool) {
    let start = Instant::now();
    while !has_come() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::yield_now();
    }
}

/// Waits until a process has ended.
pub(crate) fn gone(process: &str) {
    until("a process is left", || state(process).is_none());
}

/// Waits until a process has computed for a tenth of a second more.
pub(crate) fn computes_on(process: &str) {
    let ticks = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
        let (_, rest) = stat.rsplit_once(") ").expect("its name comes first");
        let ticks = rest.split(' ').nth(11);
        ticks.and_then(|ticks| ticks.parse::<u64>().ok())
    };
    let before = ticks().expect("a number");
    until("a process does not compute", || {
        assert!(state(process).is_some(), "process {process} has ended");
        ticks() >= Some(before + 10)
    });
}

/// Sends a signal to a process.
pub(crate) fn signal(signal: &str, process: &str) {
    let status = Command::new("sh")
        .args(["-c", "kill $0 $1", signal, process])
        .status();
    assert!(status.expect("it starts").success());
}

/// A running launch, which is killed when this is dropped.
pub(crate) struct Launched {
    /// `None` once it was waited for.
    launcher: Option<Child>,
    id: String,
    /// In the environment of all its processes.
    mark: String,
}

impl Launched {
    /// Starts a launch with these arguments.
    pub(crate) fn start(args: &str) -> Self {
        Self::of(tautline(args))
    }

    /// Starts a launch by this command.
    pub(crate) fn of(mut command: Command) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.env(MARK, &mark);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let launcher = command.spawn().expect("it starts");
        Self {
            id: launcher.id().to_string(),
            launcher: Some(launcher),
            mark,
        }
    }

    /// Returns the launcher's process.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the processes of the ranks that have started and not ended, in their order.
    pub(crate) fn ranks(&self) -> Vec<String> {
        let id = &self.id;
        let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let list = list.expect("the launcher was not waited for");
        list.split_whitespace().map(str::to_owned).collect()
    }

    /// Waits until `rank` has started, and returns its process.
    pub(crate) fn rank(&self, rank: usize) -> String {
        until("a rank does not start", || self.ranks().len() > rank);
        self.ranks().swap_remove(rank)
    }

    /// Waits until `ranks` ranks have computed for a while, and returns their processes.
    pub(crate) fn computes(&self, ranks: usize) -> Vec<String> {
        self.rank(ranks - 1);
        let ranks = self.ranks();
        Self::compute(&ranks);
        ranks
    }

    /// Waits until `count` processes of `program`, children of any process, have computed for a
    /// while, and returns them.
    pub(crate) fn computing(&self, program: &str, count: usize) -> Vec<String> {
        let is_named = |process: &String| {
            let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            name.trim() == program
        };
        let all = || -> Vec<_> { self.processes().into_iter().filter(is_named).collect() };
        until("a rank does not start", || all().len() == count);
        let all = all();
        Self::compute(&all);
        all
    }

    /// Waits until all these processes have computed for a while.
    fn compute(processes: &[String]) {
        processes.iter().for_each(|rank| computes_on(rank));
    }

    /// Waits for the end of the launcher, and then of all its processes.
    pub(crate) fn end(mut self) -> Output {
        let launcher = self.launcher.as_mut().expect("not waited for");
        // What is printed fits into the pipes.
        until("the launch does not end", || {
            launcher.try_wait().expect("a child").is_some()
        });
        until("a process is left", || self.processes().is_empty());
        let launcher = self.launcher.take().expect("as above");
        launcher.wait_with_output().expect("it has ended")
    }

    /// Returns all processes of the launch, also those that other ones have started.
    fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.mark);
        let is_marked = |process: &String| {
            let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            variables
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        };
        let mut all = processes();
        all.retain(|process| is_marked(process) && state(process).is_some());
        all
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        if let Some(launcher) = &mut self.launcher {
            let _ = launcher.kill().and_then(|()| launcher.wait());
        }
    }
}

/// Returns the numbers of all processes of the system.
fn processes() -> Vec<String> {
    let all = fs::read_dir("/proc").expect("Linux").flatten();
    let names = all.filter_map(|entry| entry.file_name().into_string().ok());
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    names.filter(is_number).collect()
}

/// Returns the device and number of each shared segment that a process holds open.
pub(crate) fn segments(process: &str) -> Vec<(u64, u64)> {
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter();
    let paths = open.flatten().flatten().map(|entry| entry.path());
    let is_segment = |path: &std::path::PathBuf| {
        let file = fs::read_link(path).unwrap_or_default();
        file.to_string_lossy().starts_with("/memfd:tautline")
    };
    let found = paths.filter(is_segment).filter_map(|path| {
        let file = fs::metadata(path).ok()?;
        Some((file.dev(), file.ino()))
    });
    found.collect()
}

/// Whether any process holds one of these segments open.
pub(crate) fn are_held(held: &[(u64, u64)]) -> bool {
    let all = processes();
    let mut all = all.iter().flat_map(|process| segments(process));
    all.any(|segment| held.contains(&segment))
}
