//! The round trip of a cache line to another processor.
#![forbid(unsafe_code)]

use super::Sample;
use super::team::{merged, together};
use super::watch::Own;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, yield_now};
use std::time::Instant;
use tautline::balance::Control;
use tautline_core::sync::CachePadded;
use tautline_node::machine::pin;

/// Failed polls after which a thread assumes that the other one has no processor.
const LOOKS: u32 = 100_000;

/// The number of lines: more than a page of any system, and more than allocators serve from memory
/// that was used before.
const LINES: usize = 1 << 13;

/// Cache lines for round trips. Consecutive samples use different ones, since caches distribute
/// lines by address.
#[derive(Debug)]
pub struct Lines {
    all: Vec<CachePadded<AtomicU32>>,
    next: AtomicUsize,
}

impl Lines {
    /// Creates lines in the memory of the node of processor `home`, where Linux places pages that
    /// this processor writes first; without one, where the system places them.
    ///
    /// # Errors
    /// A thread that the system refused, or that could not be kept on the processor.
    pub fn new(home: Option<usize>) -> io::Result<Self> {
        let lines = || (0..LINES).map(|_| AtomicU32::new(0).into()).collect();
        let all = match home {
            None => lines(),
            Some(cpu) => {
                let placed = thread::Builder::new().spawn(move || pin(cpu).then(lines))?;
                let placed = placed.join().expect("it only writes");
                let refused = || io::Error::other(format!("no thread can be kept on CPU {cpu}"));
                placed.ok_or_else(refused)?
            }
        };
        Ok(Self {
            all,
            next: AtomicUsize::new(0),
        })
    }

    fn next(&self) -> &AtomicU32 {
        // ORDERING: Relaxed: any line does.
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        // Steps by a prime, so that neighbours are far apart.
        &self.all[at.wrapping_mul(127) % LINES]
    }
}

/// Measures one of `lines` between two processors: [`Sample::ns`] is a round trip. A barrier of two
/// tasks can hardly be faster: each task must see what the other wrote, though both transfers may
/// overlap. Once `stop` is stopped, the sample is cut off and must be discarded. The lines serve
/// one call at a time.
///
/// # Errors
/// A thread that the system refused.
pub fn ping_pong(
    lines: &Lines,
    cpus: [usize; 2],
    round_trips: u32,
    stop: &Control,
) -> io::Result<Sample> {
    let ball = lines.next();
    // ORDERING: Relaxed: the threads are started after it.
    ball.store(0, Ordering::Relaxed);
    let bodies =
        [0, 1].map(|player| move || play(ball, player, cpus[player as usize], round_trips, stop));
    Ok(merged(together(bodies.into())?))
}

/// The word counts hits: `player` may hit when it is even or odd as the player is.
fn play(ball: &AtomicU32, player: u32, cpu: usize, round_trips: u32, stop: &Control) -> Sample {
    let pinned = pin(cpu);
    let hit = |count: u32| {
        let mut looks = 0;
        // ORDERING: Acquire, pairs with Release below, as a barrier requires them: what was done
        // before the hit is visible after it; no mutant: nothing is read after it; the cost is
        // what is measured.
        while ball.load(Ordering::Acquire) != count {
            looks += 1;
            if looks > LOOKS {
                // The other player has the same reason to give up, and does not wait for this hit
                // for ever.
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
