//! Lines that wake harts at rest, whose wake-up bits they share with workers; on all harts at once.

use crate::Chip;
use crate::hart::Hart;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::{Barrier, Line, Thread};
use tautline_manycore::virt::MOST_HARTS;
use tautline_manycore::{Board, LINES};

const EPISODES: usize = 100;

/// The number of harts that have arrived before others leave the line.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The episode of each hart.
static MARKS: [AtomicUsize; MOST_HARTS] = [const { AtomicUsize::new(0) }; MOST_HARTS];

/// Runs on each hart.
pub fn run(chip: &Chip, hart: usize) -> String {
    let me = Hart { chip, hart };
    // SAFETY: each hart of this program is a distinct worker.
    unsafe { chip.set_current(Some(me.worker(hart))) };
    if hart == 0 {
        let claimed = (0..LINES).filter_map(|_| chip.claim());
        assert_eq!(claimed.count(), LINES, "no line is claimed before");
    }
    me.meet();
    let mut line = 0;
    for at in 0..LINES {
        line += me.time_ns(|| me.episodes(Line(at as u8)));
        me.leave_and_return(Line(at as u8));
    }
    me.meet();
    if hart == 0 {
        (0..LINES).for_each(|at| chip.give_back(Line(at as u8)));
    }
    // SAFETY: the hart stops acting as a worker here.
    unsafe { chip.set_current(None) };
    let line = line / (LINES * 2 * EPISODES) as u64;
    format!("{LINES} lines, {line} ns an episode")
}

impl Hart<'_> {
    fn next(self) -> WorkerId {
        self.worker((self.hart + 1) % self.chip.harts())
    }

    /// On every other line a hart rests without a timer: the line must wake it.
    fn pass(self, line: Line) {
        self.chip.arrive(line);
        if line.0 % 2 == 0 {
            while !self.chip.is_done(line) {
                self.chip.board().rest(None);
            }
        } else {
            self.wait(|| self.chip.is_done(line));
        }
    }

    /// Wake-ups of workers and of lines share a bit: each must arrive while the other does.
    fn episodes(self, line: Line) {
        self.chip.include(line);
        self.meet();
        for episode in 1..=EPISODES {
            MARKS[self.hart].store(episode, Ordering::Relaxed);
            self.awake(self.next());
            self.pass(line);
            for mark in &MARKS[..self.chip.harts()] {
                assert_eq!(mark.load(Ordering::Relaxed), episode, "{line:?}");
            }
            self.suspend();
            self.pass(line);
        }
    }

    /// Odd harts leave when all others have arrived, so that only their leaving ends the episode;
    /// they return after the others have continued without them.
    fn leave_and_return(self, line: Line) {
        let harts = self.chip.harts();
        let (odd, even) = (harts / 2, harts - harts / 2);
        let before = usize::from(line.0) * even;
        if self.hart % 2 == 0 {
            self.chip.arrive(line);
            WAITING.fetch_add(1, Ordering::AcqRel);
            while !self.chip.is_done(line) {
                self.chip.board().rest(None);
            }
            (0..EPISODES).for_each(|_| self.pass(line));
            if self.hart == 0 {
                (0..odd).for_each(|pair| self.awake(self.worker(2 * pair + 1)));
            }
        } else {
            self.wait(|| WAITING.load(Ordering::Acquire) == before + even);
            self.chip.exclude(line);
            self.suspend();
            self.chip.include(line);
        }
        self.meet();
        self.pass(line);
        self.chip.exclude(line);
        self.meet();
    }
}
