//! Processes that are killed at random times: what the others print, and that nothing is left.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use crate::launched::{Launched, are_held, segments, signal, text, until};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The longest time from the end of one process to that of the last one.
const BOUND: Duration = Duration::from_secs(2);

/// One test at a time: the time that they allow is that of a machine without other load.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone<T>(body: impl FnOnce() -> T) -> T {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    body()
}

/// Random numbers of a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }

    /// Waits for a random time: until a process has started, or until it has computed for a while.
    pub(crate) fn wait(&mut self) {
        let limit_us = [20_000, 350_000][self.below(2) as usize];
        // A sleep, since the kill is to come at any moment, not after an event.
        thread::sleep(Duration::from_micros(self.below(limit_us)));
    }
}

/// The longest time from a kill to the end.
#[derive(Default)]
pub(crate) struct Longest(Duration);

impl Longest {
    pub(crate) fn add(&mut self, since: Instant, what: &str) {
        let elapsed = since.elapsed();
        assert!(elapsed < BOUND, "{what}: it took {elapsed:.1?}");
        self.0 = self.0.max(elapsed);
    }

    pub(crate) fn print(&self, times: usize, what: &str) {
        println!(
            "{times} times {what}: at most {:.1?} to the end of the last process",
            self.0
        );
    }
}

/// Checks that each rank but `ended` has printed one line, that names it. Returns the lines of that
/// one.
pub(crate) fn others_name(ended: usize, ranks: usize, errors: &str) -> Vec<&str> {
    let of = |rank: usize| {
        let prefix = format!("rank {rank}: ");
        let lines = errors.lines().filter(move |line| line.starts_with(&prefix));
        lines.collect::<Vec<_>>()
    };
    for rank in (0..ranks).filter(|rank| *rank != ended) {
        let lines = of(rank);
        assert_eq!(lines.len(), 1, "rank {rank} of {ranks}: {errors}");
        assert!(
            lines[0].starts_with(&format!("rank {rank}: tautline: "))
                && lines[0].contains(&format!("rank {ended}")),
            "rank {rank}: {errors}"
        );
    }
    of(ended)
}

/// Returns the files in shared memory that could be this library's.
pub(crate) fn shared_files() -> Vec<String> {
    let all = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut own: Vec<_> = names.filter(|name| name.contains("tautline")).collect();
    own.sort();
    own
}

/// Programs of ranks of which one is killed, each with a seed.
pub(crate) struct Killed {
    pub(crate) ranks: usize,
    pub(crate) seeds: u64,
    pub(crate) what: &'static str,
}

/// Kills a random rank at a random time, for each seed: `start` starts the ranks, and `check` gets
/// the seed, the rank, and what all have printed.
pub(crate) fn kill_ranks(
    killed: &Killed,
    start: impl Fn(u64) -> Launched,
    mut check: impl FnMut(u64, usize, &str),
) {
    let (mut longest, before) = (Longest::default(), shared_files());
    let ranks = killed.ranks;
    for seed in 0..killed.seeds {
        let mut random = Random(seed);
        let rank = random.below(ranks as u64) as usize;
        let launched = start(seed);
        let process = launched.rank(rank);
        // A sleep, since the kill is to come at any moment, not after an event.
        thread::sleep(Duration::from_millis(random.below(300)));
        let held = segments(launched.id());
        let since = Instant::now();
        signal("-KILL", &process);
        let output = launched.end();
        longest.add(since, &format!("seed {seed}: rank {rank}"));
        until("memory is left", || !are_held(&held));
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "seed {seed}: {errors}");
        let own = others_name(rank, ranks, errors);
        let line = format!("rank {rank}: ended by signal 9 (SIGKILL)");
        assert!(
            own.len() == 1 && own[0].starts_with(&line),
            "seed {seed}: {errors}"
        );
        assert_eq!(errors.lines().count(), ranks, "seed {seed}: {errors}");
        check(seed, rank, errors);
    }
    assert_eq!(shared_files(), before);
    longest.print(killed.seeds as usize, killed.what);
}
