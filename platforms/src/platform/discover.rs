//! The tree of a machine, from the processors behind each of its parts.
//!
//! # Algorithm
//! Every socket, memory node, cache and core is a set of processors. The sets are taken from the largest
//! to the smallest; each stands below the smallest one before that contains it. Equal sets are one place.
//! A set that crosses one of those before is left out: no tree has both.
#![forbid(unsafe_code)]

use super::Platform;
use std::collections::BTreeSet;
use tautline_core::hierarchy::{DEPTH_MAX, Kind, Spec};
use tautline_node::Machine;
use tautline_node::machine::Cpu;

/// What a set of processors is, the word that counts most first.
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

/// A set of processors, and all that has exactly these.
struct Set {
    part: Part,
    label: String,
    bytes: u64,
    cpus: BTreeSet<usize>,
}

/// The tree over the processors `used`, which are some of the allowed ones.
pub(super) fn platform(machine: &Machine, used: &[usize]) -> Platform {
    let used: BTreeSet<usize> = used.iter().copied().collect();
    let mut tree: Vec<(Set, Vec<usize>)> = Vec::new();
    for set in sets(machine, &used) {
        insert(&mut tree, set);
    }
    for &cpu in &used {
        let at = innermost(&tree, |set| set.cpus.contains(&cpu)).0;
        // Tables that contradict each other: a processor without a part of its own beside those with one.
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

/// All sets, the largest first; among equals the outer part first.
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

/// Puts a set in its place, where all that are there are as large or larger.
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
    // One level is kept for processors without a part of their own.
    if level + 2 >= DEPTH_MAX || tree[at].1.iter().any(crossed) {
        return;
    }
    let new = tree.len();
    tree[at].1.push(new);
    tree.push((set, Vec::new()));
}

/// The smallest set, and its level, that `holds`, as all above it do.
fn innermost(tree: &[(Set, Vec<usize>)], holds: impl Fn(&Set) -> bool) -> (usize, u32) {
    let (mut at, mut level) = (0, 0);
    while let Some(&below) = tree[at].1.iter().find(|&&child| holds(&tree[child].0)) {
        (at, level) = (below, level + 1);
    }
    (at, level)
}

/// Two parts with the same processors are one place: of the kind that counts most, with both names.
fn merge(into: &mut Set, set: Set) {
    let gap = if into.label.is_empty() { "" } else { " + " };
    if !into.label.split(" + ").any(|known| known == set.label) {
        into.label = format!("{}{gap}{}", into.label, set.label);
    }
    if set.part < into.part {
        // A core holds nothing itself: its largest cache says how much is there.
        into.bytes = if set.bytes > 0 { set.bytes } else { into.bytes };
        into.part = set.part;
    } else if into.bytes == 0 || (set.part == into.part && set.part == Part::Cache) {
        into.bytes = into.bytes.max(set.bytes);
    }
}

/// The place and all below it, left to right by their first processors; workers get theirs in this order.
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
