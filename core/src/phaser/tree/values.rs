//! Values that go up the tree with the signals: a reduction applied to nodes.
//!
//! # Algorithm
//! Chatterjee 2013, 6.5. The values below a node are combined before the node is raised. If a task
//! was registered in the phase itself, its leaf may have been gathered already; therefore the tree
//! combines the values of the tasks registered earlier, and the end of the phase adds the
//! newcomers' values, in the order of their registration: each value is included once. The order is
//! that of the slots, then that of the newcomers: a sum of floats has the same bits under every
//! schedule.
//!
//! A phase that tasks have left by watching each other (see `shared::watch`) has no common result:
//! each task computes it from the values, in the same order, and caches it on a private line until
//! it signals the next phase. While it is cached, no later phase can have ended, so it is valid for
//! any reader. An accumulator handle remembers the slot of the one task that contributes values
//! through it, and so finds that line; otherwise the result is computed from the values.
#![forbid(unsafe_code)]

use super::node::signal::GONE;
use super::node::{Below, Node, Slot};
use crate::phaser::config::MAX_WATCHED;
use crate::phaser::value::cell::Cells;
use crate::phaser::value::reduction::Reduction;

/// Creates the cells of an inner node.
pub(crate) fn inner_cells(reduction: Option<&Reduction>) -> Cells {
    Cells::inner(reduction.map(Reduction::width))
}

/// Creates the cells of a leaf. `watched`: whether its tasks may watch each other.
pub(crate) fn leaf_cells(reduction: Option<&Reduction>, slots: usize, watched: bool) -> Cells {
    Cells::leaf(reduction.map(Reduction::width), slots, watched, GONE)
}

impl Slot {
    /// Stores the value for the phase that the task signals next.
    pub(crate) fn put(&self, phase: usize, value: u128) {
        let (leaf, index) = self.place();
        leaf.cells.put(index, phase, value);
    }

    /// Caches the result of `phase`, which the task has left by watching.
    pub(crate) fn store_cached(&self, phase: usize, result: u128) {
        let (leaf, index) = self.place();
        leaf.cells.store_cached(index, phase, result);
    }

    /// Discards the cached result, before the task signals or leaves.
    pub(crate) fn discard_cached(&self) {
        let (leaf, index) = self.place();
        leaf.cells.discard_cached(index);
    }

    /// Returns the cached result: that of the phase that ended last. Any thread.
    #[inline]
    pub(crate) fn cached(&self) -> Option<u128> {
        let (leaf, index) = self.place();
        leaf.cells.cached(index)
    }
}

/// Combines the values of a leaf, without those of newcomers.
fn fold_slots(reduction: &Reduction, leaf: &Node, phase: usize) -> u128 {
    let slots = leaf.slots().iter().enumerate();
    reduction.fold(slots.filter_map(|(index, slot)| {
        // The signal word first: if it is that of a newly registered task, the start of that
        // task is seen, too (signal.S1).
        let there = leaf.progress(index).has_value(phase);
        (there && slot.start() < phase).then(|| leaf.cells.value(index, phase))
    }))
}

/// Combines the values below `node`, if the phaser accumulates.
#[inline]
pub(crate) fn combine(reduction: Option<&Reduction>, node: &Node, phase: usize) {
    if let Some(reduction) = reduction {
        combine_with(reduction, node, phase);
    }
}

fn combine_with(reduction: &Reduction, node: &Node, phase: usize) {
    let value = match &node.below {
        Below::Slots(_) => fold_slots(reduction, node, phase),
        Below::Nodes(_) => {
            let children = node.children();
            reduction.fold(children.filter_map(|child| child.cells.gathered(phase)))
        }
    };
    if let Some(cell) = node.cells.node(phase) {
        cell.set(phase, value);
    }
}

/// Returns the result of `phase`: the newcomers' values combined with those of the tree below
/// `top`. Called by one thread in each phase.
pub(crate) fn conclude<'a>(
    reduction: &Reduction,
    top: Option<&Node>,
    newcomers: impl Iterator<Item = &'a Slot>,
    phase: usize,
) -> u128 {
    let tree = top.and_then(|top| top.cells.gathered(phase));
    let late = newcomers.filter(|slot| slot.start() == phase);
    let late = late.filter_map(|slot| {
        let (leaf, index) = slot.place();
        let there = leaf.progress(index).has_value(phase);
        there.then(|| leaf.cells.value(index, phase))
    });
    let value = reduction.fold(tree.into_iter().chain(late));
    reduction.conclude(value)
}

/// Reads the values of a phase without newcomers in which `leaf`, a small one, was the tree. The
/// caller may use them only if no later phase has ended when this returns; otherwise they may
/// belong to two phases.
#[inline]
pub(crate) fn read_slots(leaf: &Node, phase: usize) -> [Option<u128>; MAX_WATCHED] {
    let mut values = [None; MAX_WATCHED];
    let slots = leaf.slots().iter().enumerate();
    for ((index, slot), value) in slots.zip(&mut values) {
        // The signal word first, as in `fold_slots`.
        let there = leaf.progress(index).has_value(phase);
        *value = (there && slot.start() < phase).then(|| leaf.cells.value(index, phase));
    }
    values
}

/// Returns the result of a phase that was left by watching, from the values read by [`read_slots`].
#[inline]
pub(crate) fn result_of(reduction: &Reduction, values: &[Option<u128>]) -> u128 {
    let tree = reduction.fold(values.iter().flatten().copied());
    reduction.conclude(tree)
}
