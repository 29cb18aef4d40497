//! The tree of memories of one node: the distances between workers and memories.
//!
//! A domain is a memory, a cache, a core, a node or a device. Workers are attached to the leaves; a
//! domain serves the workers of the leaves below it. Domains are numbered breadth first from the
//! root, 0; workers from left to right, so that those below a domain have consecutive numbers. A
//! place ([`PlaceId`](crate::PlaceId)) is a share of the node with dedicated workers: one or
//! several domains.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 5 (hierarchical place trees): domains, their numbers, paths from leaf
//! to root. The order of victims is ours: in the source a worker searches the deques of its path
//! domain by domain; here the same walk, leaf to root, yields an order of workers, rotated by the
//! worker's own position so that the workers of one domain do not all begin with the same victim.
//!
//! # Proved
//! Tested against brute force on random trees (`core/tests/hierarchy.rs`): numbers, paths,
//! subtrees, and the order of victims. Nothing changes after [`Spec::build`], so there is no
//! schedule to explore.
#![forbid(unsafe_code)]

mod spec;
mod victims;

pub use spec::{DEPTH_MAX, DOMAINS_MAX, Fault, Spec, WORKERS_MAX, Wrong};
pub use victims::{Group, Victims};

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A domain of a [`Hierarchy`], by its number: breadth first from the root.
///
/// ```
/// # use tautline_core::hierarchy::{Domain, Kind, Spec};
/// // Two sockets, each with two cores.
/// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
/// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
/// assert_eq!(Domain(3).to_string(), "d3");
/// assert_eq!(node.leaf_of(0), Domain(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(pub u32);

impl Domain {
    /// The whole node.
    pub const ROOT: Self = Self(0);

    /// Returns its position among all domains.
    ///
    /// ```
    /// # use tautline_core::hierarchy::Domain;
    /// assert_eq!(Domain(3).index(), 3);
    /// ```
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "d{}", self.0)
    }
}

/// The kind of a domain.
///
/// ```
/// # use tautline_core::hierarchy::Kind;
/// assert_eq!(Kind::Other("scratch".to_owned()).to_string(), "scratch");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Memory, of the whole node or of a part of it.
    Memory,
    /// A cache.
    Cache,
    /// A core.
    Core,
    /// A node: a separate machine.
    Node,
    /// An accelerator.
    Device,
    /// Anything else, by its name.
    Other(String),
}

impl Kind {
    /// Returns the kind with this name in descriptions: `mem`, `cache`, `core`, `node`, `device`,
    /// or any other word.
    ///
    /// ```
    /// # use tautline_core::hierarchy::Kind;
    /// assert_eq!(Kind::named("cache"), Kind::Cache);
    /// assert_eq!(Kind::named("scratch"), Kind::Other("scratch".to_owned()));
    /// ```
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

    /// Returns the name of the kind in descriptions.
    ///
    /// ```
    /// # use tautline_core::hierarchy::Kind;
    /// assert_eq!(Kind::Memory.name(), "mem");
    /// ```
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
    /// The parent; the root's is the root itself.
    parent: u32,
    level: u32,
    /// Breadth-first numbers make the children of a domain consecutive.
    children: Range<u32>,
    workers: Range<u32>,
}

/// The tree of memories of one node, built from a [`Spec`] and never changed.
///
/// ```
/// # use tautline_core::hierarchy::{Domain, Kind, Spec};
/// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
/// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
/// assert_eq!((node.len(), node.workers()), (7, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    /// By worker.
    leaves: Vec<Domain>,
}

impl Hierarchy {
    /// Returns the hierarchy of one memory that serves all `workers`: the default for a node
    /// without a description.
    ///
    /// ```
    /// # use tautline_core::hierarchy::Hierarchy;
    /// let node = Hierarchy::single(4).unwrap();
    /// assert_eq!((node.len(), node.workers()), (1, 4));
    /// assert!(Hierarchy::single(0).is_err());
    /// ```
    ///
    /// # Errors
    /// If there is no worker, or more than [`WORKERS_MAX`].
    pub fn single(workers: u32) -> Result<Self, Fault> {
        Spec::new(Kind::Memory).workers(workers).build()
    }

    /// Returns the domain that serves all workers.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.subtree(node.root()), 0..4);
    /// ```
    pub fn root(&self) -> Domain {
        Domain::ROOT
    }

    /// Returns the number of domains.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.len(), 1 + 2 + 4);
    /// ```
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns false: there is always a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns all domains, breadth first.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.domains().last(), Some(Domain(6)));
    /// ```
    pub fn domains(&self) -> impl DoubleEndedIterator<Item = Domain> + ExactSizeIterator + use<> {
        (0..self.nodes.len() as u32).map(Domain)
    }

    /// Returns the number of workers.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.workers(), 4);
    /// ```
    pub fn workers(&self) -> u32 {
        self.leaves.len() as u32
    }

    /// Returns the kind of the domain.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.kind(Domain(1)), &Kind::Cache);
    /// ```
    ///
    /// # Panics
    /// As all queries of a domain: if it is not in this tree.
    pub fn kind(&self, domain: Domain) -> &Kind {
        &self.node(domain).kind
    }

    /// Returns its name in the description, or an empty string if it has no name.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let node = Spec::new(Kind::Cache).label("L3").bytes(1 << 25).workers(8).build().unwrap();
    /// assert_eq!((node.label(Domain::ROOT), node.bytes(Domain::ROOT)), ("L3", 1 << 25));
    /// ```
    pub fn label(&self, domain: Domain) -> &str {
        &self.node(domain).label
    }

    /// Returns its capacity in bytes; 0 if unknown.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let node = Spec::new(Kind::Cache).bytes(1 << 25).workers(8).build().unwrap();
    /// assert_eq!(node.bytes(Domain::ROOT), 1 << 25);
    /// ```
    pub fn bytes(&self, domain: Domain) -> u64 {
        self.node(domain).bytes
    }

    /// Whether it is marked as a domain whose workers are tuned together.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let node = Spec::new(Kind::Cache).tuning(true).workers(8).build().unwrap();
    /// assert!(node.is_tuning(Domain::ROOT));
    /// ```
    pub fn is_tuning(&self, domain: Domain) -> bool {
        self.node(domain).tuning
    }

    /// Returns the number of steps from the root, whose level is 0.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!([0, 1, 6].map(|domain| node.level(Domain(domain))), [0, 1, 2]);
    /// ```
    pub fn level(&self, domain: Domain) -> u32 {
        self.node(domain).level
    }

    /// Returns the domain above; `None` above the root.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!((node.parent(Domain(6)), node.parent(Domain::ROOT)), (Some(Domain(2)), None));
    /// ```
    pub fn parent(&self, domain: Domain) -> Option<Domain> {
        (domain != Domain::ROOT).then(|| Domain(self.node(domain).parent))
    }

    /// Returns the domains right below.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert!(node.children(Domain(1)).eq([Domain(3), Domain(4)]));
    /// ```
    pub fn children(
        &self,
        domain: Domain,
    ) -> impl DoubleEndedIterator<Item = Domain> + ExactSizeIterator + use<> {
        self.node(domain).children.clone().map(Domain)
    }

    /// Whether workers, not domains, are attached to it.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert!(node.is_leaf(Domain(3)) && !node.is_leaf(Domain(1)));
    /// ```
    pub fn is_leaf(&self, domain: Domain) -> bool {
        self.node(domain).children.is_empty()
    }

    /// Returns the workers of the leaves below the domain, or of the domain itself.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.subtree(Domain(2)), 2..4);
    /// ```
    pub fn subtree(&self, domain: Domain) -> Range<u32> {
        self.node(domain).workers.clone()
    }

    /// Returns the number of workers that the domain serves, at least 1.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.num_workers(Domain(2)), 2);
    /// ```
    pub fn num_workers(&self, domain: Domain) -> u32 {
        self.node(domain).workers.len() as u32
    }

    /// Returns the domain of this level on the path from `domain` to the root; `None` if `domain`
    /// itself is nearer to the root.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.ancestor(Domain(6), 1), Some(Domain(2)));
    /// ```
    pub fn ancestor(&self, domain: Domain, level: u32) -> Option<Domain> {
        self.up(domain).find(|&above| self.level(above) == level)
    }

    /// Returns all domains of a kind, breadth first.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.domains_of_kind(&Kind::Core).count(), 4);
    /// ```
    pub fn domains_of_kind<'a>(&'a self, kind: &'a Kind) -> impl Iterator<Item = Domain> + 'a {
        self.domains()
            .filter(move |&domain| self.kind(domain) == kind)
    }

    /// Returns the domains that are marked as tuned together, breadth first.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let node = Spec::new(Kind::Cache).tuning(true).workers(8).build().unwrap();
    /// assert!(node.tuning_domains().eq([Domain::ROOT]));
    /// ```
    pub fn tuning_domains(&self) -> impl Iterator<Item = Domain> + '_ {
        self.domains().filter(|&domain| self.is_tuning(domain))
    }

    /// Returns the domain to which the worker is attached.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.leaf_of(3), Domain(6));
    /// ```
    ///
    /// # Panics
    /// As all queries of a worker: if it is not in this tree.
    pub fn leaf_of(&self, worker: u32) -> Domain {
        match self.leaves.get(worker as usize) {
            Some(&leaf) => leaf,
            None => panic!("worker {worker} of {} workers", self.leaves.len()),
        }
    }

    /// Returns the domains that serve the worker, its leaf first and the root last.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert!(node.path(3).eq([Domain(6), Domain(2), Domain::ROOT]));
    /// ```
    pub fn path(&self, worker: u32) -> Path<'_> {
        self.up(self.leaf_of(worker))
    }

    /// Returns the smallest domain that serves both workers.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!((node.common(0, 1), node.common(0, 2)), (Domain(1), Domain::ROOT));
    /// ```
    pub fn common(&self, one: u32, other: u32) -> Domain {
        let serves = |domain: &Domain| self.node(*domain).workers.contains(&other);
        self.leaf_of(other);
        self.path(one).find(serves).unwrap_or(Domain::ROOT)
    }

    /// Returns the number of steps from the leaf of `from` up to a domain that serves `to` as well:
    /// 0 for the same leaf.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!([0, 1, 2].map(|to| node.distance(0, to)), [0, 1, 2]);
    /// ```
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        self.level(self.leaf_of(from)) - self.level(self.common(from, to))
    }

    /// Returns all other workers, the nearest first: those of the worker's leaf, then those of the
    /// domain above it, and so on. Among workers at equal distances, the first one differs for each
    /// thief.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).copies(2).child(Spec::new(Kind::Core).copies(2).workers(1));
    /// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
    /// assert_eq!(node.victims(0).next(), Some(1)); // of the same socket
    /// ```
    pub fn victims(&self, worker: u32) -> Victims<'_> {
        Victims::new(self, worker)
    }

    fn node(&self, domain: Domain) -> &Node {
        match self.nodes.get(domain.index()) {
            Some(node) => node,
            None => panic!("{domain} of {} domains", self.nodes.len()),
        }
    }

    fn up(&self, domain: Domain) -> Path<'_> {
        self.node(domain);
        Path {
            tree: self,
            next: Some(domain),
        }
    }
}

/// The path from a domain to the root. See [`Hierarchy::path`].
#[derive(Clone, Debug)]
pub struct Path<'a> {
    tree: &'a Hierarchy,
    next: Option<Domain>,
}

impl Iterator for Path<'_> {
    type Item = Domain;

    fn next(&mut self) -> Option<Domain> {
        let domain = self.next?;
        self.next = self.tree.parent(domain);
        Some(domain)
    }
}
