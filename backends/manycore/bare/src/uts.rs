//! An unbalanced tree, a task a node.
//!
//! # Algorithm
//! The tree `anl` of Saraswat 2011, table 1: binomial with 2000 children at the root, two children
//! with probability 0.4995 elsewhere, seed 559. A node is a SHA-1 state; that of its child is the
//! hash of state and index.

use crate::Chip;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use sha1::block_api::compress;
use tautline_core::glb::{Bag, Share};
use tautline_core::task::Cx;

const SEED: u32 = 559;
const ROOT_CHILDREN: u32 = 2000;
/// Nodes whose last word, without its sign, is below this have two children; the product is not an
/// integer.
const LIMIT: u32 = (0.4995 * (1u64 << 31) as f64) as u32 + 1;

/// The published counts of the tree.
const ANL: Counts = Counts {
    nodes: 2_859_057,
    leaves: 1_430_528,
    depth: 1933,
};

/// Five words, most significant byte first in a block.
type State = [u32; 5];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    nodes: u64,
    leaves: u64,
    depth: u32,
}

impl Counts {
    const LEAF: Self = Self {
        nodes: 1,
        leaves: 1,
        depth: 0,
    };

    fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            leaves: self.leaves + other.leaves,
            depth: self.depth.max(other.depth),
        }
    }

    /// The words that all children share.
    fn under_a_node(self) -> Self {
        Self {
            nodes: self.nodes + 1,
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Returns the hash of a few words.
fn hash<const WORDS: usize>(words: [u32; WORDS]) -> State {
    let mut block = [0; 64];
    for (to, word) in block.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    block[4 * WORDS] = 0x80;
    block[63] = 32 * WORDS as u8;
    let mut state = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
    ];
    compress(&mut state, &[block]);
    state
}

fn child(parent: &State, index: u32) -> State {
    let [a, b, c, d, e] = *parent;
    hash([a, b, c, d, e, index])
}

fn walk(cx: &mut Cx<'_, '_, Chip>, node: State) -> Counts {
    if node[4] & (u32::MAX >> 1) >= LIMIT {
        return Counts::LEAF;
    }
    let (left, right) = cx.join(
        |cx| walk(cx, child(&node, 0)),
        |cx| walk(cx, child(&node, 1)),
    );
    left.and(right).under_a_node()
}

fn walk_all(cx: &mut Cx<'_, '_, Chip>, root: &State, children: Range<u32>) -> Counts {
    let (low, high) = (children.start, children.end);
    if high - low == 1 {
        return walk(cx, child(root, low));
    }
    let middle = low + (high - low) / 2;
    let (left, right) = cx.join(
        |cx| walk_all(cx, root, low..middle),
        |cx| walk_all(cx, root, middle..high),
    );
    left.and(right)
}

/// Counts the tree.
pub fn anl(cx: &mut Cx<'_, '_, Chip>) -> String {
    let root = hash([0, 0, 0, 0, SEED]);
    let seen = walk_all(cx, &root, 0..ROOT_CHILDREN).under_a_node();
    assert_eq!(seen, ANL);
    let Counts {
        nodes,
        leaves,
        depth,
    } = seen;
    format!("anl, {nodes} nodes, {leaves} leaves, depth {depth}")
}

/// Nodes to be visited, each with its depth, and the counts so far.
struct Nodes {
    todo: Vec<(State, u32)>,
    counts: Counts,
}

impl Bag for Nodes {
    type Shared = ();
    type Output = Counts;

    fn process(&mut self, n: usize, (): &()) -> usize {
        for done in 0..n {
            let Some((node, depth)) = self.todo.pop() else {
                return done;
            };
            let is_leaf = node[4] & (u32::MAX >> 1) >= LIMIT;
            self.counts.nodes += 1;
            self.counts.leaves += u64::from(is_leaf);
            self.counts.depth = self.counts.depth.max(depth);
            if !is_leaf {
                let children = [0, 1].map(|index| (child(&node, index), depth + 1));
                self.todo.extend(children);
            }
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        let todo = self.todo.drain(..taken).collect();
        let counts = Counts::default();
        (taken > 0).then_some(Self { todo, counts })
    }

    fn merge(&mut self, other: Self) {
        self.todo.extend(other.todo);
        self.counts = self.counts.and(other.counts);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn submit(self, output: &mut Counts) {
        *output = output.and(self.counts);
    }
}

/// Counts the same tree by global load balancing.
pub fn balanced(cx: &mut Cx<'_, '_, Chip>) -> String {
    let root = hash([0, 0, 0, 0, SEED]);
    let todo = (0..ROOT_CHILDREN).map(|index| (child(&root, index), 1));
    let counts = Counts {
        nodes: 1,
        ..Counts::default()
    };
    let nodes = Nodes {
        todo: todo.collect(),
        counts,
    };
    let seen = cx.balancer().run(nodes, |_| (), Counts::default());
    assert_eq!(seen.map(|run| run.output), Ok(ANL));
    let workers = cx.pool().balancing().workers;
    format!("anl by {workers} workers of one place")
}
