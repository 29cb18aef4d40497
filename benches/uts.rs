//! Nodes a second on unbalanced trees: the bag alone, and peers on the same tree and hash.
//!
//! The rate is that of hashed nodes, the last level included, as in the UTS benchmark. The row
//! `stack` takes one node at a time, as the peers do: what separates it from `sequential` is the
//! bag, what separates a peer from it is the peer. The rows `tautline` include the start of their
//! pinned threads; the peers keep their threads, and leave them to the system.
#![allow(missing_docs)]

use std::hint::black_box;
use std::num::NonZero;
use std::ops::Range;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use criterion::{criterion_group, criterion_main};
use tautline::glb::Glb;
use tautline::uts::{Counts, Node, Tree, Uts, named, sequential};

/// A fixed geometric tree, wide and flat, and a binomial one, thin and deep.
const TREES: [&str; 2] = ["T1", "T3"];
const THREADS: [usize; 2] = [1, 2];
/// Peers recurse, and the binomial tree is 1572 nodes deep.
const STACK_BYTES: usize = 64 << 20;

fn leaf(node: &Node) -> Counts {
    Counts {
        nodes: 1,
        leaves: 1,
        max_depth: node.depth(),
    }
}

/// What a node adds to the counts of its children.
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
fn stack(tree: &Tree) -> Counts {
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

/// One place with so many workers.
fn balanced(tree: &Tree, threads: usize) -> Counts {
    let run = Glb::new().workers(threads).run(
        Uts::root(tree),
        |_| Tree::new(*tree.params()).expect("a valid tree"),
        Counts::default(),
    );
    run.expect("threads for the workers").output
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

/// Times one way to count a tree, and holds it to the right count.
fn count(
    group: &mut BenchmarkGroup<'_, WallTime>,
    row: &str,
    tree: &Tree,
    expected: u64,
    mut way: impl FnMut(&Tree) -> Counts,
) {
    group.bench_function(row, |b| {
        b.iter(|| assert_eq!(way(black_box(tree)).nodes, expected));
    });
}

fn parallel(group: &mut BenchmarkGroup<'_, WallTime>, tree: &Tree, nodes: u64) {
    for threads in THREADS {
        let row = format!("tautline/{threads}");
        count(group, &row, tree, nodes, |tree| balanced(tree, threads));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .build()
            .expect("threads for rayon");
        count(group, &format!("rayon/{threads}"), tree, nodes, |tree| {
            pool.install(|| rayon_node(tree, &tree.root()))
        });
        drop(pool);
        let pool = chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..chili::Config::default()
        });
        count(group, &format!("chili/{threads}"), tree, nodes, |tree| {
            chili_node(tree, &tree.root(), &mut pool.scope())
        });
    }
}

fn uts(criterion: &mut Criterion) {
    for name in TREES {
        let known = named::find(name).expect("a named tree");
        let tree = Tree::new(known.params).expect("a valid tree");
        let mut group = criterion.benchmark_group(format!("uts/{name}"));
        group.throughput(Throughput::Elements(known.nodes));
        group
            .sample_size(10)
            .measurement_time(Duration::from_secs(3));
        count(&mut group, "sequential", &tree, known.nodes, sequential);
        count(&mut group, "stack", &tree, known.nodes, stack);
        parallel(&mut group, &tree, known.nodes);
        group.finish();
    }
}

criterion_group!(benches, uts);
criterion_main!(benches);
