//! Distances between processors.
#![forbid(unsafe_code)]

use std::fmt;
use tautline_node::Machine;

/// The resource that two processors share, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// A core: they are its hardware threads.
    SameCore,
    /// A cache of this level.
    SharedCache(u32),
    /// The package.
    SamePackage,
    /// Nothing known.
    Apart,
}

impl Distance {
    /// Returns the distance between two processors of `machine`, by their numbers in the system.
    pub fn between(machine: &Machine, [one, other]: [usize; 2]) -> Self {
        let cpu = |id| machine.allowed().iter().find(|cpu| cpu.id == id);
        let same = |part: fn(&tautline_node::machine::Cpu) -> Option<usize>| {
            let parts = [cpu(one).and_then(part), cpu(other).and_then(part)];
            parts[0].is_some() && parts[0] == parts[1]
        };
        let holds_both = |cpus: &[usize]| cpus.contains(&one) && cpus.contains(&other);
        let mut caches = machine.caches().iter();
        let cache = caches.find(|cache| cache.kind != "Instruction" && holds_both(&cache.cpus));
        match cache {
            _ if same(|cpu| Some(cpu.core)) => Self::SameCore,
            Some(cache) => Self::SharedCache(cache.level),
            None if same(|cpu| cpu.package) => Self::SamePackage,
            None => Self::Apart,
        }
    }

    /// Returns a word for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::SameCore => "same-core",
            Self::SharedCache(_) => "shared-cache",
            Self::SamePackage => "same-package",
            Self::Apart => "apart",
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameCore => f.pad("same core"),
            Self::SharedCache(level) => f.pad(&format!("shared L{level}")),
            Self::SamePackage => f.pad("same package"),
            Self::Apart => f.pad("other"),
        }
    }
}

/// Returns for each distance between two of `cpus` at most `most` pairs, the nearest distance
/// first; pairs are taken from all over the list.
pub fn pairs(machine: &Machine, cpus: &[usize], most: usize) -> Vec<(Distance, Vec<[usize; 2]>)> {
    let mut all: Vec<(Distance, Vec<[usize; 2]>)> = Vec::new();
    for (at, &one) in cpus.iter().enumerate() {
        for &other in &cpus[at + 1..] {
            let pair = [one, other];
            let distance = Distance::between(machine, pair);
            match all.iter_mut().find(|(known, _)| *known == distance) {
                Some((_, pairs)) => pairs.push(pair),
                None => all.push((distance, vec![pair])),
            }
        }
    }
    all.sort_by_key(|(distance, _)| *distance);
    for (_, pairs) in &mut all {
        let (count, kept) = (pairs.len(), pairs.len().min(most));
        *pairs = (0..kept).map(|at| pairs[at * count / kept]).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_node::machine::{Cache, Cpu};

    /// Two packages of two cores of two threads; the cores of a package share an L3, but for the
    /// second package.
    fn machine() -> Machine {
        let cpu = |id| Cpu {
            id,
            thread: 0,
            core: id / 2,
            node: None,
            package: Some(id / 4),
        };
        let cache = |level, kind: &str, cpus: &[usize]| Cache {
            level,
            kind: kind.into(),
            bytes: 0,
            cpus: cpus.into(),
        };
        let caches = vec![
            cache(1, "Instruction", &[0, 1, 2, 3, 4, 5, 6, 7]),
            cache(2, "Unified", &[0, 1]),
            cache(3, "Unified", &[0, 1, 2, 3]),
        ];
        Machine::described(None, (0..8).map(cpu).collect(), caches, Vec::new())
    }

    #[test]
    fn the_nearest_thing_that_is_shared_counts() {
        let between = |one, other| Distance::between(&machine(), [one, other]);
        assert_eq!(between(0, 1), Distance::SameCore);
        assert_eq!(between(1, 2), Distance::SharedCache(3));
        assert_eq!(between(7, 4), Distance::SamePackage);
        assert_eq!(between(0, 7), Distance::Apart);
        // Nothing is known about an unknown processor.
        assert_eq!(between(0, 99), Distance::Apart);
    }

    #[test]
    fn pairs_are_sorted_and_few() {
        let all = pairs(&machine(), &[0, 1, 2, 3, 4, 5, 6, 7], 3);
        let counts: Vec<_> = all
            .iter()
            .map(|(d, pairs)| (d.name(), pairs.len()))
            .collect();
        let expected = [
            ("same-core", 3),
            ("shared-cache", 3),
            ("same-package", 3),
            ("apart", 3),
        ];
        assert_eq!(counts, expected);
        assert_eq!(all[3].1, [[0, 4], [1, 5], [2, 6]]);
        assert_eq!(pairs(&machine(), &[5], 3), []);
    }
}
