//! Gathering: the detection that all signals of a phase are present.
//!
//! Two walks examine the same children. A master visits the children of its own node in a ring, and
//! remembers its progress; a task that helps, or that signals last, examines the nodes on its path
//! from the leaf, or from the root, upwards.

use super::Tree;
use super::node::{Below, Node, Slot};
use super::values::combine;
use core::ptr::NonNull;

/// A waiting task runs its slow-path checks once every `SLOW_PATH_INTERVAL` iterations; past
/// `Config::help_after` it also helps to gather.
pub(crate) const SLOW_PATH_INTERVAL: u32 = 8;

/// The task that gathers.
#[derive(Debug)]
pub(crate) struct Gatherer {
    /// The task's own slot.
    pub(crate) slot: NonNull<Slot>,
    /// Whether that slot is in the tree.
    pub(crate) in_tree: bool,
    /// Whether the task gathers nodes that have another master, too.
    pub(crate) helps: bool,
    /// The slot of the leaf to examine first: the one that was behind last time. This avoids
    /// transfers of the other slots' lines.
    pub(crate) behind: u16,
}

/// A master's progress with the children of its node, in one phase. A child that was seen to be
/// complete is not examined again: a task registered below it later is waited for as a newcomer.
#[derive(Debug)]
pub(crate) struct Round {
    node: NonNull<Node>,
    at: usize,
    left: usize,
    /// The child that the master waits for, if that is a node, and the number of polls of it.
    child: Option<NonNull<Node>>,
    polls: u32,
}

/// The outcome of gathering.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gathered<'a> {
    /// A signal is missing below a node that this task gathers.
    Behind,
    /// The nodes above have another master.
    Left,
    /// The tree is complete. Contains the root that was seen complete, if there is one: nodes made
    /// above it since contain newcomers only.
    Complete(Option<&'a Node>),
}

impl Tree {
    /// Begins a master's round of its node, at the child where the task last waited.
    pub(crate) fn round(&self, node: NonNull<Node>, by: &Gatherer) -> Round {
        // SAFETY: nodes live as long as the phaser.
        let left = unsafe { node.as_ref() }.degree();
        let at = usize::from(by.behind).min(left - 1);
        let (child, polls) = (None, 0);
        Round {
            node,
            at,
            left,
            child,
            polls,
        }
    }

    /// Gathers the master's node, then continues towards the root until it reaches a node with
    /// another master.
    #[inline]
    pub(crate) fn gather<'a>(
        &'a self,
        round: &mut Round,
        phase: usize,
        by: &mut Gatherer,
    ) -> Gathered<'a> {
        // SAFETY: nodes live as long as the phaser, which lends this tree.
        let node = unsafe { round.node.as_ref() };
        while round.left > 0 {
            if self.is_round_behind(round, phase, by) {
                by.behind = round.at as u16;
                return Gathered::Behind;
            }
            round.child = None;
            round.at = if round.at + 1 < node.degree() {
                round.at + 1
            } else {
                0
            };
            round.left -= 1;
        }
        if node.is_behind(phase) {
            combine(self.reduction.as_ref(), node, phase);
            if node.parent().is_none() {
                return Gathered::Complete(Some(node));
            }
            node.store_gathered(phase);
        }
        self.climb(node, phase, by)
    }

    /// Whether the child that a master has reached is behind.
    #[inline]
    fn is_round_behind(&self, round: &mut Round, phase: usize, by: &mut Gatherer) -> bool {
        // SAFETY: nodes live as long as the phaser.
        let node = unsafe { round.node.as_ref() };
        let child = match &node.below {
            Below::Slots(_) => return node.owes(round.at, phase),
            Below::Nodes(_) => match round.child {
                // SAFETY: nodes live as long as the phaser.
                Some(child) => Some(unsafe { child.as_ref() }),
                None => node.child(round.at),
            },
        };
        let Some(child) = child.filter(|child| child.is_behind(phase)) else {
            return false;
        };
        round.child = Some(NonNull::from(child));
        let slow_path = round.polls % SLOW_PATH_INTERVAL == 0;
        round.polls = round.polls.wrapping_add(1);
        let gathers = by.helps || (slow_path && !child.has_master());
        !(gathers && self.pass(child, phase, by))
    }

    /// Returns the leaf of a task that signals.
    pub(crate) fn leaf_of(&self, by: &Gatherer) -> Option<&Node> {
        // SAFETY: slots and nodes live as long as the phaser.
        by.in_tree
            .then(|| unsafe { by.slot.as_ref().leaf().as_ref() })
    }

    /// Raises the nodes whose tasks have all signalled `phase`, from the task's leaf, or from the
    /// root, upwards.
    pub(crate) fn advance(&self, phase: usize, by: &mut Gatherer) -> Gathered<'_> {
        match self.leaf_of(by).or_else(|| self.root()) {
            Some(node) if self.pass(node, phase, by) => self.climb(node, phase, by),
            Some(_) => Gathered::Behind,
            None => Gathered::Complete(None),
        }
    }

    /// Continues upwards from a node that is complete.
    fn climb<'a>(&'a self, node: &'a Node, phase: usize, by: &mut Gatherer) -> Gathered<'a> {
        let mut node = node;
        while let Some(parent) = node.parent() {
            // SAFETY: nodes live as long as the phaser, which lends this tree.
            node = unsafe { parent.as_ref() };
            if !by.helps && node.has_master() {
                return Gathered::Left;
            }
            if !self.pass(node, phase, by) {
                return Gathered::Behind;
            }
        }
        Gathered::Complete(Some(node))
    }

    /// Whether all tasks below `node` have signalled `phase`; raises the node then, unless it is
    /// the root, which has no reader above.
    fn pass(&self, node: &Node, phase: usize, by: &mut Gatherer) -> bool {
        if node.is_behind(phase) {
            if !self.is_complete(node, phase, by) {
                return false;
            }
            combine(self.reduction.as_ref(), node, phase);
            if node.parent().is_some() {
                node.raise(phase);
            }
        }
        true
    }

    /// Examines the children of `node`, first the one that was behind last time.
    pub(crate) fn is_complete(&self, node: &Node, phase: usize, by: &mut Gatherer) -> bool {
        let degree = node.degree();
        let first = usize::from(by.behind).min(degree - 1);
        for index in (first..degree).chain(0..first) {
            if self.is_child_behind(node, index, phase, by) {
                if !node.slots().is_empty() {
                    by.behind = index as u16;
                }
                return false;
            }
        }
        true
    }

    /// Whether a task below child number `index` has not signalled `phase`, as far as this task may
    /// examine it.
    #[inline]
    fn is_child_behind(&self, node: &Node, index: usize, phase: usize, by: &mut Gatherer) -> bool {
        match &node.below {
            Below::Slots(_) => node.owes(index, phase),
            Below::Nodes(_) => node.child(index).is_some_and(|child| {
                child.is_behind(phase)
                    && !((by.helps || !child.has_master()) && self.pass(child, phase, by))
            }),
        }
    }
}
