//! Places that leave no processor idle, on machines with more processors than one place has
//! workers.
//!
//! # Algorithm
//! The processors that workers are pinned to by default ([`Machine::cpus`]) are laid out in the
//! order of the machine: package, memory node, last-level cache, core. Up to [`Crew::MAX`] of them
//! are one place. More are cut into places of consecutive processors, whose numbers differ by one
//! at most; every processor has one worker. The first cut that fits is taken, the fewest places
//! first, and of two with as many places the one that begins with the larger places:
//!
//! 1. no place crosses a border of memory nodes or last-level caches, with at most twice as many
//!    places as are needed;
//! 2. no place crosses a border of memory nodes, with at most four times as many;
//! 3. as few places as possible.
//!
//! A place crosses no border if it lies within a part of the machine or consists of whole parts.
//! The places with a processor more come first in the result, as in [`Config::smaller`].
#![forbid(unsafe_code)]

use crate::host::pinning::{ordered, ranges};
use crate::process::order::{distinct, insert};
use tautline_core::glb::Config;
use tautline_core::lifeline::Crew;
use tautline_node::Machine;
use tautline_node::machine::Cpu;

/// Factors by which the number of places may exceed the need, to follow memory nodes and caches.
const MORE_FOR_NODES: usize = 4;
const MORE_FOR_CACHES: usize = 2;

/// The kind of the borders between the places of a [`Division`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// No border: one place has all processors.
    Whole,
    /// Borders of memory nodes.
    Nodes,
    /// Borders of last-level caches, or of memory nodes.
    Caches,
    /// Some are within a cache, or within a node of which no cache is known.
    Even,
}

/// The processors of a machine, divided into places.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Division {
    /// The processors of each place, one of each core first. The last places may have one fewer.
    pub places: Vec<Vec<usize>>,
    /// The kind of the borders between places.
    pub cut: Cut,
    /// The places whose processors belong to memory nodes that they share with other places.
    pub crossing: Vec<usize>,
}

impl Division {
    /// Divides the processors that workers are pinned to by default.
    ///
    /// ```
    /// use tautline::{Machine, internal::{Cut, Division}};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &(0..100).collect::<Vec<_>>());
    /// let division = Division::of(&machine);
    /// // A place has at most 64 workers.
    /// assert_eq!((division.places.len(), division.cut), (2, Cut::Even));
    /// ```
    pub fn of(machine: &Machine) -> Self {
        let row = Row::of(machine);
        let all = row.cpus.len();
        let least = all.div_ceil(Crew::MAX).max(1);
        let first = |times: usize, fits: &dyn Fn(&[usize]) -> bool| {
            let mut places = least..=least * times;
            places.find_map(|places| cuts(all, places).into_iter().find(|sizes| fits(sizes)))
        };
        let follows = |sizes: &[usize], parts: &[usize]| row.crossing(sizes, parts).is_empty();
        let nodes = |sizes: &[usize]| follows(sizes, &row.nodes);
        let sizes = first(MORE_FOR_CACHES, &|sizes| {
            nodes(sizes) && follows(sizes, &row.caches)
        });
        let sizes = sizes.or_else(|| first(MORE_FOR_NODES, &nodes));
        let sizes = sizes.or_else(|| first(1, &|_| true));
        row.cut(sizes.expect("there is a number of places"))
    }

    /// Returns the number of places, and of processors in all of them.
    ///
    /// ```
    /// use tautline::{Machine, internal::Division};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &(0..100).collect::<Vec<_>>());
    /// let division = Division::of(&machine);
    /// assert_eq!((division.config().places, division.config().all_workers()), (2, 100));
    /// ```
    pub fn config(&self) -> Config {
        let processors = self.places.iter().map(Vec::len).sum();
        Config::default().divided(self.places.len() as u32, processors)
    }

    /// The processor of each worker, place by place.
    ///
    /// ```
    /// use tautline::{Machine, internal::Division};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &(0..100).collect::<Vec<_>>());
    /// let division = Division::of(&machine);
    /// assert_eq!(division.seats().len(), 100);
    /// ```
    pub fn seats(&self) -> Vec<usize> {
        self.places.concat()
    }

    /// Returns the reason for the places, in one line.
    ///
    /// ```
    /// use tautline::{Machine, internal::Division};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &(0..100).collect::<Vec<_>>());
    /// let division = Division::of(&machine);
    /// assert_eq!(division.why(), "even cuts");
    /// ```
    pub fn why(&self) -> String {
        let mut line = match self.cut {
            Cut::Whole => "all processors fit in one place".to_owned(),
            Cut::Nodes => "cut along memory nodes".to_owned(),
            Cut::Caches => "cut along last-level caches".to_owned(),
            Cut::Even => "even cuts".to_owned(),
        };
        if !self.crossing.is_empty() {
            let places = ranges(&self.crossing);
            line += &format!("; even places cannot follow memory nodes, cut by places {places}");
        }
        line
    }
}

/// The processors in the order of the machine, with the number of the part that each is in.
struct Row {
    cpus: Vec<Cpu>,
    nodes: Vec<usize>,
    caches: Vec<usize>,
}

impl Row {
    fn of(machine: &Machine) -> Self {
        let used = distinct(&machine.cpus());
        let last = last_level(machine);
        let cache = |cpu: &Cpu| {
            let found = last.iter().position(|cpus| cpus.contains(&cpu.id));
            found.unwrap_or(usize::MAX)
        };
        let allowed = machine.allowed().iter();
        let mut row = Vec::with_capacity(used.len());
        for cpu in allowed.filter(|cpu| used.binary_search(&cpu.id).is_ok()) {
            insert(&mut row, (cpu, cache(cpu)), |(cpu, cache)| {
                (cpu.package, cpu.node, *cache, cpu.core, cpu.thread, cpu.id)
            });
        }
        let node = |(cpu, _): &(&Cpu, _)| cpu.node;
        let cache = |(_, cache): &(&Cpu, usize)| *cache;
        Self {
            nodes: numbered(row.iter().map(node)),
            caches: numbered(row.iter().map(cache)),
            cpus: row.into_iter().map(|(cpu, _)| cpu.clone()).collect(),
        }
    }

    /// The places of these sizes that have a part of a part and something besides.
    fn crossing(&self, sizes: &[usize], parts: &[usize]) -> Vec<usize> {
        let (mut crossing, mut begin) = (Vec::new(), 0);
        for (place, size) in sizes.iter().enumerate() {
            let own = begin..begin + size;
            let inside = distinct(&parts[own.clone()]);
            let mut outside = parts[..own.start].iter().chain(&parts[own.end..]);
            let divided = outside.any(|part| inside.binary_search(part).is_ok());
            if inside.len() > 1 && divided {
                crossing.push(place);
            }
            begin = own.end;
        }
        crossing
    }

    /// Returns the kind of the borders between places of these sizes.
    fn borders(&self, sizes: &[usize]) -> Cut {
        let ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let borders: Vec<usize> = ends.take(sizes.len() - 1).collect();
        let along = |parts: &[usize]| borders.iter().all(|&at| parts[at - 1] != parts[at]);
        let either = |&at: &usize| {
            self.nodes[at - 1] != self.nodes[at] || self.caches[at - 1] != self.caches[at]
        };
        match borders.is_empty() {
            true => Cut::Whole,
            false if along(&self.nodes) => Cut::Nodes,
            false if borders.iter().all(either) => Cut::Caches,
            false => Cut::Even,
        }
    }

    fn cut(self, sizes: Vec<usize>) -> Division {
        let cut = self.borders(&sizes);
        let crossing = self.crossing(&sizes, &self.nodes);
        let most = sizes.iter().max().copied();
        let mut rest = self.cpus.as_slice();
        // The larger ones, of which each has one more, and the others; both in the order of the
        // machine.
        let (mut places, mut smaller) = (Vec::with_capacity(sizes.len()), Vec::new());
        for (place, size) in sizes.into_iter().enumerate() {
            let (own, after) = rest.split_at(size);
            rest = after;
            let part = match Some(size) == most {
                true => &mut places,
                false => &mut smaller,
            };
            part.push((ordered(own.iter().collect()), crossing.contains(&place)));
        }
        places.append(&mut smaller);
        let crosses = |(place, (_, crosses)): (usize, &(_, bool))| crosses.then_some(place);
        Division {
            cut,
            crossing: places.iter().enumerate().filter_map(crosses).collect(),
            places: places.into_iter().map(|(cpus, _)| cpus).collect(),
        }
    }
}

/// The sizes of this number of places, which differ by one at most: the larger ones first, or last.
fn cuts(all: usize, places: usize) -> [Vec<usize>; 2] {
    let larger = all % places;
    [0, places - larger].map(|begin| {
        let size = |place| all / places + usize::from((begin..begin + larger).contains(&place));
        (0..places).map(size).collect()
    })
}

/// The processors that share each cache of the last level, from the third on.
fn last_level(machine: &Machine) -> Vec<&[usize]> {
    let shared = machine.caches().iter();
    let shared = shared.filter(|cache| cache.level >= 3 && cache.kind != "Instruction");
    // A cache on the side of the memory belongs to a memory node.
    let of_node = |cpus: &[usize]| machine.nodes().iter().any(|node| node.cpus == cpus);
    let last = shared
        .clone()
        .filter(|cache| !of_node(&cache.cpus))
        .map(|cache| cache.level)
        .max();
    shared
        .filter(|cache| Some(cache.level) == last)
        .map(|cache| cache.cpus.as_slice())
        .collect()
}

/// The number of each part, in the order in which they are found.
fn numbered<T: PartialEq>(parts: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known = Vec::new();
    let number = |part| match known.iter().position(|it| *it == part) {
        Some(number) => number,
        None => {
            known.push(part);
            known.len() - 1
        }
    };
    parts.map(number).collect()
}
