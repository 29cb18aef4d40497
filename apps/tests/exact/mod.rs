//! The same results in one process and over ranks.

use crate::scratch::Scratch;
use serde_json::Value;
use std::fs;

/// Keys of results that depend on the machine, or on how the work was divided.
const DIVIDED: [&str; 15] = [
    "bytes",
    "config",
    "doubts",
    "messages",
    "peak_memory_kib",
    "per_place",
    "per_worker",
    "places",
    "processors",
    "ranks",
    "seconds",
    "statistics",
    "smaller_places",
    "threads",
    "workers",
];

/// Further ones of a search that cuts off what cannot be shorter than the shortest tour so far. Of
/// several best tours any is found; their length is compared.
const CUT_OFF: [&str; 3] = ["improvements", "tasks", "tour"];

/// Checks that small instances of all applications have the results that one process has. `alone`
/// runs an application with its arguments, `ranked` runs it as that many ranks; both return the
/// object that it prints.
pub(crate) fn results_are_exact(
    alone: impl Fn(&str) -> Value,
    ranked: impl Fn(&str, u64) -> Value,
) {
    let recorded = Scratch::new("recorded.csv");
    fs::write(&recorded.0, "parent,ns\n,1000\n0,2000\n0,3000\n1,4000\n").expect("room for a file");
    let of_file = format!("recorded {}", recorded.0.display());
    let balanced = [
        "uts -t 1 -b 4 -d 6",
        "uts -t 0 -b 50 -q 0.12 -m 8 --split 1",
        "uts -t 1 -b 4 -d 6 --split 2",
        "nqueens 8",
        "pentomino 3x20",
        "tsp --cities 25",
        "bc --scale 6",
        "synthetic --depth 5",
        &of_file,
    ];
    let with_messages = [
        "stencil --width 40 --height 30 --steps 50 --band 4",
        "stencil --width 5 --height 3 --steps 7",
        "smith-waterman --length 300x200 --tile 32",
        "sw --length 150x250 --tile 16 --distribution cyclic",
        "gups --log2 10",
        "bfs --scale 7 --keys 3",
        "heat --size 20",
    ];
    let balanced = balanced.map(|args| format!("{args} --baseline none"));
    let with_messages = with_messages.map(|args| format!("{args} --check"));
    for application in balanced.iter().chain(&with_messages) {
        let alone = alone(&format!("{application} --workers 1"));
        let is_rate = |key: &str| key.ends_with("_per_s");
        let is_cut_off = |key: &str| application.starts_with("tsp") && CUT_OFF.contains(&key);
        // The engine of hashes is that which each process measures as the fastest.
        let is_measured =
            |key: &str| is_rate(key) || key.starts_with("teps_") || ["gups", "hash"].contains(&key);
        let is_compared =
            |key: &str| !is_measured(key) && !DIVIDED.contains(&key) && !is_cut_off(key);
        let compared = alone.as_object().expect("an object").iter();
        let compared: Vec<_> = compared.filter(|(key, _)| is_compared(key)).collect();
        for ranks in 1..=4_u64 {
            for (places, workers) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let shape = format!("--places {places} --workers {workers}");
                let found = ranked(&format!("{application} {shape}"), ranks);
                let shape = format!("{ranks} ranks, {shape}");
                for (key, value) in &compared {
                    assert_eq!(&found[key], *value, "{application} {shape}: {key}");
                }
                assert_eq!(found["ranks"], ranks, "{application} {shape}");
                // Of balanced work alone.
                let all = found["per_place"].as_array();
                assert!(
                    all.is_none_or(|all| all.len() as u64 == ranks * places),
                    "{application} {shape}"
                );
                let has_places = alone["per_place"].is_array();
                assert_eq!(all.is_some(), has_places, "{application} {shape}");
            }
        }
    }
}
