//! Pentomino tilings: fill a rectangle with all shapes of five squares, each used once.
//!
//! # Algorithm
//!
//! The first free square must be covered, so a branch is a way to lay an unused piece with its
//! first square there (Fletcher 1965). The board is one row of bits, line after line, with a border
//! square after each line, so that no lay has to be compared with the edges (Finnerty 2022 has an
//! array with sentinels). A window of 64 bits, which begins at the first free square, contains all
//! squares that a piece can cover; so the 63 lays are the same everywhere. Those that do not
//! overlap are looked up: one table for each line of the window, indexed by the squares of that
//! line; the sets are intersected with the lays of unused pieces.
//!
//! # Symmetry
//!
//! A rectangle that is not a square has four symmetries, and no tiling is invariant under one of
//! them: the corner piece (V) has four lays, and each rotation or reflection maps each of them to
//! another one. So exactly one of each four equivalent tilings has a given lay of the corner. For
//! the one-sided pieces this holds as well: a reflection swaps a piece with its twin.
#![forbid(unsafe_code)]

mod board;
mod piece;

pub use board::{Board, BoardError, Pieces};

use board::State;
use tautline::balance::backtrack::{Bits, Position, Search};

/// A search for the tilings of the [`Board`] that workers share; the result is their number.
///
/// ```
/// use tautline_cli::pentomino::{Board, Pieces, Tilings};
/// use tautline::prelude::*;
///
/// let board = Board::new(3, 20, Pieces::TwoSided, true)?;
/// let run = tautline::balancer().run(Tilings::new(&board), |_| board.clone(), Default::default())?;
/// assert_eq!(run.output.sum, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Tilings = Search<Tiling>;

/// The capacity of a path: more than the 18 pieces, and a power of two, so that an index is masked.
const STATES: usize = 32;

/// A partly tiled board.
#[derive(Clone, Debug)]
pub struct Tiling {
    /// The states on the path, the empty board first.
    states: [State; STATES],
    laid: usize,
}

impl Position for Tiling {
    type Shared = Board;
    type Branches = Bits;
    type Sum = u64;

    fn root(board: &Board) -> Self {
        Self {
            states: [board.empty(); STATES],
            laid: 0,
        }
    }

    #[inline]
    fn branches(&mut self, tilings: &mut u64, board: &Board) -> Bits {
        *tilings += u64::from(self.laid == board.pieces());
        Bits(board.fitting(&self.states[self.laid % STATES]))
    }

    #[inline]
    fn apply(&mut self, lay: u8, board: &Board) {
        let next = board.lay(&self.states[self.laid % STATES], lay);
        self.laid += 1;
        self.states[self.laid % STATES] = next;
    }

    #[inline]
    fn undo(&mut self, _: u8, _: &Board) {
        self.laid -= 1;
    }

    fn add(tilings: &mut u64, other: u64) {
        *tilings += other;
    }
}
