//! Runtimes that would pin their workers to the same processors, in one process and in two.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::process::Command;
use std::sync::Barrier;
use std::{env, fs};
use tautline::prelude::*;

/// The processors that the calling thread may use, as the system lists them.
fn allowed() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

/// The processors that the started worker of a runtime with two workers may use.
fn of_the_worker(runtime: &Runtime) -> String {
    let (met, caller) = (Barrier::new(2), std::thread::current().id());
    let meet = || {
        met.wait();
        (std::thread::current().id() != caller).then(allowed)
    };
    let (here, there) = runtime.run(|cx| cx.join(|_| meet(), |_| meet()));
    here.or(there).expect("one of them ran on the worker")
}

fn explained(runtime: &Runtime, setting: &str) -> Option<(String, String)> {
    let choices = runtime.explain();
    let found = choices.into_iter().find(|choice| choice.setting == setting);
    found.map(|choice| (choice.value, choice.why))
}

/// Runs the command with one worker, without variables of the caller.
fn command(args: &str, name: &str, value: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("TAUTLINE_") {
            command.env_remove(name);
        }
    }
    command
        .args(args.split_whitespace())
        .env_remove("OMP_PLACES");
    command
        .env("TAUTLINE_WARN", "0")
        .env("TAUTLINE_WORKERS", "1")
        .env(name, value);
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{args}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A second runtime is not pinned to the processors of the first one, in the same process or
/// another, unless that is requested.
///
/// Other tests may have runtimes too, so the first one here is built with pinned workers.
#[test]
fn a_second_runtime_leaves_the_processors_of_the_first() {
    let all = allowed();
    let first = Runtime::builder().workers(2).pinned(true).build().unwrap();
    assert!(of_the_worker(&first).parse::<usize>().is_ok());

    let second = Runtime::builder().workers(2).build().unwrap();
    assert_eq!(of_the_worker(&second), all);
    assert!(!second.plan().pinned && second.plan().cpus.is_empty());
    let (value, why) = explained(&second, "pinned to").unwrap();
    assert_eq!(value, "not pinned");
    assert!(why.contains("has workers of another runtime"), "{why}");

    let asked = Runtime::builder().workers(2).pinned(true).build().unwrap();
    assert!(of_the_worker(&asked).parse::<usize>().is_ok());
    let (shared, _) = explained(&asked, "placement").unwrap();
    assert!(
        shared.contains("have workers of another runtime"),
        "{shared}"
    );
    drop((second, asked));

    let pinned = |name, value| {
        let run: Value =
            serde_json::from_str(&command("nqueens 8 --json --quiet", name, value)).unwrap();
        run["config"]["pinned"].as_bool().unwrap()
    };
    let first_cpu = first.plan().cpus[0].to_string();
    assert!(!pinned("TAUTLINE_NO_PIN", ""));
    for (name, value) in [
        ("TAUTLINE_NO_PIN", "0"),
        ("TAUTLINE_PIN", &*first_cpu),
        ("OMP_PLACES", &*first_cpu),
    ] {
        assert!(pinned(name, value), "{name}={value}");
    }
    let line = format!("not pinned: CPU {first_cpu} has workers of another runtime");
    let explained = command("topo --explain", "TAUTLINE_NO_PIN", "");
    assert!(explained.contains(&line), "{explained}");
    assert!(!command("topo --explain", "TAUTLINE_NO_PIN", "1").contains(&line));
}
