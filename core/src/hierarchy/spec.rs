//! Descriptions from which trees are built: one description for all copies of a domain.
#![forbid(unsafe_code)]

use super::{Domain, Hierarchy, Kind, Node};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The maximum number of domains of a tree.
pub const DOMAINS_MAX: u32 = 1 << 20;
/// The maximum number of workers of a tree.
pub const WORKERS_MAX: u32 = 1 << 20;
/// The maximum number of levels of a tree: building and dropping it recurses by level.
pub const DEPTH_MAX: u32 = 64;

/// A domain and the domains below it, built once for each copy.
///
/// ```
/// use tautline_core::hierarchy::{Kind, Spec};
///
/// let core = Spec::new(Kind::Core).copies(4).workers(1);
/// let socket = Spec::new(Kind::Cache).copies(2).child(core);
/// let node = Spec::new(Kind::Memory).child(socket).build().unwrap();
/// assert_eq!((node.len(), node.workers()), (11, 8));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is built before `build`"]
pub struct Spec {
    kind: Kind,
    label: String,
    bytes: u64,
    copies: u32,
    tuning: bool,
    workers: u32,
    children: Vec<Self>,
}

impl Spec {
    /// Creates a description of one domain without workers and without domains below it.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Kind, Spec};
    /// assert!(Spec::new(Kind::Memory).build().is_err()); // there is no worker
    /// ```
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            label: String::new(),
            bytes: 0,
            copies: 1,
            tuning: false,
            workers: 0,
            children: Vec::new(),
        }
    }

    /// Sets its name in tables.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets its capacity in bytes.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the number of copies of it, with all domains below it, under each copy of its parent.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Kind, Spec};
    /// let cores = Spec::new(Kind::Core).copies(4).workers(1);
    /// assert_eq!(Spec::new(Kind::Memory).child(cores).build().unwrap().workers(), 4);
    /// ```
    pub fn copies(mut self, copies: u32) -> Self {
        self.copies = copies;
        self
    }

    /// Sets whether its workers are tuned together.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Domain, Kind, Spec};
    /// let socket = Spec::new(Kind::Cache).tuning(true).workers(4);
    /// assert!(socket.build().unwrap().is_tuning(Domain::ROOT));
    /// ```
    pub fn tuning(mut self, tuning: bool) -> Self {
        self.tuning = tuning;
        self
    }

    /// Sets the number of workers attached to each copy.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Kind, Spec};
    /// assert_eq!(Spec::new(Kind::Core).workers(2).build().unwrap().workers(), 2);
    /// ```
    pub fn workers(mut self, workers: u32) -> Self {
        self.workers = workers;
        self
    }

    /// Adds a description of domains directly below.
    pub fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// Builds the tree with this domain as its root.
    ///
    /// ```
    /// # use tautline_core::hierarchy::{Kind, Spec};
    /// let error = Spec::new(Kind::Memory).copies(2).workers(1).build().unwrap_err();
    /// println!("{error}"); // there is one root
    /// ```
    ///
    /// # Errors
    /// The first mistake, depth first, with its position.
    pub fn build(&self) -> Result<Hierarchy, Fault> {
        let mut at = Vec::new();
        if self.copies != 1 {
            let wrong = Wrong::Root {
                copies: self.copies,
            };
            return Err(Fault { at, wrong });
        }
        self.judge(&mut at)?;
        let nodes = self.domains();
        Ok(number_workers(nodes))
    }

    /// Returns the number of domains and of workers of all copies. `at` is the position, counted
    /// from the root.
    fn judge(&self, at: &mut Vec<usize>) -> Result<(u32, u32), Fault> {
        let fault = |wrong| Fault {
            at: at.clone(),
            wrong,
        };
        if at.len() as u32 >= DEPTH_MAX {
            return Err(fault(Wrong::Depth));
        }
        if self.copies == 0 {
            return Err(fault(Wrong::NoCopy));
        }
        if self.workers > 0 && !self.children.is_empty() {
            let workers = self.workers;
            return Err(fault(Wrong::Inner { workers }));
        }
        if self.workers == 0 && self.children.is_empty() {
            return Err(fault(Wrong::NoWorker));
        }
        let (mut domains, mut workers) = (1u64, u64::from(self.workers));
        for (child, below) in self.children.iter().enumerate() {
            at.push(child);
            let (p, w) = below.judge(at)?;
            at.pop();
            domains += u64::from(p);
            workers += u64::from(w);
        }
        let all = |one: u64| one * u64::from(self.copies);
        let fault = |wrong| Fault {
            at: at.clone(),
            wrong,
        };
        let domains = u32::try_from(all(domains))
            .ok()
            .filter(|n| *n <= DOMAINS_MAX);
        let domains = domains.ok_or_else(|| {
            fault(Wrong::Domains {
                copies: self.copies,
            })
        })?;
        let workers = u32::try_from(all(workers))
            .ok()
            .filter(|n| *n <= WORKERS_MAX);
        let workers = workers.ok_or_else(|| {
            fault(Wrong::Workers {
                workers: self.workers,
                copies: self.copies,
            })
        })?;
        Ok((domains, workers))
    }

    /// Returns all domains, breadth first, with the workers of a leaf as a range from 0.
    fn domains(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut queue = VecDeque::from([(self, 0, 0)]);
        // A domain's children are numbered when it is removed from the queue.
        let mut numbered = 1;
        while let Some((spec, parent, level)) = queue.pop_front() {
            let number = nodes.len() as u32;
            for child in &spec.children {
                for _ in 0..child.copies {
                    queue.push_back((child, number, level + 1));
                }
            }
            let children: u32 = spec.children.iter().map(|child| child.copies).sum();
            nodes.push(Node {
                kind: spec.kind.clone(),
                label: spec.label.clone(),
                bytes: spec.bytes,
                tuning: spec.tuning,
                parent,
                level,
                children: numbered..numbered + children,
                workers: 0..spec.workers,
            });
            numbered += children;
        }
        nodes
    }
}

/// Assigns every domain the range of its workers: counted from the last domain to the root,
/// numbered on the way back.
fn number_workers(mut nodes: Vec<Node>) -> Hierarchy {
    for domain in (1..nodes.len()).rev() {
        let workers = nodes[domain].workers.end;
        let parent = nodes[domain].parent as usize;
        nodes[parent].workers.end += workers;
    }
    let mut leaves = alloc::vec![Domain::ROOT; nodes[0].workers.end as usize];
    for domain in 0..nodes.len() {
        let workers = nodes[domain].workers.clone();
        let mut first = workers.start;
        for child in nodes[domain].children.clone() {
            let own = &mut nodes[child as usize].workers;
            *own = first..first + own.end;
            first = own.end;
        }
        if nodes[domain].children.is_empty() {
            leaves[workers.start as usize..workers.end as usize].fill(Domain(domain as u32));
        }
    }
    Hierarchy { nodes, leaves }
}

/// A mistake in a [`Spec`], and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path from the root: at each level the index among the descriptions below the domain.
    /// Empty at the root.
    pub at: Vec<usize>,
    /// The mistake.
    pub wrong: Wrong,
}

/// A mistake in the description of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// More than one root.
    Root {
        /// The number requested.
        copies: u32,
    },
    /// Zero copies.
    NoCopy,
    /// Workers on a domain that is not a leaf.
    Inner {
        /// The number of workers requested.
        workers: u32,
    },
    /// A leaf without workers.
    NoWorker,
    /// More than [`DOMAINS_MAX`] domains.
    Domains {
        /// The number of copies that exceeds the limit.
        copies: u32,
    },
    /// More than [`WORKERS_MAX`] workers.
    Workers {
        /// The workers of one copy.
        workers: u32,
        /// The number of copies that exceeds the limit.
        copies: u32,
    },
    /// More than [`DEPTH_MAX`] levels.
    Depth,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Root { copies } => write!(f, "num {copies}: there is one root"),
            Self::NoCopy => write!(f, "num 0: from 1 to {DOMAINS_MAX}"),
            Self::Inner { workers } => write!(
                f,
                "{workers} workers on a domain with domains below it: only on a leaf"
            ),
            Self::NoWorker => f.write_str("0 workers on a leaf: at least 1"),
            Self::Domains { copies } => {
                write!(
                    f,
                    "num {copies} makes too many domains: at most {DOMAINS_MAX}"
                )
            }
            Self::Workers { workers: 0, copies } => {
                write!(
                    f,
                    "num {copies} makes too many workers: at most {WORKERS_MAX}"
                )
            }
            Self::Workers { workers, copies } => {
                write!(
                    f,
                    "{copies} x {workers} workers: at most {WORKERS_MAX} in all"
                )
            }
            Self::Depth => write!(f, "level {DEPTH_MAX}: at most {DEPTH_MAX} levels"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("domain /")?;
        for (step, child) in self.at.iter().enumerate() {
            let gap = if step > 0 { "/" } else { "" };
            write!(f, "{gap}{child}")?;
        }
        write!(f, ": {}", self.wrong)
    }
}

impl core::error::Error for Fault {}
