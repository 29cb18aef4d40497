//! `tautline bench`, from outside.

use serde_json::Value;
use std::process::{Command, Output};

fn tautline(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    command.arg("bench").args(args);
    // What the caller has set is no part of a test.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("TAUTLINE_") || name.starts_with("OMP_") {
            command.env_remove(name.as_ref());
        }
    }
    command.output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn bad_requests_get_one_line_and_exit_code_2() {
    for (args, names) in [
        (&[][..], ["a command is missing", "barrier"]),
        (&["barriers"], ["barriers", "barrier"]),
        (
            &["barrier", "--tasks", "2,1"],
            ["--tasks 1", "from 2 to 1024"],
        ),
        (
            &["barrier", "--tasks", "all"],
            ["--tasks all", "whole numbers"],
        ),
        (
            &["barrier", "--tasks", "0"],
            ["--tasks 0", "from 2 to 1024"],
        ),
        (&["barrier", "--degree", "1"], ["--degree 1", "from 2"]),
        (&["barrier", "--samples", "19"], ["--samples 19", "from 20"]),
        (
            &["barrier", "--iterations", "0"],
            ["--iterations 0", "from 1"],
        ),
        (&["barrier", "--delay", "-1"], ["--delay -1", "from 0"]),
        (
            &["barrier", "--processors", "cores("],
            ["--processors cores(", "at character"],
        ),
        (
            &["barrier", "--processors", "{99999}"],
            ["--processors {99999}", "allowed processor"],
        ),
        (
            &["barrier", "--program", "/no/such"],
            ["--program /no/such", "a program"],
        ),
    ] {
        let output = tautline(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(
            (said.lines().count(), text(&output.stdout)),
            (1, ""),
            "{said}"
        );
        for name in names {
            assert!(said.contains(name), "{args:?}: no {name:?} in {said}");
        }
    }
}

#[test]
fn help_has_examples() {
    let output = tautline(&["barrier", "--help"]);
    let help = text(&output.stdout);
    assert!(
        help.contains("EXAMPLES:\n  tautline bench barrier "),
        "{help}"
    );
}

/// More tasks than any machine that runs tests has processors would take long; one processor has too few for two.
const CROWDED: &[&str] = &[
    "barrier",
    "--iterations",
    "20",
    "--tasks",
    "2,3",
    "--degree",
    "2,2",
];

#[test]
fn tasks_that_take_turns_get_figures_but_no_verdict() {
    let first = tautline::Machine::discover().cpus()[0];
    let one = format!("{{{first}}}");
    let args = [CROWDED, &["--processors", &one, "--json"]].concat();
    let output = tautline(&args);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(seen["processors"], serde_json::json!([first]));
    assert_eq!(
        (&seen["samples"], &seen["round_trips"]),
        (&20.into(), &serde_json::json!([]))
    );
    for (comparison, tasks) in seen["barriers"].as_array().unwrap().iter().zip([2, 3]) {
        assert_eq!(
            (&comparison["tasks"], &comparison["verdict"]),
            (&tasks.into(), &Value::Null)
        );
        let why = format!("{tasks} tasks take turns on 1 processor");
        assert_eq!(comparison["doubts"], serde_json::json!([why]));
        let kinds = comparison["kinds"].as_array().unwrap();
        let names: Vec<_> = kinds
            .iter()
            .map(|kind| kind["kind"].as_str().unwrap())
            .collect();
        let expected = [
            "std::sync::Barrier",
            "central counter",
            "combining tree, degree 2",
            "flat phaser",
            "tiered phaser, degree 2",
            "phaser, degree 2",
        ];
        assert_eq!(names, expected);
        for kind in kinds {
            let [least, median, most] =
                ["min_ns", "median_ns", "max_ns"].map(|key| kind[key].as_f64().unwrap());
            assert!(least <= median && median <= most && most > 0.0, "{kind}");
            assert_eq!(
                (&kind["iterations"], &kind["round_trips"]),
                (&20.into(), &Value::Null)
            );
        }
    }
    let table = tautline(&[CROWDED, &["--processors", &one]].concat());
    let table = text(&table.stdout);
    assert!(
        table.contains("no verdict: 3 tasks take turns on 1 processor\n"),
        "{table}"
    );
    assert!(!table.contains("fastest"), "{table}");
}

#[test]
#[cfg(unix)]
fn a_program_takes_part() {
    // It prints what it is called with, the number of episodes first.
    let args = "barrier --tasks 3 --iterations 73 --program /bin/echo --json";
    let output = tautline(&args.split(' ').collect::<Vec<_>>());
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let program = seen["barriers"][0]["kinds"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(
        (&program["kind"], &program["median_ns"]),
        (&"echo".into(), &73.0.into())
    );
    assert_eq!(program["sd_ns"], 0.0);
}
