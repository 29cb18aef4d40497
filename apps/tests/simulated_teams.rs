//! `tautline simulate team`, from outside.

mod launched;
mod started;

use launched::{Launched, computes_on, signal};
use serde_json::Value;
use started::tautline;
use std::process::Output;

fn run(args: &str) -> Output {
    let mut command = tautline(&format!("simulate team {args}"));
    command.output().expect("the command starts")
}

fn rows(args: &str) -> Vec<Value> {
    let output = run(&format!("{args} --json"));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*talk), (Some(0), ""), "{args}");
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(result["simulated"], true);
    result["rows"].as_array().expect("rows").clone()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"))
}

#[test]
fn each_program_is_beside_its_bound() {
    let at_16 = rows("--ranks 16 --ideal --tasks 4");
    // Ten calls, a storm, a phase on each of four nodes.
    assert_eq!(at_16.len(), 15, "{at_16:?}");
    for row in &at_16 {
        let most = match row["program"] == "phase" {
            true => 1.2,
            false => 1.0,
        };
        assert!(number(row, "ratio") <= most, "{row}");
        assert!(number(row, "messages") > 0.0, "{row}");
    }
    // Calls of few ranks are left out where they are many.
    assert_eq!(rows("--ranks 17 --ideal --tasks 4").len(), 14);
}

#[test]
fn counts_of_barriers_are_exact_at_each_number_of_ranks() {
    let all = rows("barrier --ranks 10..10000..x10");
    assert_eq!(all.len(), 4);
    for (row, ranks) in all.iter().zip([10, 100, 1_000, 10_000]) {
        assert_eq!(row["ranks"], ranks);
        assert_eq!(row["messages"], 2 * (ranks - 1));
        assert!(number(row, "ratio") > 0.0, "{row}");
    }
    let slow = rows("barrier --ranks 1000 --far-ns 50us --machine cluster");
    assert!(number(&slow[0], "time_us") > 2.0 * number(&all[2], "time_us"));
    assert_eq!(rows("barrier --ranks 1000 --seed 1"), [all[2].clone()]);
}

#[test]
fn a_storm_ends_and_reports_no_more_than_its_quiet_periods() {
    let [storm] = &rows("storm --ranks 64 --radix 4")[..] else {
        panic!("one row");
    };
    assert!(
        number(storm, "reports") <= number(storm, "quiet"),
        "{storm}"
    );
    assert!(number(storm, "activities") > 64.0, "{storm}");
}

#[test]
fn a_table_has_a_line_for_each_row() {
    let output = run("barrier,all-reduce --ranks 64,1024");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success());
    // The line of the machine, an empty one, the head.
    assert_eq!(text.lines().count(), 3 + 4, "{text}");
    assert!(
        text.contains("bound, us") && text.contains("of one\n"),
        "{text}"
    );
}

#[test]
fn bad_requests_get_one_line_with_what_is_allowed() {
    for (args, expected) in [
        ("barier", "PROGRAM barier: unknown, did you mean barrier?"),
        ("xyzzy", "expected one of barrier, broadcast, "),
        (
            "barrier --ranks 0",
            "--ranks 0: expected whole numbers from 1 to 131072",
        ),
        (
            "all-to-all --ranks 2048",
            "--ranks 2048: at most 1024 for all-to-all",
        ),
        (
            "storm --ranks 100000",
            "--ranks 100000: at most 16384 for storm",
        ),
        (
            "--radix 1",
            "--radix 1: expected a whole number from 2 to 1024",
        ),
        (
            "--set task_ns=4",
            "--set task_ns=4: messages of a team have no such cost, expected one of ",
        ),
        ("--machine frontera", "--machine frontera"),
        (
            "--tasks 129",
            "--tasks 129: expected a whole number from 1 to 128",
        ),
        ("--skew soon", "--skew soon: expected a time from 0 to "),
    ] {
        let output = run(args);
        let line = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{args}: {line}");
        assert!(line.contains(expected), "{args}: {line}");
        assert_eq!(line.lines().count(), 1, "{args}: {line}");
        assert!(output.stdout.is_empty(), "{args}");
    }
}

#[test]
fn an_interrupt_keeps_the_complete_rows() {
    let ranks = ["131072"; 16].join(",");
    let command = tautline(&format!("simulate team barrier --json --ranks {ranks}"));
    let run = Launched::of(command);
    computes_on(run.id());
    signal("-INT", run.id());
    let output = run.end();
    assert_eq!(output.status.code(), Some(130));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(
        (&seen["complete"], &seen["stopped"]),
        (&false.into(), &"interrupted".into())
    );
    let rows = seen["rows"].as_array().expect("rows");
    assert!(!rows.is_empty() && rows.len() < 16, "{seen}");
}
