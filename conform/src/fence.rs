//! Fences: of two threads that each store and then load what the other stores, one observes the other.

use crate::numbers::Numbers;
use std::hint;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::Fence;
use tautline_core::sync::CachePadded;

/// Rounds at most, and at least.
const ROUNDS: u32 = 1_000_000;
const LEAST: u32 = 1000;
/// No further round begins after this time: a heavy fence may take microseconds.
const LONG: Duration = Duration::from_secs(2);
/// The longest delay before a round, in iterations of an empty loop.
const DELAY: usize = 64;

/// The light half and the heavy half, each between a store and a load of a distinct thread, act as
/// a pair of full fences (store buffering): in no round do both threads miss the other's store.
/// `pin` is called by both threads, numbered 0 and 1; it binds them to two processors, if the port
/// can do so. Returns the number of rounds in which there was a heavy fence.
///
/// A machine with one processor passes, whatever its fences do.
///
/// # Panics
/// If the port does not conform.
pub fn fences<P: Fence + Sync>(port: &P, pin: impl Fn(usize) + Sync) -> usize {
    let litmus = Litmus::new();
    let (light, heavy) = thread::scope(|scope| {
        let light = scope.spawn(|| {
            pin(0);
            litmus.run(0, || {
                port.light_fence();
                true
            })
        });
        let heavy = scope.spawn(|| {
            pin(1);
            litmus.run(1, || port.heavy_fence())
        });
        let ended = "a fence does not panic";
        (light.join().expect(ended), heavy.join().expect(ended))
    });
    let both = || light.iter().zip(&heavy);
    let missed = both().filter(|sides| *sides == (&Seen::Missed, &Seen::Missed));
    let missed = missed.count();
    let rounds = both().filter(|(_, heavy)| **heavy != Seen::NoFence).count();
    assert_eq!(
        missed, 0,
        "of {rounds} rounds, those in which neither thread observed the other's store"
    );
    rounds
}

/// What one thread observed of the other's store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Observed,
    Missed,
    /// The machine had no fence at that moment, so nothing was promised.
    NoFence,
}

/// What the two threads share.
struct Litmus {
    /// By thread: the round that it has begun.
    at: [CachePadded<AtomicU32>; 2],
    /// By thread: what it stores, which is the number of the round.
    words: [CachePadded<AtomicU32>; 2],
    last: AtomicU32,
}

impl Litmus {
    fn new() -> Self {
        let words = || [0; 2].map(|zero| CachePadded::new(AtomicU32::new(zero)));
        Self {
            at: words(),
            words: words(),
            last: AtomicU32::new(ROUNDS),
        }
    }

    /// Runs all rounds as thread `me`; `fence` returns false if there was none.
    fn run(&self, me: usize, fence: impl Fn() -> bool) -> Vec<Seen> {
        let _leave = Leave(self, me);
        let (mine, other) = (&self.words[me], &self.words[1 - me]);
        let (start, mut numbers) = (Instant::now(), Numbers(me as u64));
        let mut seen = Vec::new();
        for round in 1.. {
            if me == 0 && round > LEAST && round % 64 == 0 && start.elapsed() > LONG {
                // Read by the other thread after both have met in this round.
                self.last.store(round, Ordering::Relaxed);
            }
            self.meet(me, round);
            for step in 0..numbers.below(DELAY) {
                hint::black_box(step);
            }
            mine.store(round, Ordering::Relaxed);
            let is_fenced = fence();
            let observed = other.load(Ordering::Relaxed) >= round;
            seen.push(match (is_fenced, observed) {
                (false, _) => Seen::NoFence,
                (true, true) => Seen::Observed,
                (true, false) => Seen::Missed,
            });
            if round >= self.last.load(Ordering::Relaxed) {
                break;
            }
        }
        seen
    }

    /// Waits until the other thread begins the round, too.
    fn meet(&self, me: usize, round: u32) {
        self.at[me].store(round, Ordering::Release);
        let mut polls = 0;
        while self.at[1 - me].load(Ordering::Acquire) < round {
            polls += 1;
            if polls < 1000 {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// Lets the other thread end if this one panics.
struct Leave<'a>(&'a Litmus, usize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let Self(litmus, me) = self;
            litmus.last.store(0, Ordering::Relaxed);
            litmus.at[*me].store(u32::MAX, Ordering::Release);
        }
    }
}
