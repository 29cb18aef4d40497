//! Discovery of the machine: processors, quota, cores, caches, memory nodes.
//!
//! Everything is read from the system's tables below a root that tests replace; a missing table
//! leaves its result empty and never fails. The mask that a launcher set is the upper bound: it is
//! never widened.

mod cgroup;
mod mask;
mod tree;

pub(crate) use mask::pin_worker;
pub use mask::{confine, pin, unpinned};

use std::path::Path;

/// A processor that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number in the system.
    pub id: usize,
    /// Its position among the hardware threads of its core, 0 for the first allowed one.
    pub thread: usize,
    /// The number of the first hardware thread of its core, allowed or not; its own if unknown.
    pub core: usize,
    /// The memory node it belongs to.
    pub node: Option<usize>,
    /// The package (socket) it is in.
    pub package: Option<usize>,
}

/// A cache that allowed processors share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size, 0 if unknown.
    pub bytes: u64,
    /// The allowed processors that share it.
    pub cpus: Vec<usize>,
}

/// A memory node with allowed processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the system.
    pub id: usize,
    /// Its memory, 0 if unknown.
    pub bytes: u64,
    /// Its allowed processors.
    pub cpus: Vec<usize>,
}

/// The assumptions about a machine where the system's tables are missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fallback {
    /// Each of these processors counts as a core.
    Cores(Vec<usize>),
    /// These processors share no cache.
    Caches(Vec<usize>),
    /// These processors belong to no memory node.
    Nodes(Vec<usize>),
    /// A malformed limit of the control group, with its text: it is ignored.
    Quota(String),
}

/// The part of a machine that this process may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    model: Option<String>,
    cpus: Vec<Cpu>,
    online: usize,
    quota: Option<f64>,
    caches: Vec<Cache>,
    nodes: Vec<Node>,
    fallbacks: Vec<Fallback>,
}

impl Machine {
    /// Reads this machine, as the calling thread may use it: on a pinned worker, as it may use it
    /// [unpinned].
    pub fn discover() -> Self {
        Self::read(Path::new("/"), &mask::allowed())
    }

    /// Reads the tables below `root`, for the processors `allowed`; for processor 0 if there are
    /// none.
    pub fn read(root: &Path, allowed: &[usize]) -> Self {
        let allowed = if allowed.is_empty() { &[0] } else { allowed };
        let nodes = tree::nodes(root, allowed);
        let caches = tree::caches(root, allowed);
        let (cpus, no_core) = tree::cpus(root, allowed, &nodes);
        let (quota, limits) = cgroup::quota(root);
        let without = |known: &dyn Fn(&usize) -> bool| -> Vec<usize> {
            allowed.iter().copied().filter(|cpu| !known(cpu)).collect()
        };
        let no_cache = without(&|cpu| caches.iter().any(|cache| cache.cpus.contains(cpu)));
        let no_node = without(&|cpu| nodes.iter().any(|node| node.cpus.contains(cpu)));
        let tables = [
            (no_core, Fallback::Cores as fn(Vec<usize>) -> Fallback),
            (no_cache, Fallback::Caches),
            (no_node, Fallback::Nodes),
        ];
        let missing = tables.into_iter().filter(|(cpus, _)| !cpus.is_empty());
        let missing = missing.map(|(cpus, fallback)| fallback(cpus));
        Self {
            model: tree::model(root),
            fallbacks: missing
                .chain(limits.into_iter().map(Fallback::Quota))
                .collect(),
            cpus,
            online: tree::online(root).max(allowed.len()),
            quota,
            caches,
            nodes,
        }
    }

    /// Creates a machine that another table describes: the name of its processor, the processors
    /// that may be used, their caches and memory nodes. Its quota is unknown. [`Cpu::thread`] is
    /// counted here, in the order of the numbers.
    ///
    /// # Panics
    /// No processor.
    pub fn described(
        model: Option<String>,
        cpus: Vec<Cpu>,
        caches: Vec<Cache>,
        nodes: Vec<Node>,
    ) -> Self {
        assert!(!cpus.is_empty(), "a machine without a processor");
        let mut machine = Self {
            model,
            online: cpus.len(),
            cpus: Vec::with_capacity(cpus.len()),
            quota: None,
            caches: Vec::with_capacity(caches.len()),
            nodes,
            fallbacks: Vec::new(),
        };
        for cpu in cpus {
            tree::insert(&mut machine.cpus, cpu, |cpu| cpu.id);
        }
        for cache in caches {
            tree::insert(&mut machine.caches, cache, |cache| cache.level as usize);
        }
        tree::count_threads(&mut machine.cpus);
        machine
    }

    /// Returns this machine as a process sees it that may use only those of its processors that are
    /// in `cpus`.
    ///
    /// ```
    /// use tautline_node::Machine;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// assert_eq!(machine.restricted(&[2, 3, 8]).cpus(), [2, 3]);
    /// ```
    ///
    /// # Panics
    /// None of `cpus` is allowed here.
    pub fn restricted(&self, cpus: &[usize]) -> Self {
        let of = |all: &[usize]| -> Vec<usize> {
            let all = all.iter().copied();
            all.filter(|cpu| cpus.contains(cpu)).collect()
        };
        let mut machine = self.clone();
        machine.cpus.retain(|cpu| cpus.contains(&cpu.id));
        assert!(!machine.cpus.is_empty(), "none of {cpus:?} is allowed");
        tree::count_threads(&mut machine.cpus);
        for node in &mut machine.nodes {
            node.cpus = of(&node.cpus);
        }
        machine.nodes.retain(|node| !node.cpus.is_empty());
        for cache in &mut machine.caches {
            cache.cpus = of(&cache.cpus);
        }
        machine.caches.retain(|cache| !cache.cpus.is_empty());
        let fallbacks = self.fallbacks.iter().map(|fallback| match fallback {
            Fallback::Cores(all) => Fallback::Cores(of(all)),
            Fallback::Caches(all) => Fallback::Caches(of(all)),
            Fallback::Nodes(all) => Fallback::Nodes(of(all)),
            Fallback::Quota(text) => Fallback::Quota(text.clone()),
        });
        let is_left = |fallback: &Fallback| match fallback {
            Fallback::Cores(all) | Fallback::Caches(all) | Fallback::Nodes(all) => !all.is_empty(),
            Fallback::Quota(_) => true,
        };
        machine.fallbacks = fallbacks.filter(is_left).collect();
        machine
    }

    /// Returns the processor's name.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the allowed processors, by number.
    pub fn allowed(&self) -> &[Cpu] {
        &self.cpus
    }

    /// Returns the number of processors, allowed or not; at least the allowed ones.
    pub fn online(&self) -> usize {
        self.online
    }

    /// Returns the processor time that the control group grants, in processors, if it sets a limit.
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }

    /// Whether the control group grants less time than the allowed processors have: other programs
    /// use them, too.
    ///
    /// ```
    /// use tautline_node::Machine;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1]);
    /// assert!(!machine.is_shared()); // no quota is known
    /// ```
    pub fn is_shared(&self) -> bool {
        self.quota
            .is_some_and(|quota| quota < self.cpus.len() as f64)
    }

    /// Returns the caches of the allowed processors, nearest first.
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// Returns the memory nodes of the allowed processors.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the assumptions where the system's tables are missing or damaged.
    pub fn fallbacks(&self) -> &[Fallback] {
        &self.fallbacks
    }

    /// Returns the number of cores to which the allowed processors belong.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.thread == 0).count()
    }

    /// Returns the processors that workers are pinned to by default, in this order: one for each
    /// allowed processor, at most the quota rounded up, and at least one; first one of each core,
    /// node by node. The cores of a hybrid count alike, whatever their capacity.
    pub fn cpus(&self) -> Vec<usize> {
        // A processor of an unknown node is before all others.
        let node = |cpu: &Cpu| cpu.node.map_or(0, |node| node.saturating_add(1));
        let order = self.cpus.iter().map(|cpu| (cpu.thread, node(cpu), cpu.id));
        let mut order: Vec<(usize, usize, usize)> = order.collect();
        order.sort_unstable();
        // `as` saturates: a quota beyond every count limits nothing.
        let most = self.quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
        order.truncate(most.max(1));
        order.into_iter().map(|(.., cpu)| cpu).collect()
    }
}

#[cfg(test)]
mod tests;
