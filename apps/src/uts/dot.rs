//! The shape of a small tree for Graphviz.

use super::tree::{Node, Tree};
use std::io::{self, Write};

/// The largest number of nodes that are drawn.
pub const DRAWN_MAX: usize = 10_000;

/// The parent of each node of a small tree, in the order of a walk by breadth; the root has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing(Vec<Option<usize>>);

impl Drawing {
    /// Walks a tree. Returns `None` if it has more than [`DRAWN_MAX`] nodes.
    pub fn new(tree: &Tree) -> Option<Self> {
        let mut nodes: Vec<(Node, Option<usize>)> = vec![(tree.root(), None)];
        let mut at = 0;
        while let Some((node, _)) = nodes.get(at).copied() {
            let children = tree.children(&node);
            if nodes.len() + children as usize > DRAWN_MAX {
                return None;
            }
            nodes.extend((0..children).map(|index| (tree.child(&node, index), Some(at))));
            at += 1;
        }
        Some(Self(nodes.into_iter().map(|(_, parent)| parent).collect()))
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Writes the tree in the language of Graphviz: `dot -Tsvg FILE.dot`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, title: &str) -> io::Result<()> {
        writeln!(out, "graph \"{title}\" {{")?;
        writeln!(out, "  node [shape=point];")?;
        for (node, parent) in self.0.iter().enumerate() {
            match parent {
                None => writeln!(out, "  {node} [shape=circle, label=\"\", width=0.15];")?,
                Some(parent) => writeln!(out, "  {parent} -- {node};")?,
            }
        }
        writeln!(out, "}}")
    }
}
