//! Cores, caches and memory nodes from the tables below /sys and /proc.
#![forbid(unsafe_code)]

use super::{Cache, Cpu, Node};
use std::fs::DirEntry;
use std::path::Path;

/// Returns the text of a table without what ends it; `None` if it cannot be read.
pub(super) fn text(folder: &Path, name: &str) -> Option<String> {
    let mut text = std::fs::read_to_string(folder.join(name)).ok()?;
    // Kunpeng's tables of processors end with a NUL after the line.
    let end = |last: char| last == '\0' || last.is_whitespace();
    text.truncate(text.trim_end_matches(end).len());
    Some(text)
}

/// Returns the processor's name, which architectures store under different headings.
pub(super) fn model(root: &Path) -> Option<String> {
    let info = text(root, "proc/cpuinfo").unwrap_or_default();
    let value = |wanted| values(&info, wanted).next().map(str::to_owned);
    let named = value("model name")
        .or_else(|| value("cpu"))
        .or_else(|| value("Model"))
        .or_else(|| text(root, "proc/device-tree/model"));
    named.or_else(|| arm(&info)).or_else(|| mainframe(&info))
}

/// Returns the values under a heading, of which each processor may have one.
fn values<'a>(info: &'a str, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    info.lines().filter_map(move |line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == wanted && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// The makers of Arm processors, by their number in `MIDR_EL1` (Arm Architecture Reference Manual,
/// D24.2.122).
const IMPLEMENTERS: [(&str, &str); 9] = [
    ("0x41", "Arm"),
    ("0x42", "Broadcom"),
    ("0x43", "Cavium"),
    ("0x46", "Fujitsu"),
    ("0x48", "HiSilicon"),
    ("0x4e", "NVIDIA"),
    ("0x51", "Qualcomm"),
    ("0x61", "Apple"),
    ("0xc0", "Ampere"),
];

/// The most kinds of cores that a name has, whatever the table has.
const MOST_PARTS: usize = 4;

/// Returns the name of an Arm processor, of which the table has the numbers of its maker and of its
/// parts, one for each kind of core.
fn arm(info: &str) -> Option<String> {
    let maker = values(info, "CPU implementer").next()?;
    let mut parts: Vec<&str> = Vec::new();
    for part in values(info, "CPU part") {
        if parts.len() < MOST_PARTS && !parts.contains(&part) {
            parts.push(part);
        }
    }
    let part = match &parts[..] {
        [] => return None,
        [part] => format!("part {part}"),
        parts => format!("parts {}", parts.join(", ")),
    };
    let known = IMPLEMENTERS.iter().find(|(number, _)| *number == maker);
    Some(match known {
        Some((_, name)) => format!("{name} {part}"),
        None => format!("Arm implementer {maker} {part}"),
    })
}

/// Returns the name of a mainframe's processor: each has a line that ends with `machine = 2817`.
fn mainframe(info: &str) -> Option<String> {
    let line = info.lines().find(|line| line.starts_with("processor "));
    let (_, machine) = line?.rsplit_once("machine = ")?;
    Some(format!("IBM machine {}", machine.trim()))
}

/// Returns the number of processors that the system runs; 0 if unknown.
pub(super) fn online(root: &Path) -> usize {
    text(root, "sys/devices/system/cpu/online").map_or(0, |line| list(&line).len())
}

/// The name of a table of processors, and its form. Linux before 2.6.25 has masks alone.
type Table = (&'static str, fn(&str) -> Vec<usize>);

const SIBLINGS: [Table; 4] = [
    ("core_cpus_list", list),
    ("thread_siblings_list", list),
    ("core_cpus", mask),
    ("thread_siblings", mask),
];
const SHARED: [Table; 2] = [("shared_cpu_list", list), ("shared_cpu_map", mask)];
const OF_NODE: [Table; 2] = [("cpulist", list), ("cpumap", mask)];

/// Returns the processors in the first of the tables that can be read.
fn table(folder: &Path, tables: &[Table]) -> Option<Vec<usize>> {
    let read = |(name, form): &Table| text(folder, name).map(|text| form(&text));
    tables.iter().find_map(read)
}

/// More hardware threads than a core has anywhere: a table with more is damaged.
const MOST_THREADS: usize = 64;

/// Returns the hardware threads of a processor's core.
fn siblings(root: &Path, id: usize) -> Option<Vec<usize>> {
    let topology = |id| root.join(format!("sys/devices/system/cpu/cpu{id}/topology"));
    let mut siblings = table(&topology(id), &SIBLINGS)?;
    // A table that does not name its own processor is damaged, too.
    if !siblings.contains(&id) || siblings.len() > MOST_THREADS {
        return None;
    }
    // The two cores of a Bulldozer module are listed as siblings, with ids of their own.
    if let Some(core) = text(&topology(id), "core_id") {
        siblings.retain(|&other| text(&topology(other), "core_id").is_none_or(|of| of == core));
    }
    Some(siblings)
}

/// A processor whose core no table names.
const UNKNOWN: usize = usize::MAX;

/// Returns the processors, and those whose core no table names: each of them counts as a core.
pub(super) fn cpus(root: &Path, allowed: &[usize], nodes: &[Node]) -> (Vec<Cpu>, Vec<usize>) {
    let mut cpus: Vec<Cpu> = Vec::with_capacity(allowed.len());
    for &id in allowed {
        let topology = root.join(format!("sys/devices/system/cpu/cpu{id}/topology"));
        let siblings = siblings(root, id).unwrap_or_default();
        let node = nodes.iter().find(|node| node.cpus.contains(&id));
        // -1 where the system does not know.
        let package = text(&topology, "physical_package_id");
        cpus.push(Cpu {
            id,
            thread: 0,
            core: siblings.iter().copied().min().unwrap_or(UNKNOWN),
            node: node.map(|node| node.id),
            package: package.and_then(|line| line.trim().parse().ok()),
        });
    }
    let without = |cpu: &&mut Cpu| cpu.core == UNKNOWN;
    let mut unknown = Vec::new();
    for cpu in cpus.iter_mut().filter(without) {
        cpu.core = cpu.id;
        unknown.push(cpu.id);
    }
    count_threads(&mut cpus);
    (cpus, unknown)
}

/// Gives each processor its position among those of its core.
pub(super) fn count_threads(cpus: &mut [Cpu]) {
    for at in 0..cpus.len() {
        let core = cpus[at].core;
        cpus[at].thread = cpus[..at].iter().filter(|cpu| cpu.core == core).count();
    }
}

pub(super) fn caches(root: &Path, allowed: &[usize]) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    for id in allowed {
        // No processor has more than a few caches.
        for index in 0..16 {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{id}/cache/index{index}"));
            let Some(cache) = cache(&folder, allowed) else {
                continue;
            };
            // Every processor that shares a cache lists it.
            if !caches.contains(&cache) {
                insert(&mut caches, cache, |cache| cache.level as usize);
            }
        }
    }
    caches
}

/// Inserts an item into a list in the order of `key`, after its equals. Tables are nearly in order,
/// and sorts would be compiled for each type.
pub(super) fn insert<T>(list: &mut Vec<T>, item: T, key: impl Fn(&T) -> usize) {
    let at = list.partition_point(|known| key(known) <= key(&item));
    list.insert(at, item);
}

fn cache(folder: &Path, allowed: &[usize]) -> Option<Cache> {
    let cpus = table(folder, &SHARED)?;
    Some(Cache {
        level: text(folder, "level")?.trim().parse().ok()?,
        kind: text(folder, "type")?.trim().to_owned(),
        bytes: text(folder, "size").map_or(0, |size| bytes(size.trim())),
        cpus: cpus.into_iter().filter(|id| allowed.contains(id)).collect(),
    })
}

fn bytes(size: &str) -> u64 {
    let digits = size.trim_end_matches(|unit: char| !unit.is_ascii_digit());
    let shift = match &size[digits.len()..] {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => 0,
    };
    digits.parse().map_or(0, |count: u64| count << shift)
}

pub(super) fn nodes(root: &Path, allowed: &[usize]) -> Vec<Node> {
    let Ok(folder) = std::fs::read_dir(root.join("sys/devices/system/node")) else {
        return Vec::new();
    };
    let mut nodes = Vec::new();
    for entry in folder.flatten() {
        let node = node(&entry, allowed).filter(|node| !node.cpus.is_empty());
        if let Some(node) = node {
            insert(&mut nodes, node, |node| node.id);
        }
    }
    // Firmware that puts a processor in several nodes knows none of them.
    let of = |cpu| nodes.iter().filter(|node| node.cpus.contains(cpu)).count();
    if allowed.iter().any(|cpu| of(cpu) > 1) {
        nodes.clear();
    }
    nodes
}

fn node(entry: &DirEntry, allowed: &[usize]) -> Option<Node> {
    let name = entry.file_name();
    let id = name.to_str()?.strip_prefix("node")?.parse().ok()?;
    let cpus = table(&entry.path(), &OF_NODE)?;
    Some(Node {
        id,
        bytes: text(&entry.path(), "meminfo").map_or(0, |info| memory(&info)),
        cpus: cpus.into_iter().filter(|id| allowed.contains(id)).collect(),
    })
}

fn memory(info: &str) -> u64 {
    let total = info.lines().find(|line| line.contains("MemTotal:"));
    total
        .and_then(|line| line.split_whitespace().rev().nth(1)?.parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes << 10)
}

/// More processors than any system has: a table with more is damaged.
const MOST: usize = 1 << 16;

/// Returns the numbers of a list such as `0-3,8`; unreadable parts are skipped.
fn list(line: &str) -> Vec<usize> {
    line.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: usize = first.parse().ok()?;
            let last: usize = last.parse().ok()?;
            (last < MOST).then_some(first..=last)
        })
        .flatten()
        .take(MOST)
        .collect()
}

/// Returns the numbers of the bits in a mask such as `00000001,0000000f`, of 32 bits a word, the
/// last of which has the bits from 0; unreadable words are skipped.
fn mask(line: &str) -> Vec<usize> {
    let words = line.trim().rsplit(',').take(MOST / 32).enumerate();
    let words = words.filter_map(|(at, word)| Some((at, u32::from_str_radix(word, 16).ok()?)));
    let bits = words.flat_map(|(at, word)| {
        let set = (0..32).filter(move |bit| word >> bit & 1 == 1);
        set.map(move |bit| at * 32 + bit)
    });
    bits.collect()
}
