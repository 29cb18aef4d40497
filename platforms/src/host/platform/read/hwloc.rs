//! Topologies as `lstopo --of xml` writes them, versions 1 to 3 of hwloc.
//!
//! Version 1 nests everything; from version 2 on a memory node, possibly within a memory-side
//! cache, is a sibling of its processors, with their set as an attribute, and there is a type for
//! each level of caches. Other objects, distances, attributes of memories and kinds of processors
//! are ignored.
#![forbid(unsafe_code)]

use super::{Mistake, shown, xml};
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};
use tautline_node::Machine;
use tautline_node::machine::{self, Cache, Cpu};

/// The outermost element.
pub(super) const ROOT: &str = "topology";
/// More processors than any system has.
const CPU_MAX: usize = (1 << 20) - 1;
/// The maximum number of processors of a machine.
const CPUS_MAX: usize = 1 << 14;

/// The parts read so far.
#[derive(Default)]
struct Reading {
    model: Option<String>,
    cpus: BTreeMap<usize, Cpu>,
    caches: Vec<Cache>,
    nodes: Vec<machine::Node>,
    packages: usize,
}

pub(super) fn read(text: &str) -> Result<Machine, Mistake> {
    let document = xml::parse(text)?;
    let root = document.root_element();
    let name = root.tag_name().name();
    if name != ROOT {
        let message = format!("element {}: {ROOT} is the outermost one", shown(name));
        return Err(Mistake::at(xml::at(root), message));
    }
    xml::read(root, "version", version)?;
    let mut objects = objects(root);
    let whole = objects.next().ok_or_else(|| {
        Mistake::at(
            xml::at(root),
            "0 objects in topology: 1, the machine, with all others in it",
        )
    })?;
    if let Some(second) = objects.next() {
        let message = "2 objects in topology: 1, the machine, with all others in it";
        return Err(Mistake::at(xml::at(second), message));
    }
    let mut reading = Reading::default();
    reading.object(whole, None)?;
    reading.machine(whole)
}

fn version(value: &str) -> Result<(), String> {
    match value.split('.').next() {
        Some("1" | "2" | "3") => Ok(()),
        _ => Err(format!("version {}: 1, 2 or 3", shown(value))),
    }
}

fn objects<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(|child| child.has_tag_name("object"))
}

impl Reading {
    /// Reads an object in the package, and its children; returns its processors.
    fn object(
        &mut self,
        node: Node<'_, '_>,
        package: Option<usize>,
    ) -> Result<BTreeSet<usize>, Mistake> {
        let kind = node.attribute("type").ok_or_else(|| {
            Mistake::at(
                xml::at(node),
                "object without a type: Machine, Package, Core, PU, …",
            )
        })?;
        self.model_in(node);
        if kind == "PU" {
            return self.processor(node, package);
        }
        let package = match kind {
            "Package" | "Socket" => {
                self.packages += 1;
                Some(xml::read(node, "os_index", index)?.unwrap_or(self.packages - 1))
            }
            _ => package,
        };
        let mut cpus = BTreeSet::new();
        for object in objects(node) {
            cpus.extend(self.object(object, package)?);
        }
        check_set(node, &cpus)?;
        match kind {
            "Core" => self.core(&cpus),
            "NUMANode" => self.memory(node)?,
            "Cache" => self.cache(node, &cpus)?,
            _ if kind.starts_with('L') && kind.ends_with("Cache") => self.cache(node, &cpus)?,
            _ => {}
        }
        Ok(cpus)
    }

    fn processor(
        &mut self,
        node: Node<'_, '_>,
        package: Option<usize>,
    ) -> Result<BTreeSet<usize>, Mistake> {
        let id = xml::read(node, "os_index", index)?
            .ok_or_else(|| Mistake::at(xml::at(node), "PU without os_index: its number"))?;
        if let Some((at, value)) = xml::attribute(node, "cpuset") {
            let set = cpuset("cpuset", value).map_err(|message| Mistake::at(at, message))?;
            if set != BTreeSet::from([id]) {
                let message = format!("cpuset {}: that of PU {id} alone", shown(value));
                return Err(Mistake::at(at, message));
            }
        }
        let cpu = Cpu {
            id,
            thread: 0,
            core: id,
            node: None,
            package,
        };
        if self.cpus.insert(id, cpu).is_some() {
            let message = format!("os_index {id}: there is a PU with this number already");
            return Err(Mistake::at(xml::at(node), message));
        }
        if self.cpus.len() > CPUS_MAX {
            let message = format!("objects of type PU: at most {CPUS_MAX}");
            return Err(Mistake::at(xml::at(node), message));
        }
        Ok(BTreeSet::from([id]))
    }

    fn core(&mut self, cpus: &BTreeSet<usize>) {
        let Some(&core) = cpus.first() else { return };
        for id in cpus {
            if let Some(cpu) = self.cpus.get_mut(id) {
                cpu.core = core;
            }
        }
    }

    fn memory(&mut self, node: Node<'_, '_>) -> Result<(), Mistake> {
        let at = xml::at(node);
        let id = xml::read(node, "os_index", index)?
            .ok_or_else(|| Mistake::at(at, "NUMANode without os_index: its number"))?;
        let cpus = xml::read(node, "cpuset", |value| cpuset("cpuset", value))?
            .ok_or_else(|| Mistake::at(at, "NUMANode without cpuset: the processors near it"))?;
        let bytes = xml::read(node, "local_memory", size)?.unwrap_or(0);
        self.nodes.push(machine::Node {
            id,
            bytes,
            cpus: cpus.into_iter().collect(),
        });
        Ok(())
    }

    fn cache(&mut self, node: Node<'_, '_>, cpus: &BTreeSet<usize>) -> Result<(), Mistake> {
        let level = xml::read(node, "depth", |value| {
            let level = value.parse().ok().filter(|level| (1..=9).contains(level));
            level.ok_or_else(|| format!("depth {}: the level of a cache, 1 to 9", shown(value)))
        })?;
        let level = level
            .ok_or_else(|| Mistake::at(xml::at(node), "cache without depth: its level, 1 to 9"))?;
        let kind = xml::read(node, "cache_type", |value| match value {
            "0" => Ok("Unified"),
            "1" => Ok("Data"),
            "2" => Ok("Instruction"),
            _ => Err(format!("cache_type {}: 0, 1 or 2", shown(value))),
        })?;
        self.caches.push(Cache {
            level,
            kind: kind.unwrap_or("Unified").to_owned(),
            bytes: xml::read(node, "cache_size", size)?.unwrap_or(0),
            cpus: cpus.iter().copied().collect(),
        });
        Ok(())
    }

    /// Returns the first name of a processor that an object contains.
    fn model_in(&mut self, node: Node<'_, '_>) {
        let infos = node.children().filter(|child| child.has_tag_name("info"));
        let mut models = infos.filter(|info| info.attribute("name") == Some("CPUModel"));
        let model = models.find_map(|info| info.attribute("value"));
        let told = model.map(str::trim).filter(|model| !model.is_empty());
        self.model = self.model.take().or(told.map(str::to_owned));
    }

    /// Returns the part of the machine that may be used.
    fn machine(mut self, whole: Node<'_, '_>) -> Result<Machine, Mistake> {
        if self.cpus.is_empty() {
            return Err(Mistake::at(
                xml::at(whole),
                "0 objects of type PU: at least 1",
            ));
        }
        if let Some((at, value)) = xml::attribute(whole, "allowed_cpuset") {
            let allowed = cpuset("allowed_cpuset", value);
            let allowed = allowed.map_err(|message| Mistake::at(at, message))?;
            self.cpus.retain(|id, _| allowed.contains(id));
            if self.cpus.is_empty() {
                let message = format!("allowed_cpuset {}: some PU of this machine", shown(value));
                return Err(Mistake::at(at, message));
            }
        }
        let known = &self.cpus;
        let keep = |cpus: &mut Vec<usize>| {
            cpus.retain(|id| known.contains_key(id));
            !cpus.is_empty()
        };
        self.caches.retain_mut(|cache| keep(&mut cache.cpus));
        self.nodes.retain_mut(|node| keep(&mut node.cpus));
        self.nodes.sort_by_key(|node| node.id);
        let mut cpus: Vec<Cpu> = self.cpus.into_values().collect();
        for cpu in &mut cpus {
            let node = self.nodes.iter().find(|node| node.cpus.contains(&cpu.id));
            cpu.node = node.map(|node| node.id);
        }
        Ok(Machine::described(
            self.model,
            cpus,
            self.caches,
            self.nodes,
        ))
    }
}

/// Refuses an object whose own set lacks processors of the objects in it.
fn check_set(node: Node<'_, '_>, cpus: &BTreeSet<usize>) -> Result<(), Mistake> {
    let Some((at, value)) = xml::attribute(node, "cpuset") else {
        return Ok(());
    };
    let set = cpuset("cpuset", value).map_err(|message| Mistake::at(at, message))?;
    match cpus.difference(&set).next() {
        None => Ok(()),
        Some(cpu) => {
            let message = format!("cpuset {}: with PU {cpu}, which is in it", shown(value));
            Err(Mistake::at(at, message))
        }
    }
}

fn index(value: &str) -> Result<usize, String> {
    let index = value.parse().ok().filter(|index| *index <= CPU_MAX);
    index.ok_or_else(|| format!("os_index {}: from 0 to {CPU_MAX}", shown(value)))
}

fn size(value: &str) -> Result<u64, String> {
    let refuse = |_| format!("size {}: a whole number of bytes", shown(value));
    value.parse().map_err(refuse)
}

/// Parses a set such as `0x000000ff,,0x1`: words of 32 bits, the highest first, empty for 0.
fn cpuset(name: &str, value: &str) -> Result<BTreeSet<usize>, String> {
    let refuse = || {
        let form = "hexadecimal words of 32 bits, such as 0x0000000f,0xffffffff";
        format!("{name} {}: {form}", shown(value))
    };
    let words: Vec<&str> = value.split(',').collect();
    if words.len() > CPU_MAX / 32 {
        return Err(refuse());
    }
    let mut set = BTreeSet::new();
    for (position, word) in words.iter().rev().enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        // `from_str_radix` would accept a sign.
        let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bits = match word.is_empty() && words.len() > 1 {
            true => 0,
            false if !plain => return Err(refuse()),
            false => u32::from_str_radix(digits, 16).map_err(|_| refuse())?,
        };
        set.extend(
            (0..32)
                .filter(|bit| bits >> bit & 1 == 1)
                .map(|bit| position * 32 + bit),
        );
    }
    Ok(set)
}
