//! Variables with bytes and blanks that people do not see.
#![cfg(unix)]

mod started;

use serde_json::Value;
use started::tautline;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;
use tautline::variables;

fn run(args: &str, name: &str, value: &[u8]) -> Output {
    let mut command = tautline(args);
    command.env("TAUTLINE_WARN", "1");
    let output = command.env(name, OsStr::from_bytes(value)).output();
    output.expect("it starts")
}

#[test]
fn a_value_that_is_not_unicode_is_refused_by_the_name_of_its_variable() {
    for name in variables::ALL {
        for (value, shown) in [(&b"\xff"[..], r"\xff"), (b"2 \xe9\n", r"2 \xe9\n")] {
            for args in [
                "nqueens 6",
                "stencil",
                "simulate uts T1",
                "topo",
                "loops",
                "bench barrier",
                "launch -n 2 -- true",
            ] {
                let output = run(args, name, value);
                let line = format!("tautline: {name} \"{shown}\": not Unicode, expected UTF-8\n");
                assert_eq!(String::from_utf8_lossy(&output.stderr), line, "{args}");
                assert_eq!(output.status.code(), Some(2), "{args}");
            }
        }
    }
}

#[test]
fn blanks_around_a_value_are_ignored() {
    let blanks = |value: &str| {
        [
            format!("{value} "),
            format!("\t{value}"),
            format!(" {value}\r\n"),
        ]
    };
    let of_run = |name: &str, value: &str| -> Value {
        let args = "nqueens 6 --baseline none --json --workers 1";
        let output = run(args, &format!("TAUTLINE_{name}"), value.as_bytes());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && errors.is_empty(),
            "{name} {value:?}: {errors}"
        );
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    };
    for (name, value, key) in [
        ("PLACES", "2", "/places"),
        ("RANDOM_STEALS", "3", "/config/random_steals"),
        ("LIFELINES", "ring", "/config/lifelines"),
        ("STEAL", "7", "/config/steal"),
        ("GRAIN", "9", "/config/grain"),
        ("FAIRNESS", "never", "/config/fairness"),
        ("SEED", "5", "/config/seed"),
        ("NO_PIN", "1", "/config/pinned"),
        ("DEADLINE", "1000", "/stopped"),
        ("WARN", "1", "/stopped"),
        ("TIMES", "0", "/stopped"),
        ("STALLED", "ignore", "/stopped"),
        ("PHASER_DEGREE", "4", "/stopped"),
    ] {
        let expected = of_run(name, value);
        for value in blanks(value) {
            let found = of_run(name, &value);
            assert_eq!(
                found.pointer(key),
                expected.pointer(key),
                "{name} {value:?}"
            );
            assert!(found.pointer(key).is_some(), "{key}");
        }
    }
    // An option wins all the same, and an error names the variable.
    let output = run(
        "nqueens 6 --workers 1 --baseline none --json",
        "TAUTLINE_WORKERS",
        b"2\r",
    );
    let ran: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(ran["workers"], 1);
    let output = run(
        "nqueens 6 --baseline none --json",
        "TAUTLINE_WORKERS",
        b" 2\r",
    );
    let ran: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(ran["workers"], 2);
    let output = run("nqueens 6", "TAUTLINE_WORKERS", b"two\r");
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(
        line.starts_with("tautline: --workers two: ")
            && line.ends_with(" (from TAUTLINE_WORKERS)\n"),
        "{line}"
    );
}

#[test]
fn variables_of_ranks_are_read_alike() {
    for value in [&b"\xff"[..], b"1\xff"] {
        let output = run("nqueens 6", "TAUTLINE_RANK", value);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            line.starts_with("tautline: TAUTLINE_RANK \"") && line.contains("not Unicode"),
            "{line}"
        );
    }
    let output = run(
        "nqueens 6 --baseline none",
        "OMPI_COMM_WORLD_SIZE",
        b" 1 \r",
    );
    assert!(output.status.success());
    let mut command = tautline("nqueens 6");
    command
        .env("OMPI_COMM_WORLD_SIZE", " 2\r")
        .env("OMPI_COMM_WORLD_RANK", "\t1 ");
    let output = command.output().expect("it starts");
    let line = String::from_utf8_lossy(&output.stderr);
    if !cfg!(feature = "mpi") {
        assert!(
            line.starts_with(
                "tautline: OMPI_COMM_WORLD_RANK 1: this build cannot join the 2 ranks"
            ),
            "{line}"
        );
    }
}
