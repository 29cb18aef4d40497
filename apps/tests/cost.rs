//! The overhead of the balancer, in instructions; and its model against real runs.

use serde_json::Value;
use std::process::Command;
use tautline::balance::PlaceId;
use tautline::prelude::*;
use tautline_cli::uts::{Counts, Tree, Uts, named};

/// Set in a process of its own: what to do, and with which tree.
const INSIDE: &str = "TEST_OF_TAUTLINE_COUNTED";

/// Counts the nodes of a tree, by the bag alone or through the balancer.
fn work(how: &str, name: &str) {
    let known = named::find(name).expect("a tree with a name");
    let tree = |_| Tree::new(known.params).expect("named trees are valid");
    let mut bag = Uts::root(&tree(PlaceId(0)));
    let counts = match how {
        "alone" => {
            let (shared, mut counts) = (tree(PlaceId(0)), Counts::default());
            while bag.process(usize::MAX, &shared) > 0 {}
            bag.submit(&mut counts);
            counts
        }
        _ => {
            let rt = Runtime::builder()
                .places(1)
                .workers(1)
                .pinned(false)
                .build()
                .unwrap();
            let balancer = rt.balancer();
            let run = balancer.run(bag, tree, Counts::default());
            run.expect("a thread starts").output
        }
    };
    assert_eq!(counts.nodes, known.nodes);
}

/// Instructions of a process of this program that does so, as callgrind counts them.
fn instructions(how: &str, name: &str) -> i64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("this program has a path"))
        .args(["--ignored", "--exact", "the_balancer_adds_few_instructions"])
        .env(INSIDE, format!("{how} {name}"))
        .output()
        .expect("valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let counted = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, counted) = counted.unwrap_or_else(|| panic!("{said}"));
    counted.trim().parse().expect("a number")
}

/// A place of one worker takes at most 1.5 % more instructions than the bag alone, by the
/// difference of two trees, which leaves out what a process takes to start. Callgrind hides the
/// processor's instructions for hashes, so a node takes more of them than it does outside: the
/// balancer may therefore add no more than three to each, which is 1.5 % of a node of 200.
#[test]
#[ignore = "cargo ci deep: callgrind, minutes"]
fn the_balancer_adds_few_instructions() {
    if let Ok(asked) = std::env::var(INSIDE) {
        let (how, name) = asked.split_once(' ').expect("two words");
        return work(how, name);
    }
    let [small, large] = ["D7", "D9"];
    let of = |how| instructions(how, large) - instructions(how, small);
    let (alone, balanced) = (of("alone"), of("balanced"));
    let nodes = |name| named::find(name).unwrap().nodes as f64;
    let added = balanced as f64 / alone as f64 - 1.0;
    let walked = nodes(large) - nodes(small);
    let (each, more) = (alone as f64 / walked, (balanced - alone) as f64 / walked);
    println!("COST added={added:.5} instructions/node={each:.0}, {more:+.2} by the balancer");
    assert!(more <= 3.0, "{more} instructions a node");
    assert!(added <= 0.015, "{added}");
}

/// The calibrated model against this machine: the model's time is within a tenth of the time of
/// real runs, medians of rounds, where there is a processor for each worker.
#[test]
#[ignore = "cargo ci deep: measures this machine"]
fn the_model_is_near_a_real_run() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let output = command.args(["simulate", "--calibrate", "--check", "D11", "--json"]);
    let output = output.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let check: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    println!("MODEL-REAL {check:#}");
    let rows = check["rows"].as_array().expect("rows");
    let ratio = |row: &Value| row["model_real"].as_f64().expect("a number");
    assert!(!rows.is_empty());
    for row in rows {
        assert!((0.9..1.1).contains(&ratio(row)), "{row}");
        let encodings = row["encoding"].as_array().expect("a list");
        let is_ranks = row["arrangement"] == "2 ranks x 1";
        assert_eq!(encodings.len(), if is_ranks { 4 } else { 0 }, "{row}");
    }
}
