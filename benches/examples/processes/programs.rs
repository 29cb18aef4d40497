//! Programs over ranks of one worker each, which verify their results.

use super::Options;
use tautline::Runtime;
use tautline::world::World;
use tautline_cli::bfs::{self, Rmat, Searches, Teps};
use tautline_cli::gups::{self, Table};

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
