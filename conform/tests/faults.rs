//! Each suite finds its faults, and the table in the documentation has all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use tautline_conform::faults::{Broken, all};

/// The number of times that faults of fences are judged again: where other programs have the
/// processors, the two threads of the suite seldom run at once.
const TRIES: usize = 5;

/// Fences alone, since they are judged by threads that run at once; then the others at the same
/// time, since some are found by a wait that does not end.
#[test]
fn each_suite_finds_its_faults() {
    let (fences, others) = all(pin)
        .into_iter()
        .partition(|broken| broken.suite == "fences");
    let fences: Vec<Broken> = fences;
    let mut missed: Vec<String> = fences.into_iter().filter_map(missed_by).collect();
    for _ in 0..TRIES {
        let again = all(pin).into_iter().filter(|broken| {
            let name = format!("{broken:?}");
            missed.contains(&name)
        });
        missed = again.filter_map(missed_by).collect();
    }
    thread::scope(|scope| {
        let others: Vec<Broken> = others;
        let judged = others
            .into_iter()
            .map(|broken| scope.spawn(|| missed_by(broken)));
        let judged: Vec<_> = judged.collect();
        let ended = judged.into_iter().map(|judge| judge.join());
        missed.extend(ended.filter_map(|judge| judge.expect("the suite has a thread of its own")));
    });
    assert_eq!(missed, [""; 0], "faults that no suite finds");
}

/// Binds the calling thread to one of two processors.
fn pin(number: usize) {
    let all = core_affinity::get_core_ids().expect("the processors of this thread");
    core_affinity::set_for_current(all[number % all.len()]);
}

/// Returns the name of an implementation whose fault is not found.
fn missed_by(broken: Broken) -> Option<String> {
    let name = format!("{broken:?}");
    (!broken.is_found()).then_some(name)
}

#[test]
fn each_suite_has_faults() {
    let judged: BTreeSet<_> = all(|_| ()).iter().map(|broken| broken.suite).collect();
    let items = include_str!("../API.txt").lines();
    let items = items.filter_map(|item| item.strip_prefix("tautline_conform::"));
    // Functions, but for modules and what is no suite.
    let is_suite = |item: &&str| {
        let is_small = item.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_small && !["faults", "links", "configurations"].contains(item)
    };
    let suites: BTreeSet<_> = items.filter(is_suite).collect();
    assert_eq!(judged, suites);
}

#[test]
fn the_table_lists_all_faults() {
    let mut rows = BTreeMap::<_, Vec<String>>::new();
    for broken in all(|_| ()) {
        let row = rows.entry((broken.capability, broken.suite)).or_default();
        row.push(format!("`{}`", broken.fault));
    }
    let expected = rows.into_iter().map(|((capability, suite), faults)| {
        let capability = match capability.contains(' ') {
            true => capability.to_owned(),
            false => format!("`{capability}`"),
        };
        format!("//! | {capability} | `{suite}` | {} |", faults.join(", "))
    });
    let table = include_str!("../src/faults/mod.rs").lines();
    let table = table.filter(|line| line.starts_with("//! | ") && line.contains("` |"));
    let (mut expected, mut table) = (expected.collect::<Vec<_>>(), table.collect::<Vec<_>>());
    expected.sort();
    table.sort();
    assert_eq!(table, expected);
}
