//! What the balancer adds to the work, in instructions; and its model against real runs.

use serde_json::Value;
use std::process::Command;
use tautline::glb::PlaceId;
use tautline::prelude::*;
use tautline::uts::{Counts, Tree, Uts, named};

/// Set in a process of its own: what to do, and with which tree.
const INSIDE: &str = "TAUTLINE_TEST_COUNTED";

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
            let glb = Glb::new().places(1).workers(1).pinned(false);
            let run = glb.run(bag, tree, Counts::default());
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

/// A place of one worker takes at most 1.5 % more instructions than the bag alone, by the difference of
/// two trees, which leaves out what a process takes to start. Callgrind hides the processor's
/// instructions for hashes, so a node takes more of them than it does outside: the balancer may therefore
/// add no more than three to each, which is 1.5 % of a node of 200.
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

/// Runs the command, which must print one object.
fn json(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let output = command.args(words.split(' ')).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// The calibrated model against this machine: the model's time is within a factor of 1.6 of the time of
/// real runs, the median of nine, where there is a processor for each worker. Processors that slow
/// each other down are not in the model.
#[test]
#[ignore = "cargo ci deep: measures this machine"]
fn the_model_is_near_a_real_run() {
    let mut calibrate = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let calibrated = calibrate.args(["simulate", "--calibrate"]).output();
    let calibrated = calibrated.expect("it starts");
    assert!(calibrated.status.success());
    let file = std::env::temp_dir().join(format!("tautline-{}.toml", std::process::id()));
    std::fs::write(&file, &calibrated.stdout).expect("a file can be written");
    let number = |value: &Value| value.as_f64().expect("a number");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut ratios = Vec::new();
    for (places, workers) in [(1, 1), (1, 2), (2, 1)] {
        let of = format!("T1 --places {places} --workers {workers} --json");
        let once = |_| number(&json(&format!("uts {of} --quiet --baseline none"))["seconds"]);
        let mut real: Vec<f64> = (0..9).map(once).collect();
        real.sort_by(f64::total_cmp);
        let real = real[real.len() / 2];
        let run = json(&format!("simulate uts {of} --machine {}", file.display()));
        let model = number(&run["virtual_seconds"]);
        let ratio = model / real;
        println!("MODEL-REAL {places}x{workers} real={real:.4} model={model:.4} ratio={ratio:.3}");
        if places * workers <= processors {
            ratios.push(ratio);
        }
    }
    std::fs::remove_file(&file).expect("it is there");
    let near = |ratio: &f64| (1.0 / 1.6..1.6).contains(ratio);
    assert!(!ratios.is_empty() && ratios.iter().all(near), "{ratios:?}");
}
