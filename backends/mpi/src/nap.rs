//! Waiting for events that only a poll can detect.
//!
//! # Words
//! `moves`: incremented by the thread that uses the link, loaded by the one that waits for its
//! bell: a hint of the time since anything has moved. `is_rung` is under a lock.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::Bell;

/// The longest nap: an idle rank polls 250 times a second, which takes less than a hundredth of a
/// processor.
const LONGEST: Duration = Duration::from_millis(4);
/// The shortest nap: the system takes about as long to wake a thread.
const SHORTEST: Duration = Duration::from_micros(40);
/// A nap takes this part of the time since anything has moved, which bounds the delay of a message
/// that arrives during the nap.
const PART: u32 = 8;

/// The bell of a link that must be polled.
#[derive(Debug)]
pub(crate) struct Nap {
    moves: AtomicU64,
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug)]
struct State {
    is_rung: bool,
    /// The moves seen by the last wait, and when they changed.
    seen: u64,
    since: Instant,
}

impl Nap {
    pub(crate) fn new() -> Self {
        let state = State {
            is_rung: false,
            seen: 0,
            since: Instant::now(),
        };
        Self {
            moves: AtomicU64::new(0),
            state: Mutex::new(state),
            rung: Condvar::new(),
        }
    }

    /// States that something has moved: naps are short from now on.
    pub(crate) fn moved(&self) {
        // ORDERING: Relaxed: a hint, written by the one thread that uses the link; no update is
        // lost.
        let moves = self.moves.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        self.moves.store(moves + 1, Ordering::Relaxed);
    }
}

impl Bell for Nap {
    fn ring(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_rung = true;
        self.rung.notify_all();
    }

    fn wait(&self, ticks: u64) {
        // ORDERING: Relaxed: a hint.
        let moves = self.moves.load(Ordering::Relaxed);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if state.seen != moves {
            (state.seen, state.since) = (moves, now);
        }
        let nap = ((now - state.since) / PART).min(LONGEST);
        if nap < SHORTEST {
            state.is_rung = false;
            drop(state);
            thread::yield_now();
            return;
        }
        let nap = nap.min(Duration::from_nanos(ticks));
        let woken = self
            .rung
            .wait_timeout_while(state, nap, |state| !state.is_rung);
        let (mut state, _) = woken.unwrap_or_else(PoisonError::into_inner);
        state.is_rung = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naps_grow_while_nothing_moves() {
        let nap = Nap::new();
        let waits = |long: Duration| {
            nap.state.lock().unwrap().since = Instant::now() - long;
            let start = Instant::now();
            nap.wait(u64::MAX);
            start.elapsed()
        };
        assert!(waits(Duration::from_millis(4)) >= Duration::from_micros(500));
        assert!(waits(Duration::from_secs(60)) >= LONGEST);
        nap.moved();
        let since = nap.state.lock().unwrap().since;
        nap.wait(u64::MAX);
        assert!(
            nap.state.lock().unwrap().since > since,
            "it counts from the last move"
        );
    }

    #[test]
    fn a_bell_that_was_rung_ends_the_next_nap() {
        let nap = Nap::new();
        nap.state.lock().unwrap().since = Instant::now() - Duration::from_secs(60);
        nap.ring();
        nap.wait(u64::MAX);
        assert!(!nap.state.lock().unwrap().is_rung);
    }
}
