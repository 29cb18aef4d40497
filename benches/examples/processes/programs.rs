//! Programs over ranks of one worker each, which verify their results.

use super::Options;
use std::time::Instant;
use tautline::Runtime;
use tautline::world::World;
use tautline_cli::bfs::{self, Rmat, Searches, Teps};
use tautline_cli::gups::{self, Table};
use tautline_cli::uts::{Counts, Tree, Uts, named, sequential};

/// The search keys of Graph500.
const KEYS: u32 = 64;

fn worker(world: &World) -> Runtime {
    let runtime = Runtime::builder().world(world).workers(1).build();
    runtime.expect("a worker")
}

/// Million updates a second of RandomAccess, four for each word.
pub(super) fn gups(options: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let table = Table::new(options.log2);
    let measured = gups::across(&table, &world, &worker(&world)).expect("all live")?;
    assert_eq!(measured.updated.errors, 0);
    Some(1e-6 * table.updates as f64 / measured.seconds)
}

/// Million edges a second of breadth-first search, the harmonic mean.
pub(super) fn bfs(options: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let graph = Rmat {
        scale: options.scale,
        edge_factor: 16,
        seed: 1,
    };
    let searches = Searches { graph, keys: KEYS };
    let measured = bfs::across(&searches, &world, &worker(&world)).expect("all live")?;
    let found = &measured.found;
    assert!(found.iter().all(|found| found.violation.is_none()));
    let teps = Teps::of(found.iter().map(|found| found.edges), measured.seconds);
    Some(1e-6 * teps.expect("some searches").harmonic_mean)
}

/// Million nodes a second of the tree T1L.
pub(super) fn t1l(options: &Options) -> Option<f64> {
    search("T1L", options)
}

/// Million nodes a second of the tree T3L.
pub(super) fn t3l(options: &Options) -> Option<f64> {
    search("T3L", options)
}

/// As [`t1l`], by the sequential program.
pub(super) fn t1l_alone(options: &Options) -> Option<f64> {
    search_alone("T1L", options)
}

/// As [`t3l`], by the sequential program.
pub(super) fn t3l_alone(options: &Options) -> Option<f64> {
    search_alone("T3L", options)
}

/// Returns a tree and its number of nodes; of quick rounds a small one.
fn tree(name: &str, options: &Options) -> (Tree, u64) {
    let named = named::find(if options.launches.quick { "D8" } else { name }).expect("a name");
    let tree = Tree::new(named.params).expect("a finite tree");
    (tree, named.nodes)
}

fn search(name: &str, options: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let (tree, nodes) = tree(name, options);
    let runtime = worker(&world);
    let balancer = runtime.balancer().across(&world);
    world.barrier().expect("all live");
    let began = Instant::now();
    let run = balancer.run(Uts::root(&tree), |_| tree.clone(), Counts::default());
    let seconds = began.elapsed().as_secs_f64();
    let counts = run.expect("all live").output;
    if !world.is_home() {
        return None;
    }
    assert_eq!(counts.nodes, nodes);
    Some(1e-6 * nodes as f64 / seconds)
}

fn search_alone(name: &str, options: &Options) -> Option<f64> {
    let (tree, nodes) = tree(name, options);
    let began = Instant::now();
    assert_eq!(sequential(&tree).nodes, nodes);
    Some(1e-6 * nodes as f64 / began.elapsed().as_secs_f64())
}
