//! The round trip of a cache line to another processor.
#![forbid(unsafe_code)]

use super::Sample;
use super::team::together;
use super::watch::Own;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::yield_now;
use std::time::Instant;
use tautline::glb::Control;
use tautline_core::sync::CachePadded;
use tautline_node::machine::pin;

/// Failed polls after which a thread assumes that the other one has no processor.
const LOOKS: u32 = 100_000;

/// Measures one line between two processors: [`Sample::ns`] is a round trip. A barrier of two tasks can hardly
/// be faster: each task must see what the other wrote, though both transfers may overlap. Once `stop` is stopped, the
/// sample is cut off and must be discarded.
///
/// # Errors
/// A thread that the system refused.
pub fn ping_pong(cpus: [usize; 2], round_trips: u32, stop: &Control) -> io::Result<Sample> {
    let ball = CachePadded::new(AtomicU32::new(0));
    let ball = &ball;
    let bodies =
        [0, 1].map(|player| move || play(ball, player, cpus[player as usize], round_trips, stop));
    let [first, second]: [Sample; 2] = together(bodies.into())?.try_into().expect("two threads");
    let mut lost = first.lost;
    lost += second.lost;
    Ok(Sample {
        ns: first.ns,
        pinned: first.pinned && second.pinned,
        lost,
    })
}

/// The word counts hits: `player` may hit when it is even or odd as the player is.
fn play(ball: &AtomicU32, player: u32, cpu: usize, round_trips: u32, stop: &Control) -> Sample {
    let pinned = pin(cpu);
    let hit = |count: u32| {
        let mut looks = 0;
        // ORDERING: Acquire, pairs with Release below, as a barrier requires them: what was done before the hit is visible after it;
        // no mutant: nothing is read behind it; the cost is what is measured.
        while ball.load(Ordering::Acquire) != count {
            looks += 1;
            if looks > LOOKS {
                // The other player has the same reason to give up, and does not wait for this hit for ever.
                if stop.is_stopped() {
                    return false;
                }
                yield_now();
            }
        }
        // ORDERING: Release, pairs with Acquire above; no mutant: as there.
        ball.store(count.wrapping_add(1), Ordering::Release);
        true
    };
    // The first hits wait for the threads to arrive.
    let warm_up = round_trips / 10 + 1;
    let warm = (0..warm_up).all(|turn| hit(2 * turn + player));
    let (watch, start) = (Own::start(), Instant::now());
    let mut turns = warm_up..warm_up + round_trips;
    let _ = warm && turns.all(|turn| hit(turn.wrapping_mul(2) + player));
    Sample {
        ns: start.elapsed().as_nanos() as f64 / f64::from(round_trips),
        pinned,
        lost: watch.taken(),
    }
}
