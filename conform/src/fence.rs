//! Fences: of two threads that each store and then load what the other stores, one observes the
//! other.

use crate::harness::{Harness, step};
use crate::numbers::Numbers;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hint;
use core::sync::atomic::{AtomicU32, Ordering};
use tautline_core::port::Fence;
use tautline_core::sync::{CachePadded, Lock};

/// Rounds at most.
const ROUNDS: u32 = 1_000_000;
/// Few further rounds begin after this time: a heavy fence may take microseconds, on a busy machine
/// milliseconds.
const SECONDS: f64 = 1.0;
/// The longest delay before a round, in iterations of an empty loop.
const DELAY: usize = 256;

/// The light half and the heavy half, each between a store and a load of a distinct thread, act as
/// a pair of full fences (store buffering): in no round do both threads miss the other's store.
/// `pin` is called by both threads, numbered 0 and 1, and binds them to two processors. Threads
/// that a scheduler may run on one processor seldom run at once, so that little is found. Returns
/// the number of rounds in which there was a heavy fence.
///
/// A machine with one processor passes, whatever its fences do.
///
/// # Panics
/// If the port does not conform.
pub fn fences<H, P, F>(on: &H, port: P, pin: F) -> usize
where
    H: Harness,
    P: Fence + Send + Sync + 'static,
    F: Fn(usize) + Send + Sync + 'static,
{
    let litmus = Arc::new(Litmus::new(on.clone()));
    let run = {
        let litmus = Arc::clone(&litmus);
        move |number| {
            pin(number);
            match number {
                0 => litmus.run(0, || {
                    port.light_fence();
                    true
                }),
                _ => litmus.run(1, || port.heavy_fence()),
            }
        }
    };
    step(
        on,
        "fences: store buffering by two threads",
        2,
        Arc::new(run),
    );
    let [light, heavy] = &litmus.seen;
    let (light, heavy) = (light.lock(on), heavy.lock(on));
    let both = || light.iter().zip(heavy.iter());
    let missed = both().filter(|sides| *sides == (&Seen::Missed, &Seen::Missed));
    let missed = missed.count();
    let rounds = both().filter(|(_, heavy)| **heavy != Seen::NoFence).count();
    assert_eq!(
        missed, 0,
        "of {rounds} rounds, those in which neither thread observed the other's store"
    );
    rounds
}

/// The observation of one thread of the other's store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Observed,
    Missed,
    /// The machine had no fence at that moment, so nothing was promised.
    NoFence,
}

/// State shared by the two threads.
struct Litmus<H> {
    on: H,
    /// By thread: the round that it has begun.
    at: [CachePadded<AtomicU32>; 2],
    /// By thread: what it stores, which is the number of the round.
    words: [CachePadded<AtomicU32>; 2],
    last: AtomicU32,
    /// By thread, and by round.
    seen: [Lock<Vec<Seen>>; 2],
}

impl<H: Harness> Litmus<H> {
    fn new(on: H) -> Self {
        let words = || [0; 2].map(|zero| CachePadded::new(AtomicU32::new(zero)));
        Self {
            on,
            at: words(),
            words: words(),
            last: AtomicU32::new(ROUNDS),
            seen: [(); 2].map(|()| Lock::new(Vec::new())),
        }
    }

    /// Runs all rounds as thread `me`; `fence` returns false if there was none.
    fn run(&self, me: usize, fence: impl Fn() -> bool) {
        let _leave = Leave(self, me);
        let (mine, other) = (&self.words[me], &self.words[1 - me]);
        let (start, mut numbers) = (self.on.now(), Numbers(me as u64));
        let limit = (SECONDS * self.on.ticks_per_second()) as u64;
        let mut seen = Vec::new();
        for round in 1.. {
            if me == 0 && round % 16 == 0 && self.on.now() - start > limit {
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
        *self.seen[me].lock(&self.on) = seen;
    }

    /// Waits until the other thread begins the round, too.
    fn meet(&self, me: usize, round: u32) {
        self.at[me].store(round, Ordering::Release);
        let mut turn = 0;
        while self.at[1 - me].load(Ordering::Acquire) < round {
            self.on.relax(turn);
            turn = turn.saturating_add(1);
        }
    }
}

/// Lets the other thread end, also if this one panics.
struct Leave<'a, H>(&'a Litmus<H>, usize);

impl<H> Drop for Leave<'_, H> {
    fn drop(&mut self) {
        let Self(litmus, me) = self;
        litmus.last.store(0, Ordering::Relaxed);
        litmus.at[*me].store(u32::MAX, Ordering::Release);
    }
}
