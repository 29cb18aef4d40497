//! The walk: a stack of nodes whose children are not hashed yet.

mod one;
mod portable;

use std::cell::Cell;
use std::hint::black_box;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use tautline_core::glb::{Bag, Share};

use super::hash::{Interval, ROW, Row};
use super::rule::{Rule, Same};
use super::tree::{Level, Tree};

/// The counts of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All nodes, the root included.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The depth of the deepest node.
    pub max_depth: u32,
}

impl Counts {
    /// Adds the counts of another part of the same walk.
    pub fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        self.leaves += other.leaves;
        self.max_depth = self.max_depth.max(other.max_depth);
    }
}

/// A part of an unbalanced tree search.
///
/// A task is a node still to be hashed. With [`Params::count_last_level`](super::Params) the nodes
/// of the last level are not tasks: they are counted along with their parents.
///
/// ```
/// use tautline::prelude::*;
/// use tautline_cli::uts::{Counts, Tree, Uts, named};
///
/// let params = named::find("T3")?.params;
/// let tree = || Tree::new(params).expect("a published tree");
/// let run = tautline::balancer().run(Uts::root(&tree()), |_place| tree(), Counts::default())?;
/// assert_eq!(run.output.nodes, 4_112_897);
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Words
///
/// `stack[..top]` contains the intervals, none empty, in ascending order of their depths: the walk
/// takes from the top, thieves from the bottom, where the large subtrees of a geometric tree are.
/// After `top` are stale intervals to be overwritten, so that a push is a store.
#[derive(Debug)]
pub struct Uts {
    stack: Vec<Interval>,
    top: usize,
    tasks: usize,
    counts: Counts,
}

/// The buffers in which a row is processed.
///
/// Aligned to a page: elsewhere in memory the walk took up to 4 % longer on an AMD EPYC, probably
/// since a load waits for an earlier store whose address agrees with its own in the low 12 bits.
#[derive(Debug)]
#[repr(align(4096))]
struct Work {
    parents: [Interval; ROW],
    children: Row,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            parents: [Interval::NONE; ROW],
            children: Row::default(),
        }
    }
}

thread_local! {
    /// The row of this thread, kept from one call of `process` to the next. One in each bag would
    /// take most of the memory of a simulation, which has very many bags.
    static WORK: Cell<Option<Box<Work>>> = const { Cell::new(None) };
}

/// Counts a whole tree on the calling thread.
pub fn sequential(tree: &Tree) -> Counts {
    let mut bag = Uts::root(tree);
    bag.process(usize::MAX, tree);
    bag.counts
}

impl Uts {
    /// Creates the search of a whole tree; its root has been counted.
    pub fn root(tree: &Tree) -> Self {
        let root = tree.root();
        let children = tree.children(&root);
        let mut bag = Self::with(Vec::new());
        bag.counts.nodes = 1;
        if tree.tallies(0) {
            bag.counts.nodes += u64::from(children);
            bag.counts.leaves = u64::from(children.max(1));
            bag.counts.max_depth = u32::from(children > 0);
        } else if children == 0 {
            bag.counts.leaves = 1;
        } else {
            bag.stack.push(Interval {
                state: *root.state(),
                depth: 0,
                low: 0,
                high: children,
            });
            bag.top = 1;
            bag.tasks = children as usize;
        }
        bag
    }

    /// Creates a part without work, for [`merge`](Bag::merge).
    pub fn empty() -> Self {
        Self::with(Vec::new())
    }

    /// Returns the counts of this part so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn with(stack: Vec<Interval>) -> Self {
        Self {
            top: stack.len(),
            tasks: stack.iter().map(Interval::tasks).sum(),
            stack,
            counts: Counts::default(),
        }
    }

    /// Takes up to `n` tasks from the top, at most a row, the topmost node first. Returns the
    /// numbers of nodes and tasks.
    #[inline]
    fn take(&mut self, parents: &mut [Interval; ROW], n: usize) -> (usize, usize) {
        let most = n.min(ROW);
        let (mut nodes, mut tasks) = (0, 0);
        while tasks < most && self.top > 0 {
            let top = &mut self.stack[self.top - 1];
            let room = most - tasks;
            parents[nodes] = *top;
            if top.tasks() > room {
                top.low += room as u32;
                parents[nodes].high = top.low;
                tasks = most;
            } else {
                tasks += top.tasks();
                self.top -= 1;
            }
            nodes += 1;
        }
        self.tasks -= tasks;
        (nodes, tasks)
    }

    /// Ensures space for the children hashed by this number of tasks after the top.
    #[inline]
    fn reserve(&mut self, tasks: usize) {
        let needed = self.top + tasks;
        if self.stack.len() < needed {
            self.stack.resize(2 * needed, Interval::NONE);
        }
    }

    /// Hashes the children of a row of nodes and pushes those that have children.
    #[inline]
    fn expand_in_lanes(&mut self, parents: &[Interval], row: &mut Row, tree: &Tree) {
        for _ in 0..tree.params().granularity {
            // As if the value were new each time.
            tree.engine().hash(row, black_box(parents));
        }
        let mut first = 0;
        for level in parents.chunk_by(|a, b| a.depth == b.depth).rev() {
            let end = first + level.iter().map(Interval::tasks).sum::<usize>();
            self.settle(row, first..end, level[0].depth + 1, tree);
            first = end;
        }
    }

    /// Counts the hashed children of nodes of one depth and pushes those that have children.
    #[inline]
    fn settle(&mut self, row: &Row, children: Range<usize>, depth: u32, tree: &Tree) {
        self.counts.max_depth = self.counts.max_depth.max(depth);
        self.counts.nodes += children.len() as u64;
        let tallies = tree.tallies(depth);
        match tree.level(depth) {
            Level::Same(Same(0)) => self.counts.leaves += children.len() as u64,
            Level::Same(rule) if tallies => self.tally(row, children, depth, &rule),
            Level::Steps(rule) if tallies => self.tally(row, children, depth, rule),
            Level::Steps(rule) => self.push(row, children, depth, rule),
            Level::Coin(rule) => self.push(row, children, depth, &rule),
            Level::Same(rule) => self.push(row, children, depth, &rule),
            Level::Law(rule) if tallies => self.tally(row, children, depth, &rule),
            Level::Law(rule) => self.push(row, children, depth, &rule),
        }
    }

    #[inline(never)]
    fn push<R: Rule>(&mut self, row: &Row, children: Range<usize>, depth: u32, rule: &R) {
        let first = children.start;
        let words = &row.last_words()[children];
        let mut counts = [0; ROW];
        for (count, word) in counts.iter_mut().zip(words) {
            *count = rule.count(*word);
        }
        // Written unconditionally: whether a child counts is then an addition instead of an
        // unpredictable branch.
        let mut inner = [0; ROW];
        let (mut pushed, mut tasks) = (0, 0);
        for (at, count) in counts[..words.len()].iter().enumerate() {
            inner[pushed] = at as u8;
            pushed += usize::from(*count > 0);
            tasks += *count as usize;
        }
        let slots = &mut self.stack[self.top..][..pushed];
        for (slot, at) in slots.iter_mut().zip(inner) {
            let at = usize::from(at) % ROW;
            *slot = Interval {
                state: row.state((first + at) % ROW),
                low: 0,
                high: counts[at],
                depth,
            };
        }
        self.top += pushed;
        self.tasks += tasks;
        self.counts.leaves += (words.len() - pushed) as u64;
    }

    /// Counts the hashed children's children, which are all leaves.
    #[inline(never)]
    fn tally<R: Rule>(&mut self, row: &Row, children: Range<usize>, depth: u32, rule: &R) {
        let (mut nodes, mut leaves) = (0, 0);
        for word in &row.last_words()[children] {
            let children = rule.count(*word);
            nodes += u64::from(children);
            leaves += u64::from(children.max(1));
        }
        self.counts.nodes += nodes;
        self.counts.leaves += leaves;
        if nodes > 0 {
            self.counts.max_depth = self.counts.max_depth.max(depth + 1);
        }
    }

    /// Removes `amount` of `self.tasks` tasks, the same share of every interval as nearly as whole
    /// tasks allow.
    fn split_evenly(&mut self, amount: usize) -> Vec<Interval> {
        let (all, amount) = (self.tasks as u128, amount as u128);
        let mut loot = Vec::with_capacity(self.top);
        let (mut seen, mut gone, mut kept) = (0, 0, 0);
        for at in 0..self.top {
            let mut own = self.stack[at];
            // Rounding the running sum, not each interval, makes single tasks alternate.
            seen += own.tasks() as u128;
            let due = (seen * amount / all) as usize;
            let given = due - gone;
            gone = due;
            if given > 0 {
                let cut = own.high - given as u32;
                loot.push(Interval { low: cut, ..own });
                own.high = cut;
            }
            self.stack[kept] = own;
            kept += usize::from(own.low < own.high);
        }
        self.top = kept;
        loot
    }

    /// Removes `amount` tasks from the bottom.
    fn split_bottom(&mut self, amount: usize) -> Vec<Interval> {
        let mut rest = amount;
        let mut whole = 0;
        while self.stack[whole].tasks() <= rest {
            rest -= self.stack[whole].tasks();
            whole += 1;
        }
        let mut loot: Vec<_> = self.stack.drain(..whole).collect();
        self.top -= whole;
        if rest > 0 {
            let own = &mut self.stack[0];
            let cut = own.high - rest as u32;
            loot.push(Interval { low: cut, ..*own });
            own.high = cut;
        }
        loot
    }
}

impl Bag for Uts {
    type Shared = Tree;
    type Output = Counts;

    fn process(&mut self, n: usize, tree: &Tree) -> usize {
        let mut row = WORK.take().unwrap_or_default();
        let mut left = n;
        while left > 0 && self.top > 0 {
            let (nodes, tasks) = self.take(&mut row.parents, left);
            self.reserve(tasks);
            let parents = &row.parents[..nodes];
            // In ascending order of depth, as on the stack.
            if tree.engine().lanes() > 1 {
                self.expand_in_lanes(parents, &mut row.children, tree);
            } else {
                for parent in parents.iter().rev() {
                    self.expand_one_by_one(parent, tree);
                }
            }
            left -= tasks;
        }
        WORK.set(Some(row));
        if self.top == 0 {
            // The stack of the next work replaces it, see `merge`.
            self.stack = Vec::new();
        }
        n - left
    }

    /// `Half` and `Ration` take the same share of every level, so that both sides keep near and
    /// far subtrees alike. `Count` takes from the bottom.
    fn split(&mut self, share: Share) -> Option<Self> {
        let amount = share.of(self.tasks);
        if amount == 0 {
            return None;
        }
        let loot = match share {
            Share::Half | Share::Refill | Share::Ration(_) => self.split_evenly(amount),
            Share::Count(_) => self.split_bottom(amount),
        };
        self.tasks -= amount;
        Some(Self::with(loot))
    }

    /// Merges the intervals in the order of their depths: the bottom, where thieves take
    /// from, stays nearest to the root, and the walk stays depth-first.
    fn merge(&mut self, mut other: Self) {
        if self.top < other.top {
            std::mem::swap(&mut self.stack, &mut other.stack);
            std::mem::swap(&mut self.top, &mut other.top);
        }
        self.stack.truncate(self.top);
        self.stack.extend_from_slice(&other.stack[..other.top]);
        if other.top > 0 {
            // Two sorted runs: this is one merge.
            self.stack.sort_by_key(|interval| interval.depth);
        }
        self.top = self.stack.len();
        self.tasks += other.tasks;
        self.counts.add(&other.counts);
    }

    fn len(&self) -> usize {
        self.tasks
    }

    fn drop_tasks(&mut self) {
        self.stack.clear();
        self.top = 0;
        self.tasks = 0;
    }

    fn submit(self, output: &mut Counts) {
        output.add(&self.counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uts::{Engine, named};

    #[test]
    fn every_engine_leaves_the_same_stack() {
        for name in ["D7", "anl", "T5", "T4"] {
            let params = named::find(name).unwrap().params;
            let trees = Engine::all().chain([Engine::fastest()]);
            let trees: Vec<_> = trees
                .map(|engine| Tree::with_engine(params, engine).unwrap())
                .collect();
            let mut bags: Vec<_> = trees.iter().map(Uts::root).collect();
            for n in (1..300).chain([511; 40]) {
                for (bag, tree) in bags.iter_mut().zip(&trees) {
                    bag.process(n, tree);
                }
                let one = &bags[0].stack[..bags[0].top];
                assert!(one.is_sorted_by_key(|interval| interval.depth));
                assert!(
                    bags.iter().all(|bag| bag.stack[..bag.top] == *one),
                    "{name}"
                );
            }
        }
    }
}
