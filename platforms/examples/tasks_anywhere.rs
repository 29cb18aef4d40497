//! Tasks that start others at any rank: a walk of a tree whose nodes are where a hash puts them.
//! Alone, or as `tautline launch -n 4 -- tasks_anywhere`, or by `mpirun`.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{Rank, World};

/// Returns a number that looks random (SplitMix64).
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

// Visible to the tests that start it as ranks.
pub(crate) fn main() -> tautline::Result<()> {
    let world = World::join()?;
    let (nodes, deepest) = (AtomicU64::new(0), AtomicU64::new(0));
    let visit = handler(|cx, at, (node, depth): (u64, u64)| {
        nodes.fetch_add(1, Relaxed);
        deepest.fetch_max(depth, Relaxed);
        // Ten levels of up to six children.
        let children = if depth < 10 { node % 7 } else { 0 };
        for child in (0..children).map(|i| mixed(node ^ i)) {
            let owner = Rank((child >> 32) as u32 % at.ranks());
            at.again(cx, owner, (child, depth + 1));
        }
    });
    let mut team = world.team();
    let (nodes, deepest) = Runtime::builder().world(&world).build()?.run(|cx| {
        team.finish(cx, &visit, |cx, at| {
            if at.rank() == Rank(0) {
                at.spawn(cx, Rank(0), &visit, (6, 0));
            }
        })?;
        let own = (nodes.load(Relaxed), deepest.load(Relaxed));
        let both = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1.max(b.1));
        team.all_reduce(own, both).wait(cx)
    })?;
    if world.is_home() {
        println!("{nodes} nodes, the deepest at level {deepest}");
    }
    Ok(())
}
