//! The tree of memories, and the victims of each worker, as tables and as data.

use crate::command::number::{bytes, ranges};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::Platform;
use tautline::hierarchy::{Domain, Group, Hierarchy};

/// Of more workers only some are shown.
const SHOWN: u32 = 4;

/// Formats the places of the tree, indented below their parents, with the processors of their workers.
pub(super) fn table(platform: &Platform) -> String {
    let mut text = String::from("\nmemories, numbered breadth first; workers from left to right\n");
    below(platform, platform.hierarchy().root(), &mut text);
    text
}

fn below(platform: &Platform, place: Domain, text: &mut String) {
    let tree = platform.hierarchy();
    let indent = 2 * tree.level(place) as usize;
    let name = format!("{:indent$}{place} {}", "", tree.kind(place));
    let mut about = match tree.label(place) {
        "" => platform.info().to_owned(),
        label => label.to_owned(),
    };
    if tree.bytes(place) > 0 {
        let _ = write!(about, ", {}", bytes(tree.bytes(place)));
    }
    let mark = if tree.is_tuning(place) {
        ", tuning"
    } else {
        ""
    };
    let workers = workers(tree, place);
    let on = match tree.is_leaf(place) {
        true => format!(" on CPUs {}", ranges(&cpus(platform, place))),
        false => String::new(),
    };
    let _ = writeln!(text, "  {name:<18}  {workers}{on}   {about}{mark}");
    for child in tree.children(place) {
        below(platform, child, text);
    }
}

fn workers(tree: &Hierarchy, place: Domain) -> String {
    let workers = tree.subtree(place);
    match workers.len() {
        1 => format!("w{}", workers.start),
        _ => format!("w{}-{}", workers.start, workers.end - 1),
    }
}

fn cpus(platform: &Platform, place: Domain) -> Vec<usize> {
    let workers = platform.hierarchy().subtree(place);
    workers.filter_map(|worker| platform.cpu(worker)).collect()
}

/// Formats the victims of some workers, the nearest first: the common place, and its other workers in order.
pub(super) fn victims(platform: &Platform) -> String {
    let tree = platform.hierarchy();
    let mut text = String::from("\nvictims, the nearest first\n");
    let shown = tree.workers().min(SHOWN);
    for worker in 0..shown {
        let groups: Vec<String> = groups(tree, worker)
            .iter()
            .map(|group| {
                let workers: Vec<usize> = group.workers().map(|w| w as usize).collect();
                format!("{}: w{}", group.domain, ranges(&workers).replace(' ', " w"))
            })
            .collect();
        let groups = match groups.is_empty() {
            true => "none".to_owned(),
            false => groups.join("   "),
        };
        let _ = writeln!(text, "  w{worker:<4}  {groups}");
    }
    if tree.workers() > shown {
        let _ = writeln!(text, "  …      of all {} with --json", tree.workers());
    }
    text
}

fn groups(tree: &Hierarchy, worker: u32) -> Vec<Group> {
    let mut victims = tree.victims(worker);
    std::iter::from_fn(|| victims.next_group()).collect()
}

/// Returns the tree as data. Ranges are pairs of the first and the last.
pub(super) fn json(platform: &Platform) -> Value {
    let tree = platform.hierarchy();
    let place = |place: Domain| {
        let workers = tree.subtree(place);
        json!({
            "place": place.0,
            "parent": tree.parent(place).map(|parent| parent.0),
            "level": tree.level(place),
            "kind": tree.kind(place).name(),
            "name": tree.label(place),
            "bytes": tree.bytes(place),
            "tuning": tree.is_tuning(place),
            "workers": [workers.start, workers.end - 1],
        })
    };
    let group = |group: &Group| {
        let ranges = group.ranges.iter().filter(|range| !range.is_empty());
        let ranges: Vec<_> = ranges.map(|range| [range.start, range.end - 1]).collect();
        json!({"place": group.domain.0, "workers": ranges})
    };
    let worker = |worker: u32| {
        let groups = groups(tree, worker);
        json!({
            "worker": worker,
            "cpu": platform.cpu(worker),
            "leaf": tree.leaf_of(worker).0,
            "victims": groups.iter().map(group).collect::<Vec<_>>(),
        })
    };
    json!({
        "places": tree.domains().map(place).collect::<Vec<_>>(),
        "workers": (0..tree.workers()).map(worker).collect::<Vec<_>>(),
    })
}
