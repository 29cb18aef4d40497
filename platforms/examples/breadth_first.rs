//! Breadth-first search of a random graph whose vertices are spread over the ranks: a finish a
//! level. Alone, or as `tautline launch -n 4 -- breadth_first`, or by `mpirun`.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{Rank, World};

const VERTICES: u32 = 1 << 14;
const NONE: u32 = u32::MAX;

/// Returns the neighbours of a vertex: a ring, and chords to random vertices.
fn neighbours(v: u32) -> impl Iterator<Item = u32> {
    let chord = move |i: u32| v.wrapping_mul(2_654_435_761).wrapping_add(i * 40_503) >> 7;
    let chords = (0..v % 4 * 2).map(move |i| chord(i) % VERTICES);
    [v + 1, v + VERTICES - 1]
        .into_iter()
        .map(|w| w % VERTICES)
        .chain(chords)
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let mut team = world.team();
    let (here, ranks) = (team.rank(), team.ranks());
    // Vertex v is at rank v % ranks.
    let unseen = |_| AtomicU32::new(NONE);
    let levels = Vec::from_iter((here.0..VERTICES).step_by(ranks as usize).map(unseen));
    let claim = |v: u32, level| {
        let own = &levels[(v / ranks) as usize];
        own.compare_exchange(NONE, level, Relaxed, Relaxed).is_ok()
    };
    let mut frontier = Vec::from_iter((here == Rank(0) && claim(0, 0)).then_some(0));
    let mut sizes = Vec::new();
    Runtime::builder().world(&world).build()?.run(|cx| {
        loop {
            match team.all_reduce(frontier.len(), |a, b| a + b).wait(cx)? {
                0 => return Ok::<_, tautline::Error>(()),
                size => sizes.push(size),
            }
            let (level, next) = (sizes.len() as u32, Mutex::new(Vec::new()));
            let found = |w| claim(w, level).then(|| next.lock().expect("no panic").push(w));
            let visit = handler(|_, _, w| _ = found(w)).short();
            team.finish(cx, &visit, |cx, at| {
                let mut batch = at.batch(cx, &visit);
                for w in frontier.iter().flat_map(|v| neighbours(*v)) {
                    batch.push(cx, Rank(w % ranks), w);
                }
            })?;
            frontier = next.into_inner().expect("no panic");
        }
    })?;
    if world.is_home() {
        let (reached, levels) = (sizes.iter().sum::<usize>(), sizes.len());
        println!("{reached} vertices in {levels} levels: {sizes:?}");
    }
    Ok(())
}
