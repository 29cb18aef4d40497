//! The tree that gathers signals.
//!
//! # Algorithm
//! Chatterjee 2013, 6.3, with its errors corrected. Tasks that signal have slots in the leaves of a
//! tree of the given degree; a task that sees all signals below a node raises the node. A phase can
//! end when the root and all newcomers have signalled it. What differs from the source:
//! - Nodes are raised *to* a phase, not incremented, so any task may gather any node at any time,
//!   and gathering is idempotent.
//! - A fixed master gathers its node by plain stores. No task depends on it: after a while a
//!   waiting task gathers in its place, so a master that computes, waits on another phaser, or is
//!   preempted does not block progress permanently.
//! - The landing pad is examined after the tree, not before.
//! - Growth and the assignment of slots take a lock, where the source waits for a ticket.
//! - Instead of a list of nodes without a master there is a count of the times that such a node
//!   appeared: a task without a node examines its path again when the count has changed.
//!
//! # Words
//! `root`: written by a registering task, under the lock. `vacancies`: incremented by a task that
//! leaves a node or makes one without a master. `claim`: written by the one of the tasks without a
//! node that watches the root in a phase. `has_wait_only`: set when a task is registered wait-only.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | R1 | `set_root` | `root` | the nodes | `growth` |
//! | M1 | `add_vacancy` | `vacancies` | the node without its master | `vacancy` |

mod arena;
pub(crate) mod contributor;
pub(crate) mod gather;
pub(crate) mod grow;
pub(crate) mod node;
mod pad;
pub(crate) mod values;
pub(crate) mod wake;

use super::value::reduction::Reduction;
use crate::sync::{AtomicBool, AtomicPtr, AtomicUsize, CachePadded, Lock, Ordering};
use arena::{Arena, FreeSlots, Registry};
use core::ptr::{self, NonNull};
use node::{Below, Node, Slot};
use pad::Pad;

/// Gathers signals; see the head of the module.
#[derive(Debug)]
pub(crate) struct Tree {
    claim: CachePadded<AtomicUsize>,
    root: AtomicPtr<Node>,
    vacancies: AtomicUsize,
    pub(crate) pad: Pad,
    pub(crate) reduction: Option<Reduction>,
    degree: usize,
    /// Whether tasks may watch each other while the tree is one leaf.
    pub(crate) can_watch: bool,
    registry: Lock<Registry>,
    arena: Arena,
    has_wait_only: AtomicBool,
    free: FreeSlots,
}

// SAFETY: its pointers lead to nodes and slots that are freed only with the tree, whose words any
// thread may access; the lock guards the rest.
unsafe impl Sync for Tree {}
// SAFETY: the tree owns all that its pointers lead to; a slot's waker may be dropped on any thread.
unsafe impl Send for Tree {}

impl Tree {
    /// Creates a tree without tasks.
    pub(crate) fn new(degree: usize, can_watch: bool, reduction: Option<Reduction>) -> Self {
        Self {
            claim: CachePadded::new(AtomicUsize::new(0)),
            root: AtomicPtr::new(ptr::null_mut()),
            vacancies: AtomicUsize::new(0),
            pad: Pad::new(),
            reduction,
            degree,
            can_watch,
            registry: Lock::new(Registry::new()),
            arena: Arena::new(),
            has_wait_only: AtomicBool::new(false),
            free: FreeSlots::new(),
        }
    }

    /// Returns the root; `None` before the first task that signals is registered.
    pub(crate) fn root(&self) -> Option<&Node> {
        // ORDERING: Acquire, pairs with Release in set_root (R1).
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: nodes live as long as the phaser.
        unsafe { root.as_ref() }
    }

    fn set_root(&self, root: NonNull<Node>) {
        // ORDERING: Release, pairs with Acquire in root (R1).
        self.root.store(root.as_ptr(), Ordering::Release);
    }

    /// Returns all nodes, including those of wait-only tasks, the newest first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.arena.nodes()
    }

    /// Returns the number of times that a node without a master appeared, modulo 2^32.
    #[inline]
    pub(crate) fn vacancies(&self) -> u32 {
        // ORDERING: Acquire, pairs with Release in add_vacancy (M1).
        self.vacancies.load(Ordering::Acquire) as u32
    }

    fn add_vacancy(&self) {
        // ORDERING: Release, pairs with Acquire in vacancies (M1).
        self.vacancies.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of times that nodes were raised by tasks other than their masters.
    pub(crate) fn helped(&self) -> usize {
        self.nodes().map(Node::helped).sum()
    }

    /// Selects, among the tasks without a node that wait for `phase`, one that watches the root.
    pub(crate) fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: the choice affects only the cost.
        let claim = self.claim.load(Ordering::Relaxed);
        // ORDERING: Relaxed, on failure too: the choice affects only the cost.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        claim <= phase
            && self
                .claim
                .compare_exchange(claim, phase + 1, success, failure)
                .is_ok()
    }

    /// Whether wait-only tasks are, or were, registered.
    #[inline]
    pub(crate) fn has_wait_only(&self) -> bool {
        // ORDERING: Relaxed: the registering task's signal makes it visible to a task that sees all
        // signals (signal.S1).
        self.has_wait_only.load(Ordering::Relaxed)
    }

    /// Whether the root has no master.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.root().is_none_or(|root| !root.has_master())
    }

    /// Whether, as far as the tree knows, at most one signal of `phase` is missing.
    pub(crate) fn lacks_one(&self, phase: usize) -> bool {
        let mut node = self.root();
        while let Some(this) = node {
            if let Below::Slots(slots) = &this.below {
                let owing = (0..slots.len()).filter(|index| this.owes(*index, phase));
                return owing.take(2).count() < 2;
            }
            let mut behind = this.children().filter(|child| child.is_behind(phase));
            node = behind.next();
            if behind.next().is_some() {
                return false;
            }
        }
        true
    }

    /// Makes a task without a node the master of one on its path, the leaf first.
    pub(crate) fn find_node(&self, slot: NonNull<Slot>) -> Option<NonNull<Node>> {
        // SAFETY: slots live as long as the phaser.
        let mut node = Some(unsafe { slot.as_ref() }.leaf());
        while let Some(this) = node {
            // SAFETY: nodes live as long as the phaser.
            let this = unsafe { this.as_ref() };
            if this.try_master(slot) {
                return node;
            }
            node = this.parent();
        }
        None
    }

    /// Ends a task's mastership of `node`.
    pub(crate) fn leave_node(&self, node: NonNull<Node>) {
        // SAFETY: nodes live as long as the phaser.
        unsafe { node.as_ref() }.clear_master();
        self.add_vacancy();
    }
}
