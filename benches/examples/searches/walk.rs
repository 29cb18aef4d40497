//! A rank's part of the tree, and its exploration.

use tautline_cli::uts::{Counts, Node, Tree, Uts};
use tautline_core::glb::{Bag as _, Share};
use tautline_core::wire::{pack, unpack};

/// A part of the search. A chunk on its way to another worker or rank is a part too.
pub(crate) trait Walk: Send + Sized {
    /// The whole tree.
    fn whole(tree: &Tree) -> Self;

    /// Nothing.
    fn empty() -> Self;

    /// Explores up to `most` nodes, depth first.
    fn explore(&mut self, most: usize, tree: &Tree);

    /// Nodes that are held and not explored.
    fn held(&self) -> usize;

    /// Removes the oldest `chunk` nodes, fewer than are held.
    fn release(&mut self, chunk: usize) -> Self;

    /// Adds a chunk.
    fn accept(&mut self, chunk: Self);

    /// The nodes that were counted here.
    fn counts(&self) -> Counts;

    /// Encodes a chunk as a message.
    fn encode(self) -> Vec<u8>;

    /// Decodes what another rank has encoded.
    fn decode(message: &[u8]) -> Self;
}

/// A stack of nodes that are hashed and whose children are not: one hash after the other.
#[derive(Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    /// Nodes below this one were released.
    bottom: usize,
    counts: Counts,
}

impl Walk for Nodes {
    fn whole(tree: &Tree) -> Self {
        let nodes = vec![tree.root()];
        Self {
            nodes,
            ..Self::default()
        }
    }

    fn empty() -> Self {
        Self::default()
    }

    #[inline]
    fn explore(&mut self, most: usize, tree: &Tree) {
        for _ in 0..most {
            if self.nodes.len() == self.bottom {
                break;
            }
            let Some(node) = self.nodes.pop() else { break };
            let children = tree.children(&node);
            self.counts.nodes += 1;
            self.counts.leaves += u64::from(children == 0);
            self.counts.max_depth = self.counts.max_depth.max(node.depth());
            self.nodes
                .extend((0..children).map(|index| tree.child(&node, index)));
        }
    }

    #[inline]
    fn held(&self) -> usize {
        self.nodes.len() - self.bottom
    }

    fn release(&mut self, chunk: usize) -> Self {
        let end = self.bottom + chunk;
        let nodes = self.nodes[self.bottom..end].to_vec();
        self.bottom = end;
        // Rarely, so that it costs a node little.
        if 2 * self.bottom > self.nodes.len() {
            self.nodes.drain(..self.bottom);
            self.bottom = 0;
        }
        Self {
            nodes,
            ..Self::default()
        }
    }

    fn accept(&mut self, chunk: Self) {
        self.nodes.extend_from_slice(&chunk.nodes[chunk.bottom..]);
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn encode(self) -> Vec<u8> {
        let words = self.nodes[self.bottom..]
            .iter()
            .flat_map(|node| <[u32; 8]>::from(*node));
        words.flat_map(u32::to_ne_bytes).collect()
    }

    fn decode(message: &[u8]) -> Self {
        let word = |bytes: &[u8]| u32::from_ne_bytes(bytes.try_into().expect("4 bytes"));
        let node = |bytes: &[u8]| {
            let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
            Node::from(<[u32; 8]>::try_from(words).expect("8 words"))
        };
        Self {
            nodes: message.chunks_exact(size_of::<Node>()).map(node).collect(),
            ..Self::default()
        }
    }
}

/// The bag that the balancer of the library explores: intervals of children, hashed in lanes of
/// vectors.
pub(crate) struct Intervals(Uts);

impl Walk for Intervals {
    fn whole(tree: &Tree) -> Self {
        Self(Uts::root(tree))
    }

    fn empty() -> Self {
        Self(Uts::empty())
    }

    #[inline]
    fn explore(&mut self, most: usize, tree: &Tree) {
        self.0.process(most, tree);
    }

    #[inline]
    fn held(&self) -> usize {
        self.0.len()
    }

    fn release(&mut self, chunk: usize) -> Self {
        let chunk = self.0.split(Share::Count(chunk));
        Self(chunk.expect("more is held"))
    }

    fn accept(&mut self, chunk: Self) {
        self.0.merge(chunk.0);
    }

    fn counts(&self) -> Counts {
        *self.0.counts()
    }

    fn encode(self) -> Vec<u8> {
        let mut message = Vec::new();
        pack(&self.0, &mut message).expect("a bag is encodable");
        message
    }

    fn decode(message: &[u8]) -> Self {
        Self(unpack(message).expect("another rank has packed it"))
    }
}
