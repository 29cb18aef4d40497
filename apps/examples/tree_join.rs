//! Counts an unbalanced tree by forks over the children of each node; its depth is unknown.
use std::ops::Range;
use tautline::prelude::*;
use tautline_cli::uts::{Node, Tree, named};

fn count(cx: &mut Cx, tree: &Tree, node: &Node) -> u64 {
    1 + match tree.children(node) {
        0 => 0,
        children => count_all(cx, tree, node, 0..children),
    }
}

fn count_all(cx: &mut Cx, tree: &Tree, node: &Node, Range { start, end }: Range<u32>) -> u64 {
    if end - start == 1 {
        return count(cx, tree, &tree.child(node, start));
    }
    let middle = start + (end - start) / 2;
    let (low, high) = cx.join(
        |cx| count_all(cx, tree, node, start..middle),
        |cx| count_all(cx, tree, node, middle..end),
    );
    low + high
}

fn main() -> tautline::Result<()> {
    let rt = Runtime::new()?;
    // One of them is wide, one is thin and 1572 levels deep.
    for name in ["T1", "T3"] {
        let known = named::find(name)?;
        let tree = Tree::new(known.params)?;
        let nodes = rt.run(|cx| count(cx, &tree, &tree.root()));
        assert_eq!(nodes, known.nodes);
        println!("{name}: {nodes} nodes");
    }
    Ok(())
}
