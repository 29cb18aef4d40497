//! Barrier lines.
//!
//! # Algorithm
//! A Cyclops64 has wires that combine a bit of each thread; RISC-V has none. Here a line is a word
//! that counts the harts that have yet to arrive, and the board notifies: the last hart to arrive
//! wakes all others that are included.
//!
//! # Words
//! `word`, one a line: the episode, the number of included harts, and the number of those that have
//! yet to arrive; changed by all three calls, and by the last arrival in one step into the next
//! episode. `included`: a bit a hart, written by that hart: the harts to wake. `arrived`, one a
//! hart and line, private to the hart: the episode in which it arrived last. `claimed`: a bit a
//! line.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | B1 | `arrive`, `exclude` | the last of them, then `is_done` | what happens-before it | `line_marks`, `line_leaver` |
//! | B2 | `include` | the last to arrive | the bit of a hart to be woken: set before the hart arrives | `line_rings` |
//! | B3 | `give_back` | `claim` | what the last holder of the line did | `line_claim` |
//!
//! All models are in `verify/tests/manycore.rs`.

use crate::Board;
use alloc::boxed::Box;
use tautline_core::port::Line;
use tautline_core::sync::{AtomicUsize, CachePadded, Ordering};

/// The number of lines: as many as an application has on a Cyclops64.
pub const LINES: usize = 5;

/// The number of bits of a mask.
pub(crate) const MOST_HARTS: usize = usize::BITS as usize;

/// Bits of a number of harts in the word of a line.
const BITS: u32 = u8::BITS;
const MASK: usize = (1 << BITS) - 1;
const _: () = assert!(MOST_HARTS <= MASK);

/// The word of a line, unpacked. Episodes wrap around: a hart is at most one behind.
#[derive(Clone, Copy)]
struct Count {
    episode: usize,
    included: usize,
    missing: usize,
}

impl Count {
    fn of(word: usize) -> Self {
        Self {
            episode: word >> (2 * BITS),
            included: word >> BITS & MASK,
            missing: word & MASK,
        }
    }

    fn word(self) -> usize {
        self.episode << (2 * BITS) | self.included << BITS | self.missing
    }

    /// Adds a hart to wait for.
    fn with_one(self) -> Self {
        assert!(self.included < MOST_HARTS, "a hart is included twice");
        Self {
            included: self.included + 1,
            missing: self.missing + 1,
            ..self
        }
    }

    /// Removes a hart to wait for.
    fn without_one(self) -> Self {
        match self.missing {
            0 => panic!("a hart arrives on a line that does not include it"),
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
    word: AtomicUsize,
    included: AtomicUsize,
}

/// The barrier lines of a board; `me` is the calling hart.
#[derive(Debug)]
pub struct Lines {
    claimed: AtomicUsize,
    wires: [CachePadded<Wire>; LINES],
    arrived: Box<[CachePadded<[AtomicUsize; LINES]>]>,
}

impl Lines {
    /// Creates the lines for `harts` harts, all free.
    ///
    /// # Panics
    /// More harts than a word has bits.
    pub fn new(harts: usize) -> Self {
        assert!(harts <= MOST_HARTS, "{harts} harts: at most {MOST_HARTS}");
        Self {
            claimed: AtomicUsize::new(0),
            wires: Default::default(),
            arrived: (0..harts).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Claims a free line.
    pub fn claim(&self) -> Option<Line> {
        // ORDERING: Relaxed: the exchange checks it.
        let mut claimed = self.claimed.load(Ordering::Relaxed);
        loop {
            let line = claimed.trailing_ones();
            if line as usize >= LINES {
                return None;
            }
            // ORDERING: Acquire, pairs with Release in give_back (B3).
            // ORDERING: failure Relaxed: tried again.
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            let with = claimed | 1 << line;
            match self
                .claimed
                .compare_exchange_weak(claimed, with, success, failure)
            {
                Ok(_) => return Some(Line(line as u8)),
                Err(now) => claimed = now,
            }
        }
    }

    /// Frees a claimed line.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn give_back(&self, line: Line) {
        assert!(usize::from(line.0) < LINES, "{line:?} of {LINES}");
        // ORDERING: Release, pairs with Acquire in claim (B3).
        self.claimed.fetch_and(!(1 << line.0), Ordering::Release);
    }

    /// Makes the line wait for `me`, too.
    ///
    /// # Panics
    /// If there is no such hart or line, or more harts are included than there are.
    pub fn include(&self, me: usize, line: Line) {
        let wire = &self.wires[usize::from(line.0)];
        // ORDERING: Relaxed: published by the arrival that follows (B2).
        wire.included.fetch_or(1 << me, Ordering::Relaxed);
        let before = self.change(line, Count::with_one);
        // Not the current episode, so that the line is done for this hart until it arrives.
        self.came(me, line, before.episode.wrapping_sub(1));
    }

    /// Stops the line from waiting for `me`, which has not arrived in this episode.
    ///
    /// # Panics
    /// If no hart is included that has yet to arrive.
    pub fn exclude(&self, me: usize, line: Line, board: &impl Board) {
        let wire = &self.wires[usize::from(line.0)];
        // ORDERING: Relaxed: a hart that sees it late wakes this one spuriously.
        wire.included.fetch_and(!(1 << me), Ordering::Relaxed);
        let before = self.change(line, |count| {
            let included = count.included.saturating_sub(1);
            Count { included, ..count }.without_one()
        });
        self.tell(me, line, before, board);
    }

    /// Records that `me` has arrived.
    ///
    /// # Panics
    /// If no hart is included that has yet to arrive.
    pub fn arrive(&self, me: usize, line: Line, board: &impl Board) {
        let before = self.change(line, Count::without_one);
        self.came(me, line, before.episode);
        self.tell(me, line, before, board);
    }

    /// Returns whether all included harts have arrived since `me` last did.
    pub fn is_done(&self, me: usize, line: Line) -> bool {
        let at = usize::from(line.0);
        // ORDERING: Acquire, pairs with Release of all arrivals (B1).
        let now = Count::of(self.wires[at].word.load(Ordering::Acquire)).episode;
        // ORDERING: Relaxed: private to the hart.
        now != self.arrived[me][at].load(Ordering::Relaxed)
    }

    fn came(&self, me: usize, line: Line, episode: usize) {
        // ORDERING: Relaxed: private to the hart.
        self.arrived[me][usize::from(line.0)].store(episode, Ordering::Relaxed);
    }

    /// Changes the word, and returns its previous value.
    fn change(&self, line: Line, to: impl Fn(Count) -> Count) -> Count {
        let word = &self.wires[usize::from(line.0)].word;
        // ORDERING: Relaxed: the exchange checks it.
        let mut before = word.load(Ordering::Relaxed);
        loop {
            let after = to(Count::of(before)).word();
            // ORDERING: AcqRel: the last to arrive has seen all the others (B1, B2) and passes it
            // on. ORDERING: failure Relaxed: tried again.
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            match word.compare_exchange_weak(before, after, success, failure) {
                Ok(_) => return Count::of(before),
                Err(now) => before = now,
            }
        }
    }

    /// Wakes the others if this call completed the line.
    fn tell(&self, me: usize, line: Line, before: Count, board: &impl Board) {
        if before.missing != 1 {
            return;
        }
        // ORDERING: Relaxed: the change of the word has acquired the bits of the harts that arrived
        // (B2).
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
