//! A few steps of each protocol, as text: see [`tautline_verify::explore::play`].

use std::fs;
use std::path::{Path, PathBuf};
use tautline_core::glb::Steal;
use tautline_core::lifeline::Graph;
use tautline_verify::explore::{
    Activities, Checked, Collective, Kind, Search, Tokens, Tree, check, play,
};

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    folder.join(name).with_extension("txt")
}

fn checked<C: Checked>(name: &str, protocol: C) {
    if let Err(why) = check(protocol, &file(name)) {
        panic!("{why}");
    }
}

fn activities(places: u32, failures: u32) -> Activities {
    Activities {
        failures,
        ..Activities::new(places, places - 1)
    }
}

fn allreduce() -> Collective {
    Collective {
        kind: Kind::AllReduce,
        ranks: 3,
        radix: 2,
        fault: None,
    }
}

fn search() -> Search {
    Search {
        places: 2,
        graph: Graph::Ring,
        steal: Steal::Half,
        tree: Tree::new("(()()()())"),
    }
}

fn tokens() -> Tokens {
    Tokens {
        ranks: 2,
        radix: 1,
        passes: 0,
        rounds: 2,
        one_round: false,
    }
}

#[test]
fn scenarios() {
    checked("finish-away", activities(2, 0));
    checked("finish-cancelled", activities(3, 1));
    checked("finish-lost", activities(3, 0));
    checked("search", search());
    checked("allreduce", allreduce());
    checked("quiesce", tokens());
}

/// Returns what is wrong with the scenario where `right` is replaced by `wrong`.
fn why<C: Checked>(name: &str, protocol: C, right: &str, wrong: &str) -> String {
    let scenario = fs::read_to_string(file(name)).expect("a scenario");
    assert!(scenario.contains(right), "{scenario}");
    match play(protocol, &scenario.replacen(right, wrong, 1)) {
        Ok(played) => played.differences().expect("differences"),
        Err(why) => why,
    }
}

#[test]
fn other_actions_are_found() {
    let why_away = why("finish-away", activities(2, 0), "(1, -1)", "(1, -2)");
    let start =
        "line 6, after `1: End`: expected (-), and what came (+)\n  - send 0: Control(Report(";
    assert!(why_away.starts_with(start), "{why_away}");
    assert!(
        why_away.contains("\n  + send 0: Control(Report("),
        "{why_away}"
    );

    let cancelled = "    effect Cancelled(FinishId { root: 0, number: 0 })\n";
    let why = why("finish-cancelled", activities(3, 1), cancelled, "");
    let came = "line 7, after `1: Cancel`: expected (-), and what came (+)\n";
    assert!(why.starts_with(came), "{why}");
    assert!(
        !why.contains("  - effect") && why.contains("  + effect"),
        "{why}"
    );
}

#[test]
fn other_results_are_found() {
    let right = "    effect [0, 1, 2]\n";
    let why = why("allreduce", allreduce(), right, "    effect [0, 2, 1]\n");
    assert!(why.contains("after `2 -> 0: Text(Up`"), "{why}");
    assert!(why.contains("\n  - effect [0, 2, 1]\n"), "{why}");
    assert!(why.contains("\n  + effect [0, 1, 2]\n"), "{why}");
}

#[test]
fn steps_that_are_not_possible_are_found() {
    let why_search = why("search", search(), "1 -> 0: Request", "1 -> 0: Answer");
    let start = "line 16: expected `1 -> 0: Answer`, but the steps possible are [";
    assert!(why_search.starts_with(start), "{why_search}");
    let possible = "\"1 -> 0: Request { lifeline: true }\"";
    assert!(why_search.contains(possible), "{why_search}");

    let spawn = "0: Spawn(FinishId { root: 0, number: 0 }, 1)";
    let why_lost = why("finish-lost", activities(3, 0), spawn, "0: Spawn");
    assert!(
        why_lost.starts_with("line 2: `0: Spawn` is any of ["),
        "{why_lost}"
    );

    let why_tokens = why("quiesce", tokens(), "0 -> 1: Token\n", "    effect Quiet\n");
    assert_eq!(why_tokens, "line 2: an action without a step");
}
