//! Registration: slots for newcomers, and the growth of the tree.
//!
//! # Algorithm
//! Leaf i has index i at level 0; the node of index x at level k has the parent x / degree at level
//! k + 1. A new leaf becomes a child of its left neighbour's parent if that has room; otherwise a
//! new parent is made and linked likewise. That takes only the last node of each level (Chatterjee
//! 2013, algorithms 2 and 3, which leave the construction of inner nodes open).

use super::Tree;
use super::arena::Registry;
use super::node::{Node, Slot};
use super::values::{inner_cells, leaf_cells};
use crate::phaser::mode::Mode;
use crate::phaser::word::PhaseWord;
use crate::port::Relax;
use crate::sync::Ordering;
use core::ptr::NonNull;

/// A task's place in the tree.
pub(crate) struct Registered {
    pub(crate) slot: NonNull<Slot>,
    pub(crate) master_of: Option<NonNull<Node>>,
}

impl Tree {
    /// Registers a task that owes the signal of phase `start` first, unless it only waits. Called
    /// by a registered task, before its own next signal, or by the creator.
    pub(crate) fn register(
        &self,
        mode: Mode,
        start: usize,
        word: &PhaseWord,
        relax: &impl Relax,
    ) -> Registered {
        let mut registry = self.registry.lock(relax);
        if !mode.signals() {
            let slot = self.wait_only_slot(&mut registry);
            return Registered {
                slot,
                master_of: None,
            };
        }
        let (slot, mut vacant) = match self.reuse(&mut registry, word) {
            Some(slot) => {
                self.admit(slot, start, word);
                (slot, 0)
            }
            None => self.extend(&mut registry, start, word),
        };
        let master_of = mode.waits().then(|| self.find_node(slot)).flatten();
        vacant -= usize::from(vacant > 0 && master_of.is_some());
        if vacant > 0 {
            self.add_vacancy();
        }
        Registered { slot, master_of }
    }

    /// Frees the slot of a task that has left.
    pub(crate) fn free(&self, slot: NonNull<Slot>, mode: Mode, relax: &impl Relax) {
        match mode.signals() {
            true => self.free.push(slot),
            false => self.registry.lock(relax).wait_only.push(slot),
        }
    }

    /// Returns the number of leaves, and of levels of nodes.
    pub(crate) fn shape(&self, relax: &impl Relax) -> (usize, usize) {
        let registry = self.registry.lock(relax);
        let leaves = registry.last.first().map_or(0, |(_, index)| index + 1);
        (leaves, registry.last.len())
    }

    /// Assigns a slot to a task that owes `start` next.
    fn admit(&self, slot: NonNull<Slot>, start: usize, word: &PhaseWord) {
        // SAFETY: slots live as long as the phaser.
        unsafe { slot.as_ref() }.occupy(start);
        self.pad.append(slot, word.phase());
    }

    /// Returns the slot that has been free for longest, unless the last signal and value in it may
    /// still be needed.
    fn reuse(&self, registry: &mut Registry, word: &PhaseWord) -> Option<NonNull<Slot>> {
        // The slot's values are needed until the phase has ended, and the pad may contain it until
        // the next phase has: if it were there twice, its value would be included twice.
        let ready = |since, phase| self.reduction.is_none() || since + 1 < phase;
        registry.reuse(&self.free, || word.phase(), ready)
    }

    /// Returns the next slot of the last leaf, or the first of a new one, with the number of nodes
    /// made for it.
    fn extend(
        &self,
        registry: &mut Registry,
        start: usize,
        word: &PhaseWord,
    ) -> (NonNull<Slot>, usize) {
        let degree = self.degree;
        if let Some((leaf, _)) = registry.last.first() {
            // SAFETY: nodes live as long as the phaser.
            let slots = unsafe { leaf.as_ref() }.slots();
            if let Some(slot) = slots.get(registry.used) {
                registry.used += 1;
                let slot = NonNull::from(slot);
                self.admit(slot, start, word);
                return (slot, 0);
            }
        }
        // Only the first leaf can be the whole tree.
        let watched = registry.last.is_empty() && self.can_watch;
        let cells = leaf_cells(self.reduction.as_ref(), degree, watched);
        // Not the phase that its first task owes, which may be far ahead: the next task in the
        // leaf, or in that slot, may owe an earlier one.
        let phase = word.phase();
        let paired = watched && self.reduction.is_none();
        let leaf = self.arena.keep(Node::leaf(degree, phase, paired, cells));
        registry.used = 1;
        // SAFETY: nodes live as long as the phaser.
        let slot = NonNull::from(&unsafe { leaf.as_ref() }.slots()[0]);
        // Before the node is linked: the newcomers of a tree that has grown must be on the pad.
        self.admit(slot, start, word);
        (slot, 1 + self.link(registry, leaf))
    }

    /// Links a new leaf into the tree; returns the number of inner nodes made for it.
    fn link(&self, registry: &mut Registry, leaf: NonNull<Node>) -> usize {
        let degree = self.degree;
        let mut node = leaf;
        for level in 0.. {
            let Some((left, index)) = registry.last.get(level).copied() else {
                registry.last.push((node, 0));
                if level == 0 {
                    self.set_root(node);
                }
                return level;
            };
            let index = index + 1;
            registry.last[level] = (node, index);
            // SAFETY: nodes live as long as the phaser.
            let (below, left_node) = unsafe { (node.as_ref(), left.as_ref()) };
            let cells = inner_cells(self.reduction.as_ref());
            if index % degree == 0 {
                let above = self.arena.keep(Node::inner(degree, node, None, cells));
                below.set_parent(above);
                node = above;
                continue;
            }
            if let Some(parent) = left_node.parent() {
                below.set_parent(parent);
                // SAFETY: nodes live as long as the phaser.
                unsafe { parent.as_ref() }.set_child(index % degree, node);
                return level;
            }
            let root = Node::inner(degree, left, Some(node), cells);
            let root = self.arena.keep(root);
            registry.last.push((root, 0));
            below.set_parent(root);
            left_node.set_parent(root);
            self.set_root(root);
            return level + 1;
        }
        unreachable!("a tree has fewer levels than words have bits")
    }

    /// Returns a slot for a wait-only task.
    fn wait_only_slot(&self, registry: &mut Registry) -> NonNull<Slot> {
        // ORDERING: Relaxed: see has_wait_only.
        self.has_wait_only.store(true, Ordering::Relaxed);
        registry.wait_only.pop().unwrap_or_else(|| {
            let cells = inner_cells(None);
            let node = Node::leaf(self.degree, 0, false, cells);
            let node = self.arena.keep(node);
            // SAFETY: nodes live as long as the phaser.
            let slots = unsafe { node.as_ref() }.slots().iter();
            registry.wait_only.extend(slots.map(NonNull::from));
            registry.wait_only.pop().expect("a node has slots")
        })
    }
}
