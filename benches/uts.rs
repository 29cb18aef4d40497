//! Nodes a second on unbalanced trees: the bag alone, and peers on the same tree and hash.
//!
//! The rate is that of hashed nodes, the last level included, as in the UTS benchmark. The row
//! `stack` takes one node at a time, as the peers do: what separates it from `sequential` is the
//! bag, what separates a peer from it is the peer. The rows `tautline` include the start of their
//! pinned threads; the peers keep their threads, and leave them to the system.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use criterion::{criterion_group, criterion_main};
use tautline_cli::uts::{Counts, Tree, named, sequential};

#[path = "common/trees.rs"]
mod trees;

/// A fixed geometric tree, wide and flat, and a binomial one, thin and deep.
const TREES: [&str; 2] = ["T1", "T3"];
const THREADS: [usize; 2] = [1, 2];

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
        count(group, &row, tree, nodes, |tree| {
            trees::balanced(tree, threads)
        });
        let pool = trees::rayon_pool(threads);
        count(group, &format!("rayon/{threads}"), tree, nodes, |tree| {
            trees::rayon(tree, &pool)
        });
        drop(pool);
        if *tree.params() == named::find("T1").expect("a named tree").params {
            // Its threads have the system's stacks, which the deep tree overflows now and then.
            let pool = trees::chili_pool(threads);
            count(group, &format!("chili/{threads}"), tree, nodes, |tree| {
                trees::chili(tree, &pool)
            });
        }
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
        count(&mut group, "stack", &tree, known.nodes, trees::stack);
        parallel(&mut group, &tree, known.nodes);
        group.finish();
    }
}

criterion_group!(benches, uts);
criterion_main!(benches);
