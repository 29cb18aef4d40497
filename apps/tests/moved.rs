//! Workers that are moved from the processors to which they were pinned.
#![cfg(target_os = "linux")]

mod launched;
mod started;

use launched::{Launched, computes_on, signal};
use serde_json::Value;
use started::tautline;
use std::process::{Command, Stdio};
use tautline::Machine;

/// As a manager of containers does by a control group.
#[test]
fn a_pin_that_is_lost_during_a_run_is_reported() {
    let allowed = Machine::discover().cpus();
    let [first, second, ..] = allowed[..] else {
        println!("skipped: two processors are needed");
        return;
    };
    let run = |is_moved: bool| {
        let args = "uts T1WL --workers 1 --baseline none --json";
        let mut command = tautline(args);
        command.env("TAUTLINE_NO_PIN", "0");
        let search = Launched::of(command);
        computes_on(search.id());
        if is_moved {
            let list = format!("{first},{second}");
            let mut move_all = Command::new("taskset");
            move_all.args(["-a", "-c", "-p", &list, search.id()]);
            let moved = move_all.stdout(Stdio::null()).status();
            assert!(moved.expect("taskset").success());
        }
        signal("-INT", search.id());
        let output = search.end();
        let run: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        let doubts = run["doubts"].as_array().expect("a list").clone();
        let line = "threads could not be kept on their processors";
        doubts.iter().any(|doubt| doubt == line)
    };
    assert!(run(true));
    assert!(!run(false));
}
