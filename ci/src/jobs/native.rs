//! Compiled for the processor it runs on, the tree search is as fast as the default build.
//!
//! SHA instructions that execute while the upper halves of vector registers are in use cost
//! hundreds of cycles each on Intel processors; only a build for AVX brings the two together.
//! Hashing one by one is measured beside the fastest engine, which may do without the SHA
//! instructions.

use super::Verdict;
use crate::shell::{cargo, run, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The bound on the slowdown of the native build.
const SLOWEST: f64 = 0.9;
/// Runs of either build in a series; odd, for the median.
const PAIRS: usize = 5;
/// A series that fails is repeated: a neighbour on a shared machine can take caches and clock from
/// several runs of one build, but what the job looks for is there in every run of every series.
const SERIES: usize = 3;
/// The run that is timed. The deadline bounds the time of a run that is far too slow.
const SEARCH: &str = "uts T1L --workers 1 --baseline none --quiet --json --deadline 1";
/// Names of the engines, and the options that choose them.
const ENGINES: [(&str, &[&str]); 2] = [("one by one", &["--engine", "one"]), ("fastest", &[])];

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if !Path::new("/proc/self/stat").exists() {
        let why = "processor time is read from /proc, which this system lacks";
        return Ok(Verdict::CannotRun(why.into()));
    }
    let plain = build(tree, None)?;
    let native = build(tree, Some("-C target-cpu=native"))?;
    let mut said = Vec::new();
    for (name, options) in ENGINES {
        let ratio = compare(&plain, &native, options)?;
        if ratio < SLOWEST {
            bail!(
                "{name}: the native build has {ratio:.3} of the default build's rate, at least \
                 {SLOWEST} is required"
            );
        }
        said.push(format!("{name} {ratio:.2} of the default build's rate"));
    }
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    said.extend(blind(&text).map(str::to_owned));
    Ok(Verdict::Holds(said.join(", ")))
}

/// Returns the reason for which a slow build is invisible on this processor.
fn blind(cpuinfo: &str) -> Option<&'static str> {
    let has = |flag| cpuinfo.split_whitespace().any(|word| word == flag);
    match (has("avx"), has("sha_ni")) {
        (true, true) => None,
        (false, _) => Some("though it cannot be slow here: no AVX"),
        (true, false) => Some("though it cannot be slow here: no SHA instructions"),
    }
}

/// Builds the command as it is shipped and returns where it is. Without the whole-program pass of a
/// release, hashing is a call into another crate, and what the job looks for cannot be seen.
fn build(tree: &Tree, flags: Option<&str>) -> Result<PathBuf> {
    let mut target = target_dir(tree);
    if flags.is_some() {
        target.push("native");
    }
    let words = [
        "build",
        "--release",
        "-p",
        "tautline-cli",
        "--bin",
        "tautline",
    ];
    let mut command = cargo(tree, words);
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", flags.unwrap_or_default());
    run(&mut command)?;
    Ok(target.join("release/tautline"))
}

/// The best median of some series of runs in turn: the native build's rate over the default
/// build's.
fn compare(plain: &Path, native: &Path, options: &[&str]) -> Result<f64> {
    let mut best = 0.0_f64;
    for _ in 0..SERIES {
        let mut ratios = Vec::new();
        for pair in 0..PAIRS {
            // Either goes first in turn.
            let ratio = if pair % 2 == 0 {
                let before = rate(plain, options)?;
                rate(native, options)? / before
            } else {
                let before = rate(native, options)?;
                before / rate(plain, options)?
            };
            ratios.push(ratio);
        }
        best = best.max(median(ratios));
        if best >= SLOWEST {
            break;
        }
    }
    Ok(best)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nodes in a tick of processor time.
fn rate(program: &Path, options: &[&str]) -> Result<f64> {
    let mut command = Command::new(program);
    command.args(SEARCH.split(' ')).args(options);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", program.display()))?;
    let mut out = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut out)?;
    }
    // The times of a process are complete when it has ended, and readable until it is waited for.
    let stat = format!("/proc/{}/stat", child.id());
    let start = Instant::now();
    let ticks = loop {
        let text = fs::read_to_string(&stat)?;
        if let Some(ticks) = ended(&text) {
            break ticks;
        }
        if start.elapsed() > Duration::from_secs(60) {
            bail!("{} closed its output and did not end", program.display());
        }
        thread::sleep(Duration::from_millis(1));
    };
    if !child.wait()?.success() {
        bail!("`{} {SEARCH}` failed", program.display());
    }
    let nodes = number(&out, "nodes").context("no \"nodes\" in what the search printed")?;
    Ok(nodes / ticks.max(1) as f64)
}

/// The ticks that an ended process has used, user and system; none while it runs.
fn ended(stat: &str) -> Option<u64> {
    // The name before is in parentheses and may contain anything.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    if fields.next() != Some("Z") {
        return None;
    }
    let mut times = fields.skip(10).map_while(|field| field.parse::<u64>().ok());
    Some(times.next()? + times.next()?)
}

/// The number under this key of an object of numbers and texts.
fn number(json: &str, key: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{key}\":"))?;
    let end = rest.find([',', '}', '\n']).unwrap_or(rest.len());
    rest[..end].trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_an_ended_process() {
        let fields = "1 2 3 4 5 6 7 8 9 10 250 17 0 0 20";
        assert_eq!(ended(&format!("42 (a b) c) Z {fields}")), Some(267));
        assert_eq!(ended(&format!("42 (a) S {fields}")), None);
        assert_eq!(ended(""), None);
        assert_eq!(ended("42 (a) Z 1 2 3"), None);
    }

    #[test]
    fn the_number_of_nodes_is_found() {
        let json = "{\n  \"expected_nodes\": 7,\n  \"nodes\": 4130071,\n  \"x\": 1}";
        assert_eq!(number(json, "nodes"), Some(4_130_071.0));
        assert_eq!(number("{\"nodes\":5}", "nodes"), Some(5.0));
        assert_eq!(number("{}", "nodes"), None);
    }

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 0.1, 1.0, 2.0, 9.0]), 2.0);
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        assert_eq!(blind("flags : sse avx sha_ni"), None);
        assert!(blind("flags : sse sha_ni").is_some_and(|said| said.contains("AVX")));
        assert!(blind("flags : avx avx2").is_some_and(|said| said.contains("SHA")));
    }
}
