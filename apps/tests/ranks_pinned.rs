//! The processors of the workers of ranks: a program of its own, as other launches would claim the
//! same processors.
#![cfg(target_os = "linux")]

mod launched;
mod started;

use launched::{Launched, signal};
use started::tautline;
use std::path::PathBuf;
use std::{fs, thread};

/// Returns the processors that each thread of a process may use, by the thread's name.
fn processors(process: &str) -> Vec<(String, String)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let threads = threads.map(|thread| thread.expect("a thread").path());
    let of = |thread: PathBuf| {
        let read = |file| fs::read_to_string(thread.join(file)).unwrap_or_default();
        let status = read("status");
        let mut lines = status.lines();
        let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let list = list.unwrap_or_default().trim().to_owned();
        (read("comm").trim().to_owned(), list)
    };
    threads.map(of).collect()
}

/// Two ranks share two processors; the one that finds them first pins its workers apart.
#[test]
fn the_workers_of_a_rank_are_pinned_apart() {
    if thread::available_parallelism().is_ok_and(|n| n.get() < 2) {
        println!("skipped: two processors are needed");
        return;
    }
    let program = env!("CARGO_BIN_EXE_tautline");
    let args = format!("launch -n 2 --pin {{0:2}},{{0:2}} -- {program} uts T1WL --baseline none");
    let mut command = tautline(&args);
    command.env("TAUTLINE_WARN", "0");
    let launched = Launched::of(command);
    let ranks = launched.computes(2);
    let are_apart = |rank: &String| {
        let all = processors(rank);
        let of = |name: &str| all.iter().find(|(thread, _)| thread == name);
        let (first, second) = (of("tautline"), of("tautline-1"));
        let (first, second) = first.zip(second).expect("two workers");
        [&first.1, &second.1] == ["0", "1"]
    };
    let all: Vec<_> = ranks.iter().map(|rank| processors(rank)).collect();
    assert!(ranks.iter().any(are_apart), "{all:?}");
    signal("-INT", launched.id());
    launched.end();
}
