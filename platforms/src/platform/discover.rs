//! The tree of a machine, derived from the processors of each of its parts.
//!
//! # Algorithm
//! Every socket, memory node, cache and core is a set of processors. The sets are processed from the largest
//! to the smallest; each is a child of the smallest previous one that contains it. Equal sets are one place.
//! A set that partly overlaps a previous one is omitted: no tree has both.
#![forbid(unsafe_code)]

use super::Platform;
use std::collections::BTreeSet;
use tautline_core::hierarchy::{DEPTH_MAX, Kind, Spec};
use tautline_node::Machine;
use tautline_node::machine::Cpu;

/// The kind of a set of processors, in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Memory,
    Core,
    Cache,
    Socket,
}

impl Part {
    fn kind(self) -> Kind {
        match self {
            Self::Memory => Kind::Memory,
            Self::Core => Kind::Core,
            Self::Cache => Kind::Cache,
            Self::Socket => Kind::named("socket"),
        }
    }
}

/// A set of processors, and all parts that have exactly these.
struct Set {
    part: Part,
    label: String,
    bytes: u64,
    cpus: BTreeSet<usize>,
}

/// Returns the tree over the processors `used`, which are some of the allowed ones.
pub(super) fn platform(machine: &Machine, used: &[usize]) -> Platform {
    let used: BTreeSet<usize> = used.iter().copied().collect();
    let mut tree: Vec<(Set, Vec<usize>)> = Vec::new();
    for set in sets(machine, &used) {
        insert(&mut tree, set);
    }
    for &cpu in &used {
        let at = innermost(&tree, |set| set.cpus.contains(&cpu)).0;
        // Contradictory tables: a processor without a part of its own beside those with one.
        if !tree[at].1.is_empty() {
            let cpus = BTreeSet::from([cpu]);
            let label = format!("CPU {cpu}");
            let (part, bytes) = (Part::Core, 0);
            insert(
                &mut tree,
                Set {
                    part,
                    label,
                    bytes,
                    cpus,
                },
            );
        }
    }
    let mut cpus = Vec::new();
    let spec = spec(&tree, 0, &mut cpus);
    let hierarchy = spec
        .build()
        .expect("cores with processors, each in one place");
    Platform {
        info: machine.model().unwrap_or_default().to_owned(),
        hierarchy,
        cpus,
    }
}

/// Returns all sets, the largest first; among equals the outer part first.
fn sets(machine: &Machine, used: &BTreeSet<usize>) -> Vec<Set> {
    let set = |part, label: String, bytes, cpus: &mut dyn Iterator<Item = usize>| Set {
        part,
        label,
        bytes,
        cpus: cpus.filter(|cpu| used.contains(cpu)).collect(),
    };
    let all = machine.allowed();
    let memory = machine.nodes().iter().map(|node| node.bytes).sum();
    let root = set(
        Part::Memory,
        String::new(),
        memory,
        &mut used.iter().copied(),
    );
    let mut sets = vec![root];
    let mut grouped = |part, name: &str, key: &dyn Fn(&Cpu) -> Option<usize>| {
        let numbers: BTreeSet<usize> = all.iter().filter_map(key).collect();
        for number in numbers {
            let own = all.iter().filter(|cpu| key(cpu) == Some(number));
            let label = format!("{name} {number}");
            sets.push(set(part, label, 0, &mut own.map(|cpu| cpu.id)));
        }
    };
    grouped(Part::Socket, "socket", &|cpu| cpu.package);
    grouped(Part::Core, "core", &|cpu| Some(cpu.core));
    for node in machine.nodes() {
        let label = format!("node {}", node.id);
        sets.push(set(
            Part::Memory,
            label,
            node.bytes,
            &mut node.cpus.iter().copied(),
        ));
    }
    for cache in machine
        .caches()
        .iter()
        .rev()
        .filter(|cache| cache.kind != "Instruction")
    {
        let label = format!("L{}", cache.level);
        sets.push(set(
            Part::Cache,
            label,
            cache.bytes,
            &mut cache.cpus.iter().copied(),
        ));
    }
    sets.retain(|set| !set.cpus.is_empty());
    // The root stays in front: the sort is stable, and none is larger.
    let outer = |part| match part {
        Part::Socket => 0,
        Part::Memory => 1,
        Part::Cache => 2,
        Part::Core => 3,
    };
    sets[1..].sort_by_key(|set| (std::cmp::Reverse(set.cpus.len()), outer(set.part)));
    sets
}

/// Inserts a set; all previous ones are as large or larger.
fn insert(tree: &mut Vec<(Set, Vec<usize>)>, set: Set) {
    if tree.is_empty() {
        tree.push((set, Vec::new()));
        return;
    }
    let (at, level) = innermost(tree, |known| set.cpus.is_subset(&known.cpus));
    let crossed = |&child: &usize| !set.cpus.is_disjoint(&tree[child].0.cpus);
    if tree[at].0.cpus == set.cpus {
        merge(&mut tree[at].0, set);
        return;
    }
    // One level is reserved for processors without a part of their own.
    if level + 2 >= DEPTH_MAX || tree[at].1.iter().any(crossed) {
        return;
    }
    let new = tree.len();
    tree[at].1.push(new);
    tree.push((set, Vec::new()));
}

/// Returns the smallest set that `holds`, as all above it do, and its level.
fn innermost(tree: &[(Set, Vec<usize>)], holds: impl Fn(&Set) -> bool) -> (usize, u32) {
    let (mut at, mut level) = (0, 0);
    while let Some(&below) = tree[at].1.iter().find(|&&child| holds(&tree[child].0)) {
        (at, level) = (below, level + 1);
    }
    (at, level)
}

/// Merges two parts with the same processors into one place: of the kind that takes precedence, with both names.
fn merge(into: &mut Set, set: Set) {
    let gap = if into.label.is_empty() { "" } else { " + " };
    if !into.label.split(" + ").any(|known| known == set.label) {
        into.label = format!("{}{gap}{}", into.label, set.label);
    }
    if set.part < into.part {
        // A core has no memory itself: the size is that of its largest cache.
        into.bytes = if set.bytes > 0 { set.bytes } else { into.bytes };
        into.part = set.part;
    } else if into.bytes == 0 || (set.part == into.part && set.part == Part::Cache) {
        into.bytes = into.bytes.max(set.bytes);
    }
}

/// Adds the place and all below it, left to right by their first processors; workers are numbered in this order.
fn spec(tree: &[(Set, Vec<usize>)], at: usize, cpus: &mut Vec<usize>) -> Spec {
    let (set, below) = &tree[at];
    let spec = Spec::new(set.part.kind())
        .label(set.label.as_str())
        .bytes(set.bytes);
    let mut below = below.clone();
    below.sort_by_key(|&child| tree[child].0.cpus.first().copied());
    if below.is_empty() {
        cpus.extend(&set.cpus);
        return spec.workers(set.cpus.len() as u32);
    }
    below.into_iter().fold(spec, |spec, child| {
        spec.child(self::spec(tree, child, cpus))
    })
}
