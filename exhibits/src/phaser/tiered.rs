//! The hierarchical phaser of Habanero Java.
//!
//! # Algorithm
//! Chatterjee 2013, 6.2.3. A complete tree of nodes, made with the phaser; tasks have words in the
//! lists of its leaves. The first task to wait in a leaf gathers it, and continues above if it is
//! the first there, too; the task that gathers the root ends the phase. Leaves and nodes without
//! tasks take no part. A child is assigned to its parent's leaf, then to the first leaf with room;
//! when all are full, to the one with the fewest tasks, which are gathered in sequence. What
//! differs:
//! - Nodes are raised to a phase, not incremented.
//! - After a while, a task that waits for a node that no task gathers does it itself: the tasks
//!   below may have signalled and be busy, or wait for something else.
//! - A task may be registered into a leaf that was gathered or took no part. Therefore the task
//!   that ends a phase in which a task was registered examines all lists first.
//!
//! # Words
//! `phase`, `settled`: written by the task that has gathered the root. `registrations`: incremented
//! when a task that signals is registered.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BT1 | `end` | `phase` | the signals of all tasks (list.BL1): phase order | `tiered_marks` |
//! | BT4 | `enter` | `end` | the seat that was taken | `tiered_newcomers` |
#![forbid(unsafe_code)]

use super::error::BaselineError;
use super::list::{Free, List, Seat};
use super::member::{Member, Progress};
use super::node::Node;
use super::shape::Tiers;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tautline_core::phaser::{Mode, Phase, PhaserError};
use tautline_core::port::Relax;
use tautline_core::sync::{AtomicUsize, CachePadded, Lock, Ordering};

const ROOT: usize = 0;

/// A task's registration on a tiered phaser.
#[derive(Debug)]
pub struct Tiered<P: Relax> {
    shared: Arc<Shared<P>>,
    seat: Option<(usize, Seat)>,
    progress: Progress,
}

/// The children of node n are the nodes from n * degree + 1 on.
#[derive(Debug)]
struct Shared<P> {
    phase: CachePadded<AtomicUsize>,
    registrations: CachePadded<AtomicUsize>,
    settled: AtomicUsize,
    nodes: Vec<Node>,
    leaves: Vec<List>,
    registry: Lock<Vec<Leaf>>,
    shape: Tiers,
    port: P,
}

/// The registration state of a leaf.
#[derive(Debug, Default)]
struct Leaf {
    tasks: usize,
    free: Free,
}

impl<P: Relax> Tiered<P> {
    /// Creates a phaser in phase 0, with the caller as its only registered task.
    ///
    /// # Errors
    /// [`PhaserError::Degree`], [`BaselineError::Tiers`], [`BaselineError::SignalOnly`].
    pub fn create(port: P, mode: Mode, shape: Tiers) -> Result<Self, BaselineError> {
        let leaves = shape.leaves()?;
        let inner = (leaves - 1) / (shape.degree - 1);
        let word = || CachePadded::new(AtomicUsize::new(0));
        let shared = Shared {
            phase: word(),
            registrations: word(),
            settled: AtomicUsize::new(0),
            nodes: (0..inner + leaves).map(|_| Node::default()).collect(),
            leaves: (0..leaves).map(|_| List::new(shape.degree)).collect(),
            registry: Lock::new((0..leaves).map(|_| Leaf::default()).collect()),
            shape,
            port,
        };
        Self::enter(Arc::new(shared), Progress::first(mode), 0)
    }

    fn enter(
        shared: Arc<Shared<P>>,
        progress: Progress,
        near: usize,
    ) -> Result<Self, BaselineError> {
        if !progress.mode.waits() {
            let asked = progress.mode;
            return Err(BaselineError::SignalOnly { asked });
        }
        let signals = progress.mode.signals();
        let seat = signals.then(|| shared.enter(progress.signalled, near));
        Ok(Self {
            shared,
            seat,
            progress,
        })
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        Phase(self.shared.phase())
    }
}

impl<P: Relax> Member for Tiered<P> {
    fn register(&mut self, mode: Mode) -> Result<Self, BaselineError> {
        let progress = self.progress.child(mode)?;
        let near = self.seat.as_ref().map_or(0, |(leaf, _)| *leaf);
        Self::enter(Arc::clone(&self.shared), progress, near)
    }

    #[inline]
    fn signal(&mut self) -> Result<(), PhaserError> {
        let signalled = self.progress.signal()?;
        if let (Some(signalled), Some((leaf, seat))) = (signalled, &self.seat) {
            self.shared.leaves[*leaf].signal(seat, signalled);
        }
        Ok(())
    }

    #[inline]
    fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        if let Some(phase) = self.progress.wait()? {
            let leaf = self.seat.as_ref().map(|(leaf, _)| *leaf);
            self.shared.wait(leaf, phase);
        }
        Ok(())
    }
}

impl<P: Relax> Drop for Tiered<P> {
    fn drop(&mut self) {
        if let Some((leaf, seat)) = self.seat.take() {
            self.shared.leave(leaf, seat);
        }
    }
}

impl<P: Relax> Shared<P> {
    /// Returns the node of a leaf.
    fn node_of(&self, leaf: usize) -> usize {
        self.nodes.len() - self.leaves.len() + leaf
    }

    fn parent(&self, node: usize) -> usize {
        (node - 1) / self.shape.degree
    }

    fn path(&self, leaf: usize) -> impl Iterator<Item = &Node> {
        let up = |node: &usize| (*node != ROOT).then(|| self.parent(*node));
        core::iter::successors(Some(self.node_of(leaf)), up).map(|node| &self.nodes[node])
    }

    /// Assigns a seat to a task that owes `start` first, in leaf `near` if there is room.
    fn enter(&self, start: usize, near: usize) -> (usize, Seat) {
        let mut registry = self.registry.lock(&self.port);
        let has_room = |leaf: &Leaf| leaf.tasks < self.shape.degree;
        let fewest = || (0..registry.len()).min_by_key(|leaf| registry[*leaf].tasks);
        let leaf = match has_room(&registry[near]) {
            true => near,
            false => registry
                .iter()
                .position(has_room)
                .or_else(fewest)
                .unwrap_or(near),
        };
        registry[leaf].tasks += 1;
        let seat = self.leaves[leaf].enter(&mut registry[leaf].free, start);
        for node in self.path(leaf) {
            node.enter();
        }
        // ORDERING: Release, pairs with Acquire in end (BT4).
        self.registrations.fetch_add(1, Ordering::Release);
        (leaf, seat)
    }

    fn leave(&self, leaf: usize, seat: Seat) {
        self.leaves[leaf].leave(&seat);
        for node in self.path(leaf) {
            node.leave();
        }
        let mut registry = self.registry.lock(&self.port);
        registry[leaf].tasks -= 1;
        self.leaves[leaf].free(&mut registry[leaf].free, seat);
    }

    #[inline]
    fn phase(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in end (BT1).
        self.phase.load(Ordering::Acquire)
    }

    #[inline]
    fn wait(&self, leaf: Option<usize>, phase: usize) {
        if self.phase() > phase {
            return;
        }
        if let Some(leaf) = leaf {
            self.climb(self.node_of(leaf), phase);
        }
        let mut turn = 0;
        while self.phase() <= phase {
            if turn >= self.shape.help_after {
                self.climb(ROOT, phase);
            }
            self.port.relax(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Gathers the node, and those above it, until another task has claimed one.
    fn climb(&self, mut node: usize, phase: usize) {
        while self.nodes[node].claim(phase) {
            self.gather(node, phase);
            if node == ROOT {
                return self.end(phase);
            }
            node = self.parent(node);
        }
    }

    fn gather(&self, node: usize, phase: usize) {
        let this = &self.nodes[node];
        match node.checked_sub(self.nodes.len() - self.leaves.len()) {
            Some(leaf) => self.leaves[leaf].gather(phase, &self.port),
            None => {
                let first = node * self.shape.degree + 1;
                for child in first..first + self.shape.degree {
                    self.wait_for(child, phase);
                }
            }
        }
        this.raise(phase);
    }

    fn wait_for(&self, child: usize, phase: usize) {
        let this = &self.nodes[child];
        let mut turn = 0;
        while this.is_behind(phase) && this.is_active() {
            if turn >= self.shape.help_after && this.claim(phase) {
                return self.gather(child, phase);
            }
            self.port.relax(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Ends `phase`, having gathered the root.
    fn end(&self, phase: usize) {
        // ORDERING: Relaxed: written by the task that ended the last phase, seen by its end (BT1).
        let mut known = self.settled.load(Ordering::Relaxed);
        loop {
            // ORDERING: Acquire, pairs with Release in enter (BT4): the signals that were seen
            // follow the registrations that their tasks made.
            let now = self.registrations.load(Ordering::Acquire);
            if now == known {
                break;
            }
            known = now;
            for leaf in &self.leaves {
                leaf.gather(phase, &self.port);
            }
        }
        // ORDERING: Relaxed: published with the end of the phase (BT1).
        self.settled.store(known, Ordering::Relaxed);
        // ORDERING: Release, pairs with Acquire in phase (BT1).
        self.phase.store(phase + 1, Ordering::Release);
    }
}
