//! Ranks that are lost, where that is tolerated, and ranks that are stopped; and what is known of
//! all ranks afterwards.
#![cfg(target_os = "linux")]

mod launched;
mod scratch;
mod started;

use launched::{ENDLESS, Launched, signal, state, text, until};
use scratch::Scratch;
use serde_json::{Value, json};
use started::tautline;
use std::process::Output;
use std::thread;
use std::time::Duration;

fn run(args: &str) -> Output {
    tautline(args).output().expect("the command starts")
}

fn object(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("one JSON object")
}

/// The others end with what they have found, in which each node is counted once.
#[test]
fn the_ranks_that_are_left_keep_what_they_have() {
    for (ranks, killed) in [(2, 1), (3, 1), (3, 2), (4, 2)] {
        let launched = Launched::start(&format!("{ENDLESS} {ranks} --json --on-loss partial"));
        let processes = launched.computes(ranks);
        signal("-KILL", &processes[killed]);
        let output = launched.end();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{errors}");
        let line = format!("rank {killed}: ended by signal 9 (SIGKILL)");
        assert!(
            errors.starts_with(&line) && errors.lines().count() == 1,
            "{errors}"
        );
        let found = object(&output.stdout);
        let keys = ["complete", "stopped", "ranks"].map(|key| &found[key]);
        assert_eq!(keys, [&json!(false), &json!("place lost"), &json!(ranks)]);
        let nodes = found["nodes"].as_u64().expect("a number");
        assert_eq!(found["tasks"].as_u64(), Some(nodes - 1));
        let places = found["per_place"].as_array().expect("a list");
        for (rank, place) in places.iter().enumerate() {
            assert_eq!(place["tasks"] == 0, rank == killed, "rank {rank}: {place}");
        }
    }
}

/// Without rank 0 there is no result.
#[test]
fn the_loss_of_rank_0_is_not_tolerated() {
    let launched = Launched::start(&format!("{ENDLESS} 3 --json --on-loss partial"));
    let processes = launched.computes(3);
    signal("-KILL", &processes[0]);
    let output = launched.end();
    let errors = text(&output.stderr);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(137), ""),
        "{errors}"
    );
    for rank in [1, 2] {
        // It notices the loss, or learns of it from the other one.
        let line = format!("rank {rank}: tautline: rank {rank}: ");
        let mut lines = errors.lines().filter(|found| found.starts_with(&line));
        let is_named = lines.any(|line| line.contains("rank 0 was lost"));
        assert!(is_named, "{errors}");
    }
}

#[test]
fn a_rank_that_stays_stopped_is_lost() {
    let program = env!("CARGO_BIN_EXE_tautline");
    let args = format!("launch --stop-limit 0.2 -n 3 -- {program} uts T1WL --baseline none");
    let launched = Launched::start(&args);
    let processes = launched.computes(3);
    signal("-STOP", &processes[1]);
    let output = launched.end();
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(137), "{errors}");
    assert_eq!(errors.lines().count(), 3, "{errors}");
    for line in [
        "rank 1: killed: it was stopped for 200ms",
        "rank 0: tautline: rank 0: ",
        "rank 2: tautline: rank 2: ",
    ] {
        let mut lines = errors.lines().filter(|found| found.starts_with(line));
        assert!(
            lines.next().is_some_and(|line| line.contains("rank 1")),
            "{errors}"
        );
    }
}

/// The time before it is continued does not count later.
#[test]
fn a_rank_that_is_continued_in_time_is_not_lost() {
    const LIMIT: Duration = Duration::from_secs(1);
    let program = env!("CARGO_BIN_EXE_tautline");
    let args = format!("launch --stop-limit 1 -n 2 -- {program} uts T1WL --baseline none");
    let launched = Launched::start(&args);
    let processes = launched.computes(2);
    signal("-STOP", &processes[1]);
    until("it is not stopped", || state(&processes[1]) == Some('T'));
    signal("-CONT", &processes[1]);
    until("it is not continued", || state(&processes[1]) != Some('T'));
    // A sleep, since nothing may happen in that time.
    thread::sleep(2 * LIMIT);
    signal("-INT", launched.id());
    let output = launched.end();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
}

#[test]
fn ranks_without_work_of_others_can_be_refused() {
    let output = run("uts T1WL --deadline 0.5 --baseline none --ranks 2 --require-steals");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for (args, code, line) in [
        // One task cannot be divided.
        (
            "nqueens 1 --baseline none --ranks 2 --require-steals",
            1,
            "rank 0: tautline: --require-steals: rank 1 got no work from others\n",
        ),
        (
            "nqueens 6 --require-steals",
            2,
            "tautline: --require-steals: needs --ranks of 2 or more\n",
        ),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(code));
        assert_eq!(text(&output.stderr), line);
    }
}

/// Rank 0 writes what the workers of all ranks have done, and counts what passed between the ranks.
#[test]
fn the_workers_of_all_ranks_are_known() {
    let [life, trace] = ["life.html", "trace.json"].map(Scratch::new);
    let files = format!("--life {} --trace {}", life.0.display(), trace.0.display());
    let shape = "--ranks 2 --places 2 --workers 2";
    let args = format!("uts T1WL --deadline 0.5 --baseline none --json {shape} {files}");
    let output = run(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found = object(&output.stdout);
    let places: Vec<_> = found["per_worker"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    let places: Vec<_> = places
        .iter()
        .map(|worker| worker["place"].as_u64())
        .collect();
    assert_eq!(places, [0, 0, 1, 1, 2, 2, 3, 3].map(Some));
    for key in ["messages", "bytes"] {
        assert!(found[key].as_u64() > Some(0), "{key}");
    }
    assert!(life.text().contains("aligned to"));
    let trace: Value = serde_json::from_str(&trace.text()).expect("the trace is whole");
    let events = trace["traceEvents"].as_array().expect("a list");
    let computing = |pid: u64| {
        let of = events.iter().filter(move |event| event["pid"] == pid);
        let spans = of.filter(|event| event["name"] == "computing" && event["ph"] == "X");
        spans.map(|span| span["ts"].as_f64().expect("microseconds"))
    };
    // On the clock of rank 0 all ranks compute in the half second of the run.
    for pid in 1..=4 {
        let (first, last) = (computing(pid).next(), computing(pid).next_back());
        assert!(
            first.is_some_and(|first| first < 1e6),
            "place {pid}: {first:?}"
        );
        assert!(last.is_some_and(|last| last < 2e6), "place {pid}: {last:?}");
    }
    let arrows = events.iter().filter(|event| event["name"] == "loot");
    let ends: Vec<_> = arrows
        .map(|event| event["pid"].as_u64().expect("a number"))
        .collect();
    let mut between = ends
        .chunks(2)
        .filter(|ends| (ends[0] <= 2) != (ends[1] <= 2));
    assert!(
        between.next().is_some(),
        "no arrow leads from rank to rank: {ends:?}"
    );
}
