//! `tautline simulate team`, from outside.

mod launched;
mod started;

use launched::{Launched, computes_on, signal, until};
use serde_json::Value;
use started::tautline;
use std::collections::BTreeSet;
use std::process::Output;
use std::thread;

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
        ("--rounds 3", "--check: missing"),
        (
            "--check --rounds 0",
            "--rounds 0: expected a whole number from 1 to 10000",
        ),
        ("--check --ranks 2", "not together with --ranks"),
        ("--check --far-ns 1us", "not together with --far-ns"),
        ("--check barrier", "not together with [PROGRAM]"),
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

/// The result of a comparison with real ranks.
fn checked(args: &str) -> Value {
    let output = run(&format!("--check --json {args}"));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*talk), (Some(0), ""), "{args}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn calls_of_real_ranks_are_predicted_with_the_costs_of_others() {
    let seen = checked("--rounds 3 --calls 20");
    let rows = seen["rows"].as_array().expect("rows");
    let at = |ranks: u64| rows.iter().filter(move |row| row["ranks"] == ranks);
    for (ranks, calls) in [(2, 7), (4, 7)] {
        if processors() < ranks as usize {
            let [row] = &at(ranks).collect::<Vec<_>>()[..] else {
                panic!("one row: {seen}");
            };
            let judged = (&row["needs_processors"], &row["within"]);
            assert_eq!(judged, (&ranks.into(), &Value::Null), "{row}");
            continue;
        }
        assert_eq!(at(ranks).count(), calls, "{seen}");
        for row in at(ranks) {
            let (real, model) = (&row["measured_ns"], number(row, "predicted_ns"));
            let [least, median, most] = ["min", "median", "max"].map(|key| number(real, key));
            assert!(0.0 < least && least <= median && median <= most, "{row}");
            let percent = 100.0 * (model / median - 1.0);
            assert!((percent - number(row, "difference_percent")).abs() < 1e-6);
            assert_eq!(row["within"], percent.abs() <= 15.0, "{row}");
        }
    }
    if processors() < 2 {
        return assert_eq!(seen["costs"], Value::Null);
    }
    let calibrations = seen["calibrations"].as_array().expect("two");
    let calibrating = calibrations.iter().map(|of| (&of["call"], &of["ranks"]));
    let calibrating: Vec<_> = calibrating.collect();
    let expected = [("barrier", 2), ("all-to-all", 4)];
    let expected = expected.map(|(call, ranks)| (Value::from(call), Value::from(ranks)));
    let fits = |(_, ranks): &&(Value, Value)| ranks.as_u64() <= Some(processors() as u64);
    let fitting = expected.iter().filter(fits);
    let fitting: Vec<_> = fitting.map(|(call, ranks)| (call, ranks)).collect();
    assert_eq!(calibrating, fitting, "{seen}");
    let median = |at: usize| number(&calibrations[at]["measured_ns"], "median");
    let (costs, sum) = (&seen["costs"], median(0));
    assert_eq!(number(costs, "sum_ns"), sum.round(), "{seen}");
    match calibrations.len() {
        1 => assert_eq!(costs["serve_ns"], Value::Null),
        _ => {
            let serve = ((median(1) - sum) / 2.0).clamp(0.0, sum).round();
            assert_eq!(number(costs, "serve_ns"), serve, "{seen}");
            assert_eq!(number(costs, "latency_ns"), sum.round() - serve);
        }
    }
    // Messages one after the other, of 2 ranks.
    for (call, messages) in [
        ("all-reduce", 1.0),
        ("broadcast", 2.0),
        ("all-gather", 2.0),
        ("scan", 2.0),
        ("gather, then scatter", 4.0),
        ("all-to-all", 1.0),
    ] {
        let row = at(2).find(|row| row["call"] == call).expect("a row");
        let predicted = messages * sum.round();
        assert_eq!(number(row, "predicted_ns"), predicted, "{row}");
    }
    // A call that gives a cost is not compared.
    let is_calibrating = |row: &Value| calibrating.contains(&(&row["call"], &row["ranks"]));
    assert!(!rows.iter().any(is_calibrating), "{seen}");
}

#[test]
fn more_ranks_than_processors_make_all_calls_with_right_results() {
    for ranks in [2, 4] {
        let output = run(&format!("--check --as-ranks {ranks} --calls 5"));
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*talk), (Some(0), ""));
        let times: Vec<f64> = serde_json::from_slice(&output.stdout).expect("numbers");
        assert_eq!(times.len(), 8);
        assert!(times.iter().all(|ns| *ns > 0.0), "{times:?}");
    }
}

#[test]
fn a_launched_rank_starts_no_ranks() {
    let command = &mut tautline("launch -n 2 --");
    let own = env!("CARGO_BIN_EXE_tautline");
    command.args([own, "simulate", "team", "--check"]);
    let output = command.output().expect("the command starts");
    let lines = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{lines}");
    let expected = "--check: this is rank 0 of 2 that were launched";
    assert!(lines.contains(expected), "{lines}");
}

#[test]
fn an_interrupt_keeps_the_complete_rounds() {
    if processors() < 2 {
        let rows = checked("--rounds 1")["rows"].clone();
        return assert_eq!(rows.as_array().map(Vec::len), Some(2), "{rows}");
    }
    let run = Launched::of(tautline(
        "simulate team --check --json --rounds 10000 --calls 5",
    ));
    // Up to two launches are a round.
    let mut seen = BTreeSet::new();
    until("rounds do not begin", || {
        seen.extend(run.ranks());
        seen.len() > 2
    });
    signal("-INT", run.id());
    let output = run.end();
    assert_eq!(output.status.code(), Some(130));
    let seen: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let ended = (&seen["complete"], &seen["stopped"]);
    assert_eq!(ended, (&false.into(), &"interrupted".into()));
    let rounds = number(&seen, "rounds");
    assert!((1.0..10_000.0).contains(&rounds), "{seen}");
    assert!(seen["rows"].as_array().is_some_and(|rows| rows.len() > 6));
}
