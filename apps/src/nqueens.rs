//! N queens on a board of N times N squares that do not attack each other, counted as exact covers.
//!
//! # Algorithm
//!
//! Dancing links (Knuth 2000). A row of the matrix is a queen on a square, with a one in each of
//! four columns: its rank and file, which must be covered, and its two diagonals, which may be. The
//! first uncovered column is branched on (Finnerty 2022), so the ranks are filled in order, and the
//! tree is that of filling the board row by row. What differs from Knuth: the four ones of a row
//! are adjacent and need no links among each other, and sizes of columns are not stored, as they
//! are not used.
#![forbid(unsafe_code)]

use tautline::balance::backtrack::{Bits, Position, Search};

/// A search for all solutions; the result is their number.
///
/// ```
/// use tautline_cli::nqueens::{Queens, Size};
/// use tautline::prelude::*;
///
/// let size = Size::new(8)?;
/// let run = tautline::balancer().run(Queens::new(&size), |_| size, Default::default())?;
/// assert_eq!(run.output.sum, 92);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Queens = Search<Matrix>;

/// The number of queens, and of ranks and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size(u16);

/// A board that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} queens: from 0 to {max}", max = Size::MAX)]
pub struct SizeError(u32);

impl From<SizeError> for tautline::Error {
    fn from(refusal: SizeError) -> Self {
        Self::invalid(refusal)
    }
}

impl Size {
    /// The maximum number of queens. A board of 27 took a year of many machines.
    pub const MAX: u32 = 32;

    /// Creates a size of 0 to [`MAX`](Self::MAX) queens. No queens can be placed in one way.
    ///
    /// # Errors
    /// If there are more.
    pub fn new(queens: u32) -> Result<Self, SizeError> {
        match queens {
            0..=Self::MAX => Ok(Self(queens as u16)),
            _ => Err(SizeError(queens)),
        }
    }

    /// Returns the number of queens.
    pub fn queens(self) -> u32 {
        self.0.into()
    }

    /// Returns the number of solutions, if it is known.
    pub fn known(self) -> Option<u64> {
        SOLUTIONS.get(usize::from(self.0)).copied()
    }
}

/// The number of solutions for 0 to 27 queens. Source: OEIS A000170.
const SOLUTIONS: [u64; 28] = [
    1,
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
    4_968_057_848,
    39_029_188_884,
    314_666_222_712,
    2_691_008_701_644,
    24_233_937_684_440,
    227_514_171_973_736,
    2_207_893_435_808_352,
    22_317_699_616_364_044,
    234_907_967_154_122_528,
];

/// The ones of a row: in its rank, file, diagonal and antidiagonal.
const ONES: u16 = 4;
const RANK: u16 = 0;
const FILE: u16 = 1;
const DIAGONAL: u16 = 2;
const ANTIDIAGONAL: u16 = 3;

/// The neighbours of a one in its column.
#[derive(Clone, Copy, Debug, Default)]
struct One {
    up: u16,
    down: u16,
}

/// The neighbours of a column among those that must still be covered; an optional column is its own
/// neighbour.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    left: u16,
    right: u16,
}

/// The rest of the matrix, with some queens on the board.
///
/// # Words
///
/// `ones` begins with the heads of the columns: ranks, files, diagonals, antidiagonals. After them,
/// from `first` on, are the rows, rank by rank. `heads` contains the columns, and the root after
/// the last.
#[derive(Clone, Debug)]
pub struct Matrix {
    size: u16,
    first: u16,
    ones: Box<[One]>,
    heads: Box<[Head]>,
    /// Columns branched on. They are the first ranks: every rank precedes every file.
    chosen: u16,
}

impl Matrix {
    fn new(Size(n): Size) -> Self {
        let root = 2 * n + 2 * (2 * n).saturating_sub(1);
        let alone = |column| One {
            up: column,
            down: column,
        };
        let apart = |column| Head {
            left: column,
            right: column,
        };
        let mut matrix = Self {
            size: n,
            first: root.next_multiple_of(ONES),
            ones: (0..root.next_multiple_of(ONES) + ONES * n * n)
                .map(alone)
                .collect(),
            heads: (0..=root).map(apart).collect(),
            chosen: 0,
        };
        let mut left = root;
        for column in (0..2 * n).chain([root]) {
            matrix.heads[usize::from(left)].right = column;
            matrix.heads[usize::from(column)].left = left;
            left = column;
        }
        for (rank, file) in (0..n * n).map(|square| (square / n, square % n)) {
            for (one, column) in (matrix.row(rank, file)..).zip(matrix.columns(rank, file)) {
                matrix.append(one, column);
            }
        }
        matrix
    }

    /// Returns the first one of a queen's row.
    #[inline(always)]
    fn row(&self, rank: u16, file: u16) -> u16 {
        self.first + ONES * (rank * self.size + file)
    }

    /// Returns the columns of a queen's row.
    #[inline(always)]
    fn columns(&self, rank: u16, file: u16) -> [u16; ONES as usize] {
        let n = self.size;
        [rank, n + file, 2 * n + rank + file, 5 * n - 2 + rank - file]
    }

    /// Appends a one to its column.
    fn append(&mut self, one: u16, column: u16) {
        let One { up, .. } = self.ones[usize::from(column)];
        self.ones[usize::from(one)] = One { up, down: column };
        self.ones[usize::from(up)].down = one;
        self.ones[usize::from(column)].up = one;
    }

    /// Removes a column, which is the one at `KIND` of its rows, and these rows from the others;
    /// calls `each` with the rows.
    #[inline(always)]
    fn cover<const KIND: u16>(&mut self, column: u16, mut each: impl FnMut(u16)) {
        let Head { left, right } = self.heads[usize::from(column)];
        self.heads[usize::from(left)].right = right;
        self.heads[usize::from(right)].left = left;
        let mut one = self.ones[usize::from(column)].down;
        while one != column {
            let row = one - KIND;
            each(row);
            for at in (0..ONES).filter(|&at| at != KIND) {
                let One { up, down } = self.ones[usize::from(row + at)];
                self.ones[usize::from(up)].down = down;
                self.ones[usize::from(down)].up = up;
            }
            one = self.ones[usize::from(one)].down;
        }
    }

    /// Reverts the last [`cover`](Self::cover) of `column`.
    #[inline(always)]
    fn uncover<const KIND: u16>(&mut self, column: u16) {
        let mut one = self.ones[usize::from(column)].up;
        while one != column {
            let row = one - KIND;
            for at in (0..ONES).rev().filter(|&at| at != KIND) {
                let One { up, down } = self.ones[usize::from(row + at)];
                self.ones[usize::from(up)].down = row + at;
                self.ones[usize::from(down)].up = row + at;
            }
            one = self.ones[usize::from(one)].up;
        }
        let Head { left, right } = self.heads[usize::from(column)];
        self.heads[usize::from(left)].right = column;
        self.heads[usize::from(right)].left = column;
    }
}

impl Position for Matrix {
    type Shared = Size;
    type Branches = Bits;
    type Sum = u64;

    fn root(&size: &Size) -> Self {
        Self::new(size)
    }

    #[inline]
    fn branches(&mut self, solutions: &mut u64, _: &Size) -> Bits {
        let root = self.heads.len() - 1;
        let column = self.heads[root].right;
        self.chosen += 1;
        if usize::from(column) == root {
            *solutions += 1;
            return Bits(0);
        }
        let (first, mut files) = (self.row(column, 0), 0);
        self.cover::<RANK>(column, |row| files |= 1 << ((row - first) / ONES));
        Bits(files)
    }

    #[inline]
    fn apply(&mut self, file: u8, _: &Size) {
        let rank = self.chosen - 1;
        let [_, file, diagonal, antidiagonal] = self.columns(rank, file.into());
        self.cover::<FILE>(file, |_| ());
        self.cover::<DIAGONAL>(diagonal, |_| ());
        self.cover::<ANTIDIAGONAL>(antidiagonal, |_| ());
    }

    #[inline]
    fn undo(&mut self, file: u8, _: &Size) {
        let rank = self.chosen - 1;
        let [_, file, diagonal, antidiagonal] = self.columns(rank, file.into());
        self.uncover::<ANTIDIAGONAL>(antidiagonal);
        self.uncover::<DIAGONAL>(diagonal);
        self.uncover::<FILE>(file);
    }

    #[inline]
    fn close(&mut self, _: &Size) {
        self.chosen -= 1;
        if self.chosen < self.size {
            self.uncover::<RANK>(self.chosen);
        }
    }

    fn add(solutions: &mut u64, other: u64) {
        *solutions += other;
    }
}
