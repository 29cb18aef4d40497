//! A tree of tasks that follows from its seed.

use tautline_core::glb::{Bag, Share};

/// A tree that follows from its seed alone: a node's children follow from its number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Number and depth; the owner works at the back, others take from the front.
    pub(crate) nodes: Vec<(u64, u32)>,
    depth: u32,
    done: Done,
}

/// The tasks done: equal for two runs only if both did the same tasks, each the same number of
/// times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) nodes: u64,
    /// The sum of their numbers.
    pub(crate) sum: u64,
}

impl Done {
    pub(crate) fn add(&mut self, nodes: u64, sum: u64) {
        self.nodes += nodes;
        self.sum = self.sum.wrapping_add(sum);
    }
}

impl Tree {
    /// About 3^depth nodes, every inner one with 1 to 5 children.
    pub(crate) fn new(seed: u64, depth: u32) -> Self {
        Self {
            nodes: vec![(mix(seed), 0)],
            depth,
            done: Done::default(),
        }
    }

    /// The result of a sequential run.
    pub(crate) fn all(&self) -> Done {
        let mut all = self.clone();
        all.process(usize::MAX, &());
        all.done
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

impl Bag for Tree {
    type Shared = ();
    type Output = Done;

    fn process(&mut self, n: usize, (): &()) -> usize {
        for done in 0..n {
            let Some((node, depth)) = self.nodes.pop() else {
                return done;
            };
            self.done.add(1, node);
            if depth < self.depth {
                for child in 0..1 + node % 5 {
                    self.nodes.push((mix(node ^ child), depth + 1));
                }
            }
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let take = share.of(self.nodes.len());
        (take > 0).then(|| Self {
            nodes: self.nodes.drain(..take).collect(),
            depth: self.depth,
            done: Done::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
        self.done.add(other.done.nodes, other.done.sum);
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn submit(self, output: &mut Done) {
        output.add(self.done.nodes, self.done.sum);
    }
}
