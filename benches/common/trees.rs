//! One tree, counted in several ways: by the balancer, by a plain stack, and by the peers. All hash
//! every node with the same function; the balancer hashes the children of a node in a row, the
//! others one node at a time. The n-th thread of each stays on the n-th processor.

use std::num::NonZero;
use std::ops::Range;
use tautline::Runtime;
use tautline_bench::pools::{self, pin};
use tautline_cli::uts::{Counts, Node, Tree, Uts};

/// Peers recurse, and binomial trees are deep.
pub(crate) const STACK_BYTES: usize = 512 << 20;

fn leaf(node: &Node) -> Counts {
    Counts {
        nodes: 1,
        leaves: 1,
        max_depth: node.depth(),
    }
}

/// Adds a node to the counts of its children.
fn inner(node: &Node, mut below: Counts) -> Counts {
    below.nodes += 1;
    below.max_depth = below.max_depth.max(node.depth());
    below
}

fn both(mut left: Counts, right: Counts) -> Counts {
    left.add(&right);
    left
}

fn halves(range: &Range<u32>) -> (Range<u32>, Range<u32>) {
    let middle = range.start + (range.end - range.start) / 2;
    (range.start..middle, middle..range.end)
}

/// One node at a time from a stack of nodes.
pub(crate) fn stack(tree: &Tree) -> Counts {
    let mut stack = vec![tree.root()];
    let mut counts = Counts::default();
    while let Some(node) = stack.pop() {
        let children = tree.children(&node);
        if children == 0 {
            counts.add(&leaf(&node));
        } else {
            counts.nodes += 1;
            stack.extend((0..children).map(|i| tree.child(&node, i)));
        }
    }
    counts
}

/// One place with this number of workers.
pub(crate) fn balanced(tree: &Tree, threads: usize) -> Counts {
    let rt = Runtime::builder().workers(threads).build();
    let rt = rt.expect("threads for the workers");
    let shared = |_| Tree::with_engine(*tree.params(), tree.engine()).expect("a valid tree");
    let run = rt
        .balancer()
        .run(Uts::root(tree), shared, Counts::default());
    run.expect("valid settings").output
}

fn rayon_node(tree: &Tree, node: &Node) -> Counts {
    match tree.children(node) {
        0 => leaf(node),
        children => inner(node, rayon_range(tree, node, 0..children)),
    }
}

fn rayon_range(tree: &Tree, node: &Node, range: Range<u32>) -> Counts {
    if range.len() == 1 {
        return rayon_node(tree, &tree.child(node, range.start));
    }
    let (low, high) = halves(&range);
    let (left, right) = rayon::join(
        || rayon_range(tree, node, low),
        || rayon_range(tree, node, high),
    );
    both(left, right)
}

fn chili_node(tree: &Tree, node: &Node, scope: &mut chili::Scope<'_>) -> Counts {
    match tree.children(node) {
        0 => leaf(node),
        children => inner(node, chili_range(tree, node, 0..children, scope)),
    }
}

fn chili_range(
    tree: &Tree,
    node: &Node,
    range: Range<u32>,
    scope: &mut chili::Scope<'_>,
) -> Counts {
    if range.len() == 1 {
        return chili_node(tree, &tree.child(node, range.start), scope);
    }
    let (low, high) = halves(&range);
    let (left, right) = scope.join(
        |scope| chili_range(tree, node, low, scope),
        |scope| chili_range(tree, node, high, scope),
    );
    both(left, right)
}

/// This number of rayon threads.
pub(crate) fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    let pool = pools::rayon(threads).stack_size(STACK_BYTES);
    pool.build().expect("threads for rayon")
}

/// A join tree over the children of every node.
pub(crate) fn rayon(tree: &Tree, pool: &rayon::ThreadPool) -> Counts {
    pool.install(|| rayon_node(tree, &tree.root()))
}

/// This number of chili threads, the caller one of them. Their stacks have `RUST_MIN_STACK` bytes.
pub(crate) fn chili_pool(threads: usize) -> chili::ThreadPool {
    let config = chili::Config {
        thread_count: NonZero::new(threads),
        ..chili::Config::default()
    };
    // Its threads inherit the processor of the thread that starts them, which is not the caller: a
    // caller that is pinned here would stay so for what it measures next.
    let make = || {
        pin(1);
        chili::ThreadPool::with_config(config)
    };
    std::thread::scope(|scope| scope.spawn(make).join().expect("chili starts"))
}

/// The same join tree.
pub(crate) fn chili(tree: &Tree, pool: &chili::ThreadPool) -> Counts {
    chili_node(tree, &tree.root(), &mut pool.scope())
}
