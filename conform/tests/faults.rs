//! Each suite finds its faults, and the table in the documentation has all of them.

use std::collections::BTreeMap;
use std::thread;
use tautline_conform::faults::all;

/// At the same time, since some are found by a wait that does not end.
#[test]
fn each_suite_finds_its_faults() {
    let missed: Vec<String> = thread::scope(|scope| {
        let judged = all().into_iter().map(|broken| {
            let name = format!("{broken:?}");
            (name, scope.spawn(|| broken.is_found()))
        });
        let judged: Vec<_> = judged.collect();
        let missed = judged.into_iter().filter_map(|(name, judge)| {
            let is_found = judge.join().expect("the suite runs on another thread");
            (!is_found).then_some(name)
        });
        missed.collect()
    });
    assert_eq!(missed, [""; 0], "faults that no suite finds");
}

#[test]
fn the_table_lists_all_faults() {
    let mut rows = BTreeMap::<_, Vec<String>>::new();
    for broken in all() {
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
