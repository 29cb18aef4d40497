//! N queens on a board of N times N squares, none attacking another, counted as exact covers.
//!
//! # Algorithm
//!
//! Dancing links (Knuth 2000). A row of the matrix is a queen on a square, with a one in each of four
//! columns: its rank and file, which must be covered, and its two diagonals, which may be. The first
//! uncovered column is branched on (Finnerty 2022), so the ranks are filled in order, and the tree is
//! that of filling the board row by row. What differs from Knuth: the four ones of a row lie side by side and need
//! no links among each other, and no column's size is kept, as nobody asks for it.
#![forbid(unsafe_code)]

use crate::backtrack::{Position, Search};

/// The largest board.
pub const N_MAX: u32 = 32;

/// A search for all solutions. What workers share is the size of the board, 0 to [`N_MAX`]; what is found
/// is the number of solutions.
pub type Queens = Search<Matrix>;

/// The number of solutions for 0 to 27 queens. Source: OEIS A000170.
pub const SOLUTIONS: [u64; 28] = [
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

/// Ones a row has: in its rank, file, diagonal and antidiagonal.
const ONES: usize = 4;
const RANK: usize = 0;
const FILE: usize = 1;
const DIAGONAL: usize = 2;
const ANTIDIAGONAL: usize = 3;

/// The neighbours of a one in its column.
#[derive(Clone, Copy, Debug, Default)]
struct One {
    up: u16,
    down: u16,
}

/// The neighbours of a column among those that must still be covered; one that only may be is its own.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    left: u16,
    right: u16,
}

/// A row, by its first one.
pub type Row = u16;

/// What is left of the matrix, with some queens on the board.
///
/// # Words
///
/// `ones` begins with the columns' own: ranks, files, diagonals, antidiagonals. Behind them, from a
/// multiple of [`ONES`] on, are the rows. `heads` holds the columns, and the root behind the last.
#[derive(Clone, Debug)]
pub struct Matrix {
    ones: Box<[One]>,
    heads: Box<[Head]>,
    /// The columns of each row, by its first one over [`ONES`].
    columns: Box<[[u16; ONES]]>,
    /// The columns branched on, from the first level on.
    chosen: Vec<u16>,
}

impl Matrix {
    fn new(size: u32) -> Self {
        assert!(size <= N_MAX, "{size} queens: at most {N_MAX}");
        let n = size as usize;
        let diagonals = (2 * n).saturating_sub(1);
        let root = 2 * n + 2 * diagonals;
        let first = root.next_multiple_of(ONES);
        let mut matrix = Self {
            ones: vec![One::default(); first + ONES * n * n].into(),
            heads: vec![Head::default(); root + 1].into(),
            columns: vec![[0; ONES]; first / ONES + n * n].into(),
            chosen: Vec::with_capacity(n + 1),
        };
        for column in 0..root {
            matrix.ones[column] = One {
                up: column as u16,
                down: column as u16,
            };
            matrix.heads[column] = Head {
                left: column as u16,
                right: column as u16,
            };
        }
        let mut left = root;
        for column in (0..2 * n).chain([root]) {
            matrix.heads[left].right = column as u16;
            matrix.heads[column].left = left as u16;
            left = column;
        }
        for (square, (rank, file)) in (0..n * n).map(|at| (at, (at / n, at % n))) {
            let columns = [
                rank,
                n + file,
                2 * n + rank + file,
                2 * n + diagonals + rank + n - 1 - file,
            ];
            let row = first + ONES * square;
            matrix.columns[row / ONES] = columns.map(|column| column as u16);
            for (at, column) in columns.into_iter().enumerate() {
                matrix.append(row + at, column);
            }
        }
        matrix
    }

    /// Puts a one at the bottom of its column.
    fn append(&mut self, one: usize, column: usize) {
        let up = self.ones[column].up;
        self.ones[one] = One {
            up,
            down: column as u16,
        };
        self.ones[usize::from(up)].down = one as u16;
        self.ones[column].up = one as u16;
    }

    /// Removes a column, which is the one at `KIND` of its rows, and these rows from the others.
    #[inline(always)]
    fn cover<const KIND: usize>(&mut self, column: u16) {
        let Head { left, right } = self.heads[usize::from(column)];
        self.heads[usize::from(left)].right = right;
        self.heads[usize::from(right)].left = left;
        let mut one = self.ones[usize::from(column)].down;
        while one != column {
            let row = usize::from(one) - KIND;
            for at in (0..ONES).filter(|&at| at != KIND) {
                let One { up, down } = self.ones[row + at];
                self.ones[usize::from(up)].down = down;
                self.ones[usize::from(down)].up = up;
            }
            one = self.ones[usize::from(one)].down;
        }
    }

    /// Takes back what [`cover`](Self::cover) did to `column` last.
    #[inline(always)]
    fn uncover<const KIND: usize>(&mut self, column: u16) {
        let mut one = self.ones[usize::from(column)].up;
        while one != column {
            let row = usize::from(one) - KIND;
            for at in (0..ONES).rev().filter(|&at| at != KIND) {
                let One { up, down } = self.ones[row + at];
                self.ones[usize::from(up)].down = (row + at) as u16;
                self.ones[usize::from(down)].up = (row + at) as u16;
            }
            one = self.ones[usize::from(one)].up;
        }
        let Head { left, right } = self.heads[usize::from(column)];
        self.heads[usize::from(left)].right = column;
        self.heads[usize::from(right)].left = column;
    }
}

impl Position for Matrix {
    type Shared = u32;
    type Branch = Row;
    type Sum = u64;

    fn root(&size: &u32) -> Self {
        Self::new(size)
    }

    #[inline]
    fn branches(&mut self, rows: &mut Vec<Row>, solutions: &mut u64, _: &u32) {
        let root = self.heads.len() - 1;
        let column = self.heads[root].right;
        self.chosen.push(column);
        if usize::from(column) == root {
            *solutions += 1;
            return;
        }
        // Every rank comes before any file, and with all ranks all files are covered.
        self.cover::<RANK>(column);
        let mut row = self.ones[usize::from(column)].down;
        while row != column {
            rows.push(row);
            row = self.ones[usize::from(row)].down;
        }
    }

    #[inline]
    fn apply(&mut self, row: Row, _: &u32) {
        let columns = self.columns[usize::from(row) / ONES];
        self.cover::<FILE>(columns[FILE]);
        self.cover::<DIAGONAL>(columns[DIAGONAL]);
        self.cover::<ANTIDIAGONAL>(columns[ANTIDIAGONAL]);
    }

    #[inline]
    fn undo(&mut self, row: Row, _: &u32) {
        let columns = self.columns[usize::from(row) / ONES];
        self.uncover::<ANTIDIAGONAL>(columns[ANTIDIAGONAL]);
        self.uncover::<DIAGONAL>(columns[DIAGONAL]);
        self.uncover::<FILE>(columns[FILE]);
    }

    #[inline]
    fn close(&mut self, _: &u32) {
        if let Some(column) = self.chosen.pop() {
            if usize::from(column) + 1 < self.heads.len() {
                self.uncover::<RANK>(column);
            }
        }
    }

    fn add(solutions: &mut u64, other: u64) {
        *solutions += other;
    }
}
