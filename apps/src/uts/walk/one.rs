//! The turn of a walk that hashes one by one.
//!
//! The stack afterwards equals that of a walk in lanes, but nothing is arranged in columns: the
//! processor overlaps a hash with the counting and storing of the previous one.

use super::Uts;
use crate::uts::hash::{Block, Interval};
use crate::uts::rule::Rule;
use crate::uts::tree::{Level, Tree};

impl Uts {
    /// Hashes the children of a node and pushes those that have children.
    #[inline]
    pub(super) fn expand_one_by_one(&mut self, parent: &Interval, tree: &Tree) {
        let depth = parent.depth + 1;
        self.counts.max_depth = self.counts.max_depth.max(depth);
        if tree.params().granularity > 1 {
            let mut block = Block::of(&parent.words());
            for index in parent.low..parent.high {
                block.repeat(index, tree.params().granularity - 1);
            }
        }
        let level = tree.level(depth);
        if tree.tallies(depth) {
            match level {
                Level::Steps(rule) => self.hash_and_tally(parent, rule),
                rule => self.hash_and_tally(parent, &rule),
            }
        } else {
            match level {
                Level::Steps(rule) => self.hash_and_push(parent, rule),
                Level::Coin(rule) => self.hash_and_push(parent, &rule),
                Level::Same(rule) => self.hash_and_push(parent, &rule),
                Level::Law(rule) => self.hash_and_push(parent, &rule),
            }
        }
    }

    #[inline(never)]
    fn hash_and_push<R: Rule>(&mut self, parent: &Interval, rule: &R) {
        let slots = &mut self.stack[self.top..];
        let mut block = Block::of(&parent.words());
        let (mut pushed, mut tasks) = (0, 0);
        for index in parent.low..parent.high {
            let state = block.child(index);
            let children = rule.count(state[4]);
            // Written unconditionally: whether it counts is then an addition instead of an
            // unpredictable branch.
            slots[pushed] = Interval {
                state,
                depth: parent.depth + 1,
                low: 0,
                high: children,
            };
            pushed += usize::from(children > 0);
            tasks += children as usize;
        }
        self.top += pushed;
        self.tasks += tasks;
        self.counts.nodes += parent.tasks() as u64;
        self.counts.leaves += (parent.tasks() - pushed) as u64;
    }

    /// Hashes the children of a node and counts their children, which are all leaves.
    #[inline(never)]
    fn hash_and_tally<R: Rule>(&mut self, parent: &Interval, rule: &R) {
        let mut block = Block::of(&parent.words());
        let (mut nodes, mut leaves) = (0, 0);
        for index in parent.low..parent.high {
            let children = rule.count(block.child(index)[4]);
            nodes += 1 + u64::from(children);
            leaves += u64::from(children.max(1));
        }
        self.counts.nodes += nodes;
        self.counts.leaves += leaves;
        if nodes > parent.tasks() as u64 {
            self.counts.max_depth = self.counts.max_depth.max(parent.depth + 2);
        }
    }
}
