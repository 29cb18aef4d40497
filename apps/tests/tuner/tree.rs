//! A tree whose large parts are walked in a few instructions, so that long runs of many workers can
//! be simulated.

use std::sync::LazyLock;
use tautline::balance::{Bag, Share};

/// A geometric tree cut at a depth, with four children a node on average, as the benchmark's trees
/// of that kind are. A node is of one of [`KINDS`] kinds, and what is below it follows from its
/// kind and its depth; so a subtree that fits into a turn is done in one step.
///
/// # Words
/// `open`: nodes with children that are tasks still, depths never falling towards the end, none
/// empty; the owner works at the end, others take the same part of every level.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    open: Vec<Node>,
    tasks: usize,
    done: u64,
}

/// A node and those of its children that have not been visited.
#[derive(Clone, Copy, Debug)]
struct Node {
    kind: usize,
    /// Levels below it.
    height: usize,
    low: u32,
    high: u32,
}

impl Node {
    fn tasks(&self) -> usize {
        (self.high - self.low) as usize
    }
}

/// Kinds of nodes.
const KINDS: usize = 1024;
const HEIGHT_MAX: usize = 20;

/// By height and kind: the nodes of the subtree.
static SIZES: LazyLock<Vec<[u64; KINDS]>> = LazyLock::new(|| {
    let mut sizes = vec![[1; KINDS]];
    while sizes.len() <= HEIGHT_MAX {
        let below = sizes[sizes.len() - 1];
        let size = |kind| {
            (0..CHILDREN[kind])
                .map(|child| below[child_of(kind, child)])
                .sum::<u64>()
        };
        sizes.push(std::array::from_fn(|kind| 1 + size(kind)));
    }
    sizes
});

/// By kind: geometrically distributed with mean 4, another child with probability 4/5.
static CHILDREN: LazyLock<[u32; KINDS]> = LazyLock::new(|| {
    std::array::from_fn(|kind| {
        let chance = (kind as f64 + 0.5) / KINDS as f64;
        (chance.ln() / 0.8f64.ln()) as u32
    })
});

/// The kind of a child.
fn child_of(kind: usize, child: u32) -> usize {
    mix(kind as u64 * 64 + u64::from(child)) as usize % KINDS
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014), one step from `x`.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

impl Tree {
    /// About 4^depth nodes.
    pub(crate) fn new(depth: usize) -> Self {
        // A root with four children.
        let kind = CHILDREN.iter().position(|&children| children == 4);
        let root = Node {
            kind: kind.expect("some kind has four children"),
            height: depth,
            low: 0,
            high: 4,
        };
        Self::part(vec![root])
    }

    /// All tasks in it, those to be found included.
    pub(crate) fn size(&self) -> u64 {
        let of = |node: &Node| -> u64 {
            let below = &SIZES[node.height - 1];
            (node.low..node.high)
                .map(|child| below[child_of(node.kind, child)])
                .sum()
        };
        self.open.iter().map(of).sum()
    }

    fn part(open: Vec<Node>) -> Self {
        Self {
            tasks: open.iter().map(Node::tasks).sum(),
            open,
            done: 0,
        }
    }
}

impl Bag for Tree {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let mut left = n;
        while left > 0 {
            let Some(parent) = self.open.last_mut() else {
                break;
            };
            let kind = child_of(parent.kind, parent.low);
            let height = parent.height - 1;
            parent.low += 1;
            if parent.low == parent.high {
                self.open.pop();
            }
            self.tasks -= 1;
            let size = SIZES[height][kind];
            if size <= left as u64 {
                left -= size as usize;
            } else {
                left -= 1;
                let high = CHILDREN[kind];
                self.tasks += high as usize;
                self.open.push(Node {
                    kind,
                    height,
                    low: 0,
                    high,
                });
            }
        }
        self.done += (n - left) as u64;
        n - left
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let amount = share.of(self.tasks);
        if amount == 0 {
            return None;
        }
        let (mut seen, mut gone) = (0, 0);
        let mut given = Vec::with_capacity(self.open.len());
        for node in &mut self.open {
            // The running sum is rounded, so single tasks alternate.
            seen += node.tasks();
            let due = seen * amount / self.tasks - gone;
            gone += due;
            let cut = node.high - due as u32;
            if due > 0 {
                given.push(Node { low: cut, ..*node });
            }
            node.high = cut;
        }
        self.open.retain(|node| node.tasks() > 0);
        self.tasks -= amount;
        Some(Self::part(given))
    }

    fn merge(&mut self, mut other: Self) {
        self.open.append(&mut other.open);
        self.open.sort_by_key(|node| std::cmp::Reverse(node.height));
        self.tasks += other.tasks;
        self.done += other.done;
    }

    fn len(&self) -> usize {
        self.tasks
    }

    fn submit(self, output: &mut u64) {
        *output += self.done;
    }
}
