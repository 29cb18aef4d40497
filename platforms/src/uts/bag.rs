//! The walk: a stack of nodes whose children are not hashed yet.

use tautline_core::glb::{Bag, Share};

use super::hash::{Block, State};
use super::rule::Rule;
use super::tree::{Level, Tree};

/// Children that are hashed before the walk looks at its stack again, about.
///
/// The next node to take is known only when the last hash before it is: in rows of this length
/// the wait is a few per cent, and the stack of a depth-first walk grows but little.
const ROW_TASKS: usize = 32;
/// Most children in a row: one full node on top of an almost full row.
const ROW_TASKS_MAX: usize = ROW_TASKS + 100;
/// Most nodes in a row.
const ROW_NODES: usize = 16;

/// What a walk has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All nodes, the root included.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The depth of the deepest node.
    pub max_depth: u32,
}

impl Counts {
    /// Adds what another part of the same walk has counted.
    pub fn add(&mut self, other: &Self) {
        self.nodes += other.nodes;
        self.leaves += other.leaves;
        self.max_depth = self.max_depth.max(other.max_depth);
    }
}

/// A node with children `low..high` still to be hashed; these are `high - low` tasks.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Interval {
    state: State,
    low: u32,
    high: u32,
    depth: u32,
}

impl Interval {
    const NONE: Self = Self {
        state: [0; 5],
        depth: 0,
        low: 0,
        high: 0,
    };

    /// As the hash wants it: without a copy, as this is how an interval lies in memory.
    #[inline(always)]
    fn words(&self) -> [u32; 8] {
        let [a, b, c, d, e] = self.state;
        [a, b, c, d, e, self.low, self.high, self.depth]
    }

    fn tasks(&self) -> usize {
        (self.high - self.low) as usize
    }
}

/// A part of an unbalanced tree search.
///
/// A task is a node still to be hashed. With [`Params::count_last_level`](super::Params) the nodes
/// of the last level are no tasks: they are counted along with their parents.
///
/// # Words
///
/// `stack[..top]` holds the intervals, none empty, their depths never falling from the bottom
/// to the top: the walk takes from the top, thieves from the bottom, where the large subtrees of
/// a geometric tree are. Behind `top` are stale intervals to be written over, so that a push is a store.
#[derive(Debug)]
pub struct Uts {
    stack: Vec<Interval>,
    top: usize,
    tasks: usize,
    counts: Counts,
}

/// Counts a whole tree on this thread alone.
pub fn sequential(tree: &Tree) -> Counts {
    let mut bag = Uts::root(tree);
    bag.process(usize::MAX, tree);
    bag.counts
}

impl Uts {
    /// The search of a whole tree, its root counted already.
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

    /// A part without work, to be given some by [`merge`](Bag::merge).
    pub fn empty() -> Self {
        Self::with(Vec::new())
    }

    /// What this part has counted so far.
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

    /// Takes up to `n` tasks off the top, the topmost first. Returns how many nodes and tasks.
    #[inline]
    fn take(&mut self, row: &mut [Interval; ROW_NODES], n: usize) -> (usize, usize) {
        let most = n.min(ROW_TASKS_MAX);
        let enough = n.min(ROW_TASKS);
        let (mut nodes, mut tasks) = (0, 0);
        while tasks < enough && nodes < ROW_NODES && self.top > 0 {
            let top = &mut self.stack[self.top - 1];
            row[nodes] = *top;
            let room = most - tasks;
            if top.tasks() > room {
                top.low += room as u32;
                row[nodes].high = top.low;
                tasks += room;
            } else {
                tasks += top.tasks();
                self.top -= 1;
            }
            nodes += 1;
        }
        self.tasks -= tasks;
        (nodes, tasks)
    }

    /// Makes sure that a row of children has a place behind the top.
    #[inline]
    fn reserve(&mut self) {
        let needed = self.top + ROW_TASKS_MAX;
        if self.stack.len() < needed {
            self.stack.resize(2 * needed, Interval::NONE);
        }
    }

    /// Hashes the children of a node and pushes those that have children themselves.
    #[inline]
    fn expand(&mut self, parent: &Interval, tree: &Tree) {
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
                Level::Steps(rule) => self.tally(parent, rule),
                rule => self.tally(parent, &rule),
            }
        } else {
            match level {
                Level::Steps(rule) => self.push(parent, rule),
                Level::Coin(rule) => self.push(parent, &rule),
                Level::Same(rule) => self.push(parent, &rule),
                Level::Law(rule) => self.push(parent, &rule),
            }
        }
    }

    #[inline(never)]
    fn push<R: Rule>(&mut self, parent: &Interval, rule: &R) {
        let slots = &mut self.stack[self.top..];
        let mut block = Block::of(&parent.words());
        let (mut pushed, mut tasks) = (0, 0);
        for index in parent.low..parent.high {
            let state = block.child(index);
            let children = rule.count(state[4]);
            // Written in any case: whether it counts is then an addition, not a branch that
            // nobody can predict.
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

    /// Hashes the children of a node and counts their children, which all are leaves.
    #[inline(never)]
    fn tally<R: Rule>(&mut self, parent: &Interval, rule: &R) {
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

    /// Takes `amount` of `self.tasks` tasks, the same part of every interval as nearly as whole
    /// tasks allow.
    fn split_evenly(&mut self, amount: usize) -> Vec<Interval> {
        let (all, amount) = (self.tasks as u128, amount as u128);
        let mut loot = Vec::with_capacity(self.top);
        let (mut seen, mut gone, mut kept) = (0, 0, 0);
        for at in 0..self.top {
            let mut own = self.stack[at];
            // Rounding the running sum, not each interval, lets single tasks alternate.
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

    /// Takes `amount` tasks from the bottom.
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
        let mut row = [Interval::NONE; ROW_NODES];
        let mut left = n;
        while left > 0 && self.top > 0 {
            let (nodes, tasks) = self.take(&mut row, left);
            self.reserve();
            // From the shallow to the deep, as the stack is.
            for parent in row[..nodes].iter().rev() {
                self.expand(parent, tree);
            }
            left -= tasks;
        }
        n - left
    }

    /// `Half` and `Ration` take the same part of every level, so that both sides keep near and
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

    /// Intervals of both are put in the order of their depths: the bottom, where thieves take
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

    fn submit(self, output: &mut Counts) {
        output.add(&self.counts);
    }
}
