//! Accesses of processes to shared objects, with their times.
//!
//! This program also is one of ranks: they run the test `rank` alone.
#![cfg(target_os = "linux")]

mod histories;
#[path = "../../platforms/tests/ranks/mod.rs"]
mod ranks;
mod started;

use started::tautline;
use std::env;

/// The program of a rank.
#[test]
#[ignore = "by hand: the program of ranks, which other tests start"]
fn rank() {
    if env::var_os(histories::ACCESSES).is_some() {
        histories::main().expect("no rank is lost");
    }
}

/// Makes accesses by four processes.
fn check(accesses: u64) {
    let mut command = tautline("launch -n 4 --");
    command.arg(env::current_exe().expect("it runs"));
    command.args(["--exact", "rank", "--nocapture", "--ignored", "--quiet"]);
    command.env(histories::ACCESSES, accesses.to_string());
    let output = command.output().expect("it starts");
    let [printed, errors] = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let line = format!("{accesses} accesses of 4 ranks are those of one memory\n");
    assert!(printed.contains(&line), "{printed}");
}

#[test]
fn histories_over_processes_are_those_of_one_memory() {
    check(40_000);
}

#[test]
#[ignore = "cargo ci deep: ten million accesses of processes"]
fn ten_million_accesses_of_processes() {
    check(10_000_000);
}
