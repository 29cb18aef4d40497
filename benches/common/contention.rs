//! A deque whose owner works while a thief on another processor steals.

use crate::rivals::{OwnerEnd, Rival, ThiefEnd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tautline_bench::pools::pin;
use tautline_core::sync::CachePadded;

/// Items that the owner pushes before it empties the deque: within the room of every rival.
const BURST: usize = 64;
/// Bursts between two reads of the clock.
const BURSTS: u64 = 64;

/// Operations of both ends.
pub(crate) struct Contended {
    /// Wall time.
    pub elapsed: Duration,
    /// Items that the owner pushed; each was then popped or stolen.
    pub pushed: u64,
    /// Items that the thief got.
    pub stolen: u64,
}

/// Runs both ends for at least `long`. The owner pushes two items, pops one, and so on, then
/// empties the deque and starts again; the thief steals without a pause.
pub(crate) fn contended<R: Rival>(long: Duration) -> Contended {
    let deque = R::default();
    let (owner, thief) = deque.ends();
    // Lines of their own: the private state of one end must not slow down the other.
    let (mut owner, mut thief) = (CachePadded::new(owner), CachePadded::new(thief));
    let flags = CachePadded::new((AtomicBool::new(false), AtomicBool::new(false)));
    let (ready, done) = &*flags;
    let stolen = AtomicU64::new(0);
    let (elapsed, pushed, popped) = std::thread::scope(|scope| {
        scope.spawn(|| {
            pin(1);
            ready.store(true, Ordering::Release);
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                count += u64::from(thief.steal().is_some());
            }
            stolen.store(count, Ordering::Relaxed);
        });
        pin(0);
        while !ready.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let start = Instant::now();
        let (mut bursts, mut popped) = (0, 0);
        while start.elapsed() < long {
            for _ in 0..BURSTS {
                popped += burst(&mut *owner);
            }
            bursts += BURSTS;
        }
        let elapsed = start.elapsed();
        done.store(true, Ordering::Relaxed);
        (elapsed, bursts * BURST as u64, popped)
    });
    let stolen = stolen.into_inner();
    assert_eq!(popped + stolen, pushed, "an item got lost");
    Contended {
        elapsed,
        pushed,
        stolen,
    }
}

/// Returns how many items the owner popped.
fn burst(owner: &mut impl OwnerEnd) -> u64 {
    let mut popped = 0;
    for item in 0..BURST {
        owner.push(item);
        if item % 2 == 1 {
            popped += u64::from(owner.pop().is_some());
        }
    }
    while owner.pop().is_some() {
        popped += 1;
    }
    popped
}
