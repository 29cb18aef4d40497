//! The tree of memories, and the victims of each worker, as tables and as data.

use crate::command::number::{bytes, ranges};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline::Platform;
use tautline::hierarchy::{Domain, Hierarchy};
use tautline_core::hierarchy::Group;

/// Of more workers only some are shown.
const SHOWN: u32 = 4;

/// Formats the domains of the tree, indented below their parents, with the processors of their
/// workers.
pub(super) fn table(platform: &Platform) -> String {
    let mut text = String::from("\nmemories, numbered breadth first; workers from left to right\n");
    below(platform, platform.hierarchy().root(), &mut text);
    text
}

fn below(platform: &Platform, domain: Domain, text: &mut String) {
    let tree = platform.hierarchy();
    let indent = 2 * tree.level(domain) as usize;
    let name = format!("{:indent$}{domain} {}", "", tree.kind(domain));
    let mut about = match tree.label(domain) {
        "" => platform.info().to_owned(),
        label => label.to_owned(),
    };
    if tree.bytes(domain) > 0 {
        let _ = write!(about, ", {}", bytes(tree.bytes(domain)));
    }
    let mark = if tree.is_tuning(domain) {
        ", tuning"
    } else {
        ""
    };
    let workers = workers(tree, domain);
    let on = match tree.is_leaf(domain) {
        true => format!(" on CPUs {}", ranges(&cpus(platform, domain))),
        false => String::new(),
    };
    let _ = writeln!(text, "  {name:<18}  {workers}{on}   {about}{mark}");
    for child in tree.children(domain) {
        below(platform, child, text);
    }
}

fn workers(tree: &Hierarchy, domain: Domain) -> String {
    let workers = tree.subtree(domain);
    match workers.len() {
        1 => format!("w{}", workers.start),
        _ => format!("w{}-{}", workers.start, workers.end - 1),
    }
}

fn cpus(platform: &Platform, domain: Domain) -> Vec<usize> {
    let workers = platform.hierarchy().subtree(domain);
    workers.filter_map(|worker| platform.cpu(worker)).collect()
}

/// Formats the victims of some workers, the nearest first: the common domain, and its other workers
/// in order.
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
    let domain = |domain: Domain| {
        let workers = tree.subtree(domain);
        json!({
            "domain": domain.0,
            "parent": tree.parent(domain).map(|parent| parent.0),
            "level": tree.level(domain),
            "kind": tree.kind(domain).name(),
            "name": tree.label(domain),
            "bytes": tree.bytes(domain),
            "tuning": tree.is_tuning(domain),
            "workers": [workers.start, workers.end - 1],
        })
    };
    let group = |group: &Group| {
        let ranges = group.ranges.iter().filter(|range| !range.is_empty());
        let ranges: Vec<_> = ranges.map(|range| [range.start, range.end - 1]).collect();
        json!({"domain": group.domain.0, "workers": ranges})
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
        "domains": tree.domains().map(domain).collect::<Vec<_>>(),
        "workers": (0..tree.workers()).map(worker).collect::<Vec<_>>(),
    })
}
