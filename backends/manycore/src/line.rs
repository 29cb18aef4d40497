//! Barrier lines.
//!
//! # Algorithm
//! A Cyclops64 has wires that or a bit of each thread's; RISC-V has none. Here a line is a word that counts who has yet
//! to come, and the board carries the news: the last to arrive rings all the others that are included.
//!
//! # Words
//! `word`, one a line: the episode, how many harts are included, how many of them have yet to come; changed by all
//! three calls, and when nobody has yet to come by the same change into the next episode. `included`: a bit a hart, its
//! own; who is to be rung. `arrived`, one a hart and line, its own: the episode in which it arrived last. `claimed`: a
//! bit a line.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | B1 | `arrive`, `exclude` | the last of them, then `is_done` | what was done before | `tests/port.rs` |
//! | B2 | `include` | the last to arrive | the bit of who is to be rung: set before it arrives | `tests/port.rs` |
//! | B3 | `give_back` | `claim` | that nobody is included any more | `tests/port.rs` |
//!
//! # Not proved
//! No model: the tests run it on threads and on the board.

use crate::Board;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use tautline_core::port::Line;

/// How many lines there are: as many as an application has on a Cyclops64.
pub const LINES: usize = 5;

/// As many as a mask has bits.
pub(crate) const MOST_HARTS: usize = 64;

/// What the word of a line says.
#[derive(Clone, Copy)]
struct Count {
    episode: u32,
    included: u16,
    missing: u16,
}

impl Count {
    fn of(word: u64) -> Self {
        Self {
            episode: (word >> 32) as u32,
            included: (word >> 16) as u16,
            missing: word as u16,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.episode) << 32 | u64::from(self.included) << 16 | u64::from(self.missing)
    }

    /// One less to wait for.
    fn without_one(self) -> Self {
        match self.missing {
            1 => Self {
                episode: self.episode.wrapping_add(1),
                missing: self.included,
                ..self
            },
            missing => Self {
                missing: missing - 1,
                ..self
            },
        }
    }
}

#[derive(Debug, Default)]
struct Wire {
    word: AtomicU64,
    included: AtomicU64,
}

/// The barrier lines of a board; every call speaks for the hart `me`, which is the caller.
#[derive(Debug)]
pub struct Lines {
    claimed: AtomicU32,
    wires: [CachePadded<Wire>; LINES],
    arrived: Box<[CachePadded<[AtomicU32; LINES]>]>,
}

impl Lines {
    /// Lines for `harts` harts, all free.
    ///
    /// # Panics
    /// More than 64 harts.
    pub fn new(harts: usize) -> Self {
        assert!(harts <= MOST_HARTS, "{harts} harts: at most {MOST_HARTS}");
        Self {
            claimed: AtomicU32::new(0),
            wires: Default::default(),
            arrived: (0..harts).map(|_| CachePadded::default()).collect(),
        }
    }

    /// A free line.
    pub fn claim(&self) -> Option<Line> {
        let free = |claimed: u32| {
            let line = claimed.trailing_ones();
            ((line as usize) < LINES).then_some(claimed | 1 << line)
        };
        // ORDERING: Acquire, pairs with Release in give_back (B3).
        // ORDERING: failure Relaxed: nothing is read.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        let before = self.claimed.fetch_update(yes, no, free).ok()?;
        Some(Line(before.trailing_ones() as u8))
    }

    /// The line is free again.
    pub fn give_back(&self, line: Line) {
        // ORDERING: Release, pairs with Acquire in claim (B3).
        self.claimed.fetch_and(!(1 << line.0), Ordering::Release);
    }

    /// The line waits for `me` too.
    pub fn include(&self, me: usize, line: Line) {
        let wire = &self.wires[usize::from(line.0)];
        // ORDERING: Relaxed: the arrival that follows carries it (B2).
        wire.included.fetch_or(1 << me, Ordering::Relaxed);
        let before = self.change(line, |count| Count {
            included: count.included + 1,
            missing: count.missing + 1,
            ..count
        });
        self.came(me, line, before.episode.wrapping_sub(1));
    }

    /// The line does not wait for `me` any more.
    pub fn exclude(&self, me: usize, line: Line, board: &impl Board) {
        let wire = &self.wires[usize::from(line.0)];
        // ORDERING: Relaxed: who sees it late rings this hart for nothing.
        wire.included.fetch_and(!(1 << me), Ordering::Relaxed);
        let before = self.change(line, |count| {
            let included = count.included - 1;
            Count { included, ..count }.without_one()
        });
        self.tell(me, line, before, board);
    }

    /// `me` has come.
    pub fn arrive(&self, me: usize, line: Line, board: &impl Board) {
        let before = self.change(line, Count::without_one);
        self.came(me, line, before.episode);
        self.tell(me, line, before, board);
    }

    /// All have come since `me` last did.
    pub fn is_done(&self, me: usize, line: Line) -> bool {
        let at = usize::from(line.0);
        // ORDERING: Acquire, pairs with Release of all that led here (B1).
        let now = Count::of(self.wires[at].word.load(Ordering::Acquire)).episode;
        // ORDERING: Relaxed: the hart's own.
        now != self.arrived[me][at].load(Ordering::Relaxed)
    }

    fn came(&self, me: usize, line: Line, episode: u32) {
        // ORDERING: Relaxed: the hart's own.
        self.arrived[me][usize::from(line.0)].store(episode, Ordering::Relaxed);
    }

    /// Changes the word, and says what it was.
    fn change(&self, line: Line, to: impl Fn(Count) -> Count) -> Count {
        let word = &self.wires[usize::from(line.0)].word;
        let to = |word| Some(to(Count::of(word)).word());
        // ORDERING: AcqRel: the last to arrive has seen all the others (B1, B2) and passes it on.
        // ORDERING: failure Relaxed: tried again.
        let (yes, no) = (Ordering::AcqRel, Ordering::Relaxed);
        match word.fetch_update(yes, no, to) {
            Ok(before) | Err(before) => Count::of(before),
        }
    }

    /// Rings the others if this call was what the line waited for.
    fn tell(&self, me: usize, line: Line, before: Count, board: &impl Board) {
        if before.missing != 1 {
            return;
        }
        // ORDERING: Relaxed: the change of the word has acquired the bits of those who came (B2).
        let included = self.wires[usize::from(line.0)]
            .included
            .load(Ordering::Relaxed);
        let mut others = included & !(1 << me);
        while others != 0 {
            board.ring(others.trailing_zeros() as usize);
            others &= others - 1;
        }
    }
}
