//! The tree of a machine, derived from the processors of each of its parts.
//!
//! # Algorithm
//! Every socket, memory node, cache and core is a set of processors. The sets are processed from
//! the largest to the smallest; each is a child of the smallest previous one that contains it.
//! Equal sets are one place. A set that partly overlaps a previous one is omitted: no tree has
//! both.
#![forbid(unsafe_code)]

use super::Platform;
use crate::process::order::distinct;
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
#[derive(Clone)]
struct Set {
    part: Part,
    label: String,
    bytes: u64,
    /// In order, each once.
    cpus: Vec<usize>,
}

impl Set {
    fn has(&self, cpu: &usize) -> bool {
        self.cpus.binary_search(cpu).is_ok()
    }
}

/// Returns the tree over the processors `used`, which are some of the allowed ones.
pub(super) fn platform(machine: &Machine, used: &[usize]) -> Platform {
    let used = distinct(used);
    let mut tree: Vec<(Set, Vec<usize>)> = Vec::new();
    for set in sets(machine, &used) {
        insert(&mut tree, set);
    }
    for &cpu in &used {
        let at = innermost(&tree, |set| set.has(&cpu)).0;
        // Contradictory tables: processors with and without a part of their own.
        if !tree[at].1.is_empty() {
            let cpus = vec![cpu];
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
fn sets(machine: &Machine, used: &[usize]) -> Vec<Set> {
    let is_used = |cpu: &usize| used.binary_search(cpu).is_ok();
    let set = |part, label: String, bytes, cpus: &[usize]| {
        let cpus: Vec<usize> = cpus.iter().copied().filter(is_used).collect();
        Set {
            part,
            label,
            bytes,
            cpus: distinct(&cpus),
        }
    };
    let all = machine.allowed();
    let memory = machine.nodes().iter().map(|node| node.bytes).sum();
    let root = set(Part::Memory, String::new(), memory, used);
    let mut sets = vec![root];
    let mut grouped = |part, name: &str, key: &dyn Fn(&Cpu) -> Option<usize>| {
        let numbers: Vec<usize> = all.iter().filter_map(key).collect();
        for number in distinct(&numbers) {
            let own = all.iter().filter(|cpu| key(cpu) == Some(number));
            let own: Vec<usize> = own.map(|cpu| cpu.id).collect();
            let label = format!("{name} {number}");
            sets.push(set(part, label, 0, &own));
        }
    };
    grouped(Part::Socket, "socket", &|cpu| cpu.package);
    grouped(Part::Core, "core", &|cpu| Some(cpu.core));
    for node in machine.nodes() {
        let label = format!("node {}", node.id);
        sets.push(set(Part::Memory, label, node.bytes, &node.cpus));
    }
    for cache in machine
        .caches()
        .iter()
        .rev()
        .filter(|cache| cache.kind != "Instruction")
    {
        let label = format!("L{}", cache.level);
        sets.push(set(Part::Cache, label, cache.bytes, &cache.cpus));
    }
    sets.retain(|set| !set.cpus.is_empty());
    // The root stays in front: none is larger.
    let outer = |part| match part {
        Part::Socket => 0,
        Part::Memory => 1,
        Part::Cache => 2,
        Part::Core => 3,
    };
    let key = |(at, set): (usize, &Set)| (used.len() - set.cpus.len(), outer(set.part), at);
    let mut order: Vec<(usize, usize, usize)> = sets.iter().enumerate().map(key).collect();
    order[1..].sort_unstable();
    order.into_iter().map(|(.., at)| sets[at].clone()).collect()
}

/// Inserts a set; all previous ones are as large or larger.
fn insert(tree: &mut Vec<(Set, Vec<usize>)>, set: Set) {
    if tree.is_empty() {
        tree.push((set, Vec::new()));
        return;
    }
    let (at, level) = innermost(tree, |known| set.cpus.iter().all(|cpu| known.has(cpu)));
    let crossed = |&child: &usize| set.cpus.iter().any(|cpu| tree[child].0.has(cpu));
    if tree[at].0.cpus == set.cpus {
        merge(&mut tree[at].0, set);
        return;
    }
    // One level is reserved for processors without a part of their own.
    if level + 2 >= DEPTH_MAX || tree[at].1.iter().any(crossed) {
        return;
    }
    // Left to right by their first processors.
    let new = tree.len();
    let before = |&child: &usize| tree[child].0.cpus.first() < set.cpus.first();
    let left = tree[at].1.partition_point(before);
    tree[at].1.insert(left, new);
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

/// Merges two parts with the same processors into one place: of the kind that takes precedence,
/// with both names.
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

/// Adds the place and all below it, left to right; workers are numbered in this order.
fn spec(tree: &[(Set, Vec<usize>)], at: usize, cpus: &mut Vec<usize>) -> Spec {
    let (set, below) = &tree[at];
    let spec = Spec::new(set.part.kind())
        .label(set.label.as_str())
        .bytes(set.bytes);
    if below.is_empty() {
        cpus.extend(&set.cpus);
        return spec.workers(set.cpus.len() as u32);
    }
    below.iter().fold(spec, |spec, &child| {
        spec.child(self::spec(tree, child, cpus))
    })
}
