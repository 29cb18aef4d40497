//! Pentomino tilings: fill a rectangle with all the figures of five squares, each used once.
//!
//! # Algorithm
//!
//! The first free square must be covered, so a branch is a way to lay an unused piece with its first
//! square there (Fletcher 1965). The board is one row of bits, line after line, with a border
//! square behind each line, so that no lay has to be held against the edges (Finnerty 2022 has an array
//! with sentinels). A window of 64 bits, which begins at the first free square, sees all that
//! a piece can cover; so the 63 lays are the same everywhere. Which of them meet nothing occupied is looked up:
//! one table for each line of the window, indexed by the squares of that line, and the sets met with the
//! set of lays of unused pieces.
//!
//! # Symmetry
//!
//! A rectangle that is no square looks the same from four sides, and no tiling looks the same from two of
//! them: the corner piece (V) has four lays, and each way to turn or mirror the rectangle takes each of
//! them to another one. So exactly one of each four tilings that are essentially the same has a given lay
//! of the corner. For the one-sided pieces this holds as well: mirroring swaps a piece with its twin.
#![forbid(unsafe_code)]

mod board;
mod piece;

pub use board::{Board, BoardError, Pieces};

use crate::backtrack::{Bits, Position, Search};
use board::State;

/// A search for the tilings of the [`Board`] that workers share; what is found is their number.
///
/// ```
/// use tautline::pentomino::{Board, Pieces, Tilings};
/// use tautline::prelude::*;
///
/// let board = Board::new(3, 20, Pieces::TwoSided, true)?;
/// let run = Glb::new().run(Tilings::new(&board), |_| board.clone(), Default::default())?;
/// assert_eq!(run.output.sum, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Tilings = Search<Tiling>;

/// Room for the states on a path: more than the 18 pieces, and a power of two, so that an index is masked.
const STATES: usize = 32;

/// A board partly tiled.
#[derive(Clone, Debug)]
pub struct Tiling {
    /// The states on the path, the empty board's first.
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
