//! The tree of memories of one node: which workers are near which memory, and near each other.
//!
//! A place is a memory, a cache, a core, a node or a device. Workers hang on the leaves; a place serves
//! the workers of the leaves below it. Places are numbered breadth first from the root, 0; workers from
//! left to right, so that those below a place have consecutive numbers. These places are parts of one
//! node, and have nothing to do with [`PlaceId`](crate::PlaceId), the places that send each other work.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 5 (hierarchical place trees): places, their numbers, paths from leaf to root.
//! The order of victims is our own: there a worker looks through the deques of its path place by place;
//! here the same walk, leaf to root, gives an order of workers, turned by the worker's own position so
//! that the workers of one place do not all begin with the same victim.
//!
//! # Proved
//! Tested against brute force on random trees (`core/tests/hierarchy.rs`): numbers, paths, subtrees, and
//! the order of victims. Nothing changes after [`Spec::build`], so there is no schedule to explore.
#![forbid(unsafe_code)]

mod spec;
mod victims;

pub use spec::{DEPTH_MAX, Fault, PLACES_MAX, Spec, WORKERS_MAX, Wrong};
pub use victims::{Group, Victims};

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A place of a [`Hierarchy`], by its number: breadth first from the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(pub u32);

impl Place {
    /// The whole node.
    pub const ROOT: Self = Self(0);

    /// Its position among all places.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// What a place is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Memory, of the whole node or of a part of it.
    Memory,
    /// A cache.
    Cache,
    /// A core.
    Core,
    /// A node, or what else is a machine of its own.
    Node,
    /// An accelerator.
    Device,
    /// Anything else, by its name.
    Other(String),
}

impl Kind {
    /// The kind that descriptions spell so: `mem`, `cache`, `core`, `node`, `device`, or any other word.
    pub fn named(name: &str) -> Self {
        match name {
            "mem" => Self::Memory,
            "cache" => Self::Cache,
            "core" => Self::Core,
            "node" => Self::Node,
            "device" => Self::Device,
            other => Self::Other(other.into()),
        }
    }

    /// How descriptions spell it.
    pub fn name(&self) -> &str {
        match self {
            Self::Memory => "mem",
            Self::Cache => "cache",
            Self::Core => "core",
            Self::Node => "node",
            Self::Device => "device",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    kind: Kind,
    label: String,
    bytes: u64,
    tuning: bool,
    /// The root's is the root.
    parent: u32,
    level: u32,
    /// Breadth-first numbers make the children of a place consecutive.
    children: Range<u32>,
    workers: Range<u32>,
}

/// The tree of memories of one node, built from a [`Spec`] and never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    /// By worker.
    leaves: Vec<Place>,
}

impl Hierarchy {
    /// Returns the hierarchy of one memory that serves all `workers`: the default for a node without a
    /// description.
    ///
    /// # Errors
    /// No worker, or more than [`WORKERS_MAX`].
    pub fn single(workers: u32) -> Result<Self, Fault> {
        Spec::new(Kind::Memory).workers(workers).build()
    }

    /// The place that serves all workers.
    pub fn root(&self) -> Place {
        Place::ROOT
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: there is a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All places, breadth first.
    pub fn places(&self) -> impl DoubleEndedIterator<Item = Place> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(Place)
    }

    /// How many workers there are.
    pub fn workers(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// What the place is.
    ///
    /// # Panics
    /// As all questions about a place do: one that is not in this tree.
    pub fn kind(&self, place: Place) -> &Kind {
        &self.node(place).kind
    }

    /// What its description calls it; empty if nothing.
    pub fn label(&self, place: Place) -> &str {
        &self.node(place).label
    }

    /// How much it holds, in bytes; 0 if unknown.
    pub fn bytes(&self, place: Place) -> u64 {
        self.node(place).bytes
    }

    /// Was it marked as one whose workers are tuned together?
    pub fn is_tuning(&self, place: Place) -> bool {
        self.node(place).tuning
    }

    /// Steps from the root, whose level is 0.
    pub fn level(&self, place: Place) -> u32 {
        self.node(place).level
    }

    /// The place above; `None` above the root.
    pub fn parent(&self, place: Place) -> Option<Place> {
        (place != Place::ROOT).then(|| Place(self.node(place).parent))
    }

    /// The places right below.
    pub fn children(
        &self,
        place: Place,
    ) -> impl DoubleEndedIterator<Item = Place> + ExactSizeIterator + use<> {
        self.node(place).children.clone().map(Place)
    }

    /// Do workers hang on it, and not places?
    pub fn is_leaf(&self, place: Place) -> bool {
        self.node(place).children.is_empty()
    }

    /// The workers of the leaves below the place, or of the place itself.
    pub fn subtree(&self, place: Place) -> Range<u32> {
        self.node(place).workers.clone()
    }

    /// How many workers the place serves: at least 1.
    pub fn num_workers(&self, place: Place) -> u32 {
        self.node(place).workers.len() as u32
    }

    /// The place on the way from `place` to the root that has this level; `None` if `place` itself is
    /// nearer to the root.
    pub fn ancestor(&self, place: Place, level: u32) -> Option<Place> {
        self.up(place).find(|&above| self.level(above) == level)
    }

    /// All places of a kind, breadth first.
    pub fn places_of_kind<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = Place> + 'a {
        self.places().filter(move |&place| self.kind(place) == kind)
    }

    /// The places that are marked as tuned together, breadth first.
    pub fn tuning_places(&self) -> impl Iterator<Item = Place> + '_ {
        self.places().filter(|&place| self.is_tuning(place))
    }

    /// The place that the worker hangs on.
    ///
    /// # Panics
    /// As all questions about a worker do: one that is not in this tree.
    pub fn leaf_of(&self, worker: u32) -> Place {
        match self.leaves.get(worker as usize) {
            Some(&leaf) => leaf,
            None => panic!("worker {worker} of {} workers", self.leaves.len()),
        }
    }

    /// The places that serve the worker, its leaf first and the root last.
    pub fn path(&self, worker: u32) -> Path<'_> {
        self.up(self.leaf_of(worker))
    }

    /// The smallest place that serves both workers.
    pub fn common(&self, one: u32, other: u32) -> Place {
        let serves = |place: &Place| self.node(*place).workers.contains(&other);
        self.leaf_of(other);
        self.path(one).find(serves).unwrap_or(Place::ROOT)
    }

    /// How many steps `from` has to go up to a place that serves `to` as well: 0 at one leaf.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        self.level(self.leaf_of(from)) - self.level(self.common(from, to))
    }

    /// All other workers, the nearest first: those of the worker's leaf, then those of the place above
    /// it, and so on. Among equals it begins at another one for each worker.
    pub fn victims(&self, worker: u32) -> Victims<'_> {
        Victims::new(self, worker)
    }

    fn node(&self, place: Place) -> &Node {
        match self.nodes.get(place.index()) {
            Some(node) => node,
            None => panic!("{place} of {} places", self.nodes.len()),
        }
    }

    fn up(&self, place: Place) -> Path<'_> {
        self.node(place);
        Path {
            tree: self,
            next: Some(place),
        }
    }
}

/// The way from a place to the root. See [`Hierarchy::path`].
#[derive(Clone, Debug)]
pub struct Path<'a> {
    tree: &'a Hierarchy,
    next: Option<Place>,
}

impl Iterator for Path<'_> {
    type Item = Place;

    fn next(&mut self) -> Option<Place> {
        let place = self.next?;
        self.next = self.tree.parent(place);
        Some(place)
    }
}
