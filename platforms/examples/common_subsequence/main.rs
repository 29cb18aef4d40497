//! The longest common subsequence of two texts, by tiles that are spread over ranks: each waits for
//! an edge of two others, by name. Alone, or as `tautline launch -n 4 -- common_subsequence`, or by
//! `mpirun`.

mod tile;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tautline::prelude::*;
use tautline::space::{Space, home};
use tautline::world::World;
use tile::{SIDE, TILES, fill};

/// Puts an edge, unless its tile is beyond the last one.
fn put(edges: &Space<(u32, u32), Vec<u32>>, tile: (u32, u32), edge: Vec<u32>) {
    if tile.0.max(tile.1) < TILES {
        edges.put(tile, edge).expect("each is put once");
    }
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let at = home::diagonals(TILES, TILES, world.ranks());
    // An edge has the name of the tile that reads it.
    let edges = || {
        let edges = Space::<(u32, u32), Vec<u32>>::of(&world).home(move |tile| at(tile.0, tile.1));
        edges
            .readers(move |tile, by| by.task_at(at(tile.0, tile.1)))
            .open_vectors()
    };
    let (above, left, longest) = (edges(), edges(), AtomicU32::new(0));
    let tiles = (0..TILES).flat_map(|row| (0..TILES).map(move |column| (row, column)));
    Runtime::builder().world(&world).build()?.run(|cx| {
        let (above, left, longest) = (&above, &left, &longest);
        for tile in tiles.filter(|tile| at(tile.0, tile.1) == world.rank()) {
            let edges = (above.take(tile), left.take(tile));
            cx.spawn_when(edges, move |(mut below, mut right), _| {
                fill(tile, &mut below, &mut right);
                longest.fetch_max(below[SIDE], Relaxed);
                let (row, column) = tile;
                put(above, (row + 1, column), below);
                put(left, (row, column + 1), right);
            });
            if tile.0 == 0 {
                put(above, tile, vec![0; SIDE + 1]);
            }
            if tile.1 == 0 {
                put(left, tile, vec![0; SIDE]);
            }
        }
    });
    above.close()?;
    left.close()?;
    if let Some(longest) = world.reduce(longest.into_inner(), u32::max)? {
        println!("{longest} letters in common of {}", TILES as usize * SIDE);
    }
    Ok(())
}
