//! Tests what the board lends, on all harts at once.

use crate::Chip;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::{Barrier, Clock, Line, Park, Relax, Thread, Unpark};
use tautline_manycore::virt::MOST_HARTS;
use tautline_manycore::{Board, LINES};

const NS_A_TICK: u64 = 100;
const EARLY: usize = 1000;
const ROUNDS: usize = 200;
const EPISODES: usize = 100;

/// The turn of the relay, counted on.
static TURN: AtomicUsize = AtomicUsize::new(0);
/// The number of times that a hart has come to the common barrier.
static MET: AtomicUsize = AtomicUsize::new(0);
/// The number of harts that have arrived before others leave the line.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// The episode of each hart.
static MARKS: [AtomicUsize; MOST_HARTS] = [const { AtomicUsize::new(0) }; MOST_HARTS];

/// Before the harts start: all lines can be claimed, and no more.
pub fn claim(chip: &Chip) {
    for line in 0..LINES {
        assert_eq!(chip.claim(), Some(Line(line as u8)));
    }
    assert_eq!(chip.claim(), None);
    chip.give_back(Line(2));
    assert_eq!(chip.claim(), Some(Line(2)));
}

/// Runs on each hart.
pub fn run(chip: &Chip, hart: usize) -> String {
    let me = Hart { chip, hart };
    // SAFETY: each hart of this program is a distinct worker.
    unsafe { chip.set_current(Some(me.worker(hart))) };
    assert_eq!(chip.current(), Some(me.worker(hart)));
    me.awake_before_suspend();
    let relay = me.time_ns(|| me.relay()) / (ROUNDS * chip.harts()) as u64;
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
    assert_eq!(chip.current(), None);
    let line = line / (LINES * 2 * EPISODES) as u64;
    format!("{EARLY} early wake-ups, {relay} ns a wake-up, {LINES} lines, {line} ns an episode")
}

/// One of the harts.
#[derive(Clone, Copy)]
pub struct Hart<'c> {
    /// The ports.
    pub chip: &'c Chip,
    /// The number of the hart, and that of its worker.
    pub hart: usize,
}

impl Hart<'_> {
    /// Returns the worker that a hart is here.
    pub fn worker(self, hart: usize) -> WorkerId {
        WorkerId(hart as u32)
    }

    fn next(self) -> WorkerId {
        self.worker((self.hart + 1) % self.chip.harts())
    }

    /// Returns how long `body` takes.
    pub fn time_ns(self, body: impl FnOnce()) -> u64 {
        let start = self.chip.now();
        body();
        NS_A_TICK * (self.chip.now() - start)
    }

    /// Sleeps until awoken.
    pub fn suspend(self) {
        self.chip.park(self.worker(self.hart));
    }

    /// Awakes a hart.
    pub fn awake(self, worker: WorkerId) {
        self.chip.unpark(worker);
    }

    /// Waits until `done` returns true.
    pub fn wait(self, done: impl Fn() -> bool) {
        let mut turn = 0;
        while !done() {
            self.chip.relax(turn);
            turn += 1;
        }
    }

    /// Waits until all harts have come here.
    pub fn meet(self) {
        let harts = self.chip.harts();
        let all = MET.fetch_add(1, Ordering::AcqRel) / harts * harts + harts;
        self.wait(|| MET.load(Ordering::Acquire) >= all);
    }

    /// An awake that precedes the suspend makes it return at once: no other one would end it.
    fn awake_before_suspend(self) {
        for _ in 0..EARLY {
            self.awake(self.worker(self.hart));
            self.awake(self.worker(self.hart));
            self.suspend();
        }
        self.meet();
    }

    /// Each hart is awoken by the one before it, and not earlier.
    fn relay(self) {
        let harts = self.chip.harts();
        for round in 0..ROUNDS {
            let mine = round * harts + self.hart;
            if mine > 0 {
                self.suspend();
            }
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            assert_eq!(turn, mine, "hart {} was awake too early", self.hart);
            self.awake(self.next());
        }
        if self.hart == 0 {
            self.suspend();
        }
        self.meet();
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

    /// Odd harts leave when all others have arrived, so that only their leaving ends the episode; they return after the
    /// others have continued without them.
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
