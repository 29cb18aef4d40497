//! The output of a run.

use serde_json::Value;
use std::process::Command;

/// Runs the command, which must succeed and print one object.
fn json(args: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let output = command.args(args.split(' ')).output().expect("it starts");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args}: {talk}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value}: a number"))
}

/// Saraswat, acceptance fact 8: every place's shares of its time, state by state, make the whole.
#[test]
fn shares_of_time_make_the_whole() {
    for places in [1, 3] {
        let args = format!("uts D9 --places {places} --workers 2 --baseline none --json --quiet");
        let run = json(&args);
        let of_places = run["per_place"].as_array().expect("a list");
        assert_eq!(of_places.len(), places);
        for place in of_places {
            let shares = place["time"].as_object().expect("shares by state");
            let states: Vec<_> = shares.keys().map(String::as_str).collect();
            assert_eq!(
                states,
                ["computing", "distributing", "idle", "probing", "stealing"]
            );
            let sum: f64 = shares.values().map(number).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum}: {place}");
        }
        let computing = |p: &Value| number(&p["time"]["computing"]);
        assert!(of_places.iter().map(computing).sum::<f64>() > 0.0);
    }
}

/// Saraswat, acceptance fact 9: the efficiency is the rate of one processor over that of a
/// sequential program, which was measured.
#[test]
fn efficiency_is_printed() {
    let run = json("uts D9 --places 2 --workers 1 --json --quiet");
    let each = number(&run["nodes_per_s"]) / number(&run["processors"]);
    let sequential = number(&run["sequential_nodes_per_s"]);
    let efficiency = number(&run["efficiency"]);
    assert!(sequential > 0.0 && efficiency > 0.0, "{run}");
    assert!(
        (efficiency - each / sequential).abs() < 1e-6 * efficiency,
        "{run}"
    );
    assert!(run["sequential_tree"].is_string(), "{run}");
}

/// Chatterjee, acceptance fact 27: the account of each place. *Work* is `computing`; *overhead*,
/// for others, `distributing` and `probing`; *search* `stealing`; *fails* are the requests without
/// loot, of which each search has one, the last.
#[test]
fn a_search_is_accounted_for() {
    let run = json("uts T3 --places 2 --workers 1 -w 2 --baseline none --json --quiet");
    let places = run["per_place"].as_array().expect("a list");
    for place in places {
        let time = |state: &str| number(&place["time"][state]);
        let (work, search) = (time("computing"), time("stealing"));
        let overhead = time("distributing") + time("probing");
        assert!(work > 0.0 && overhead > 0.0 && search > 0.0, "{place}");
        let steals = |way: &str, what: &str| place[way][what].as_u64().expect("a number");
        let fails = ["random", "lifeline"]
            .map(|way| steals(way, "asked").checked_sub(steals(way, "answered")));
        // Before the end a place has tried twice at random without success.
        assert!(fails[0] >= Some(2), "{place}");
        // Of the others a request along a lifeline is recorded before the start, and not counted.
        let is_home = place["place"] == 0;
        assert!(!is_home || fails[1].is_some(), "{place}");
    }
}
