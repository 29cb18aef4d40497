//! Work by which runtimes of forks are measured.

use crate::forks::{Fork, Task};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use tautline_cli::uts::{Counts, Node, Tree};

/// The `n`th Fibonacci number, without a cutoff: nothing but forks.
#[derive(Clone, Copy)]
pub(crate) struct Fib(pub u32);

impl Fib {
    /// The number, and how many forks it takes.
    pub(crate) fn known(self) -> (u64, u64) {
        let (this, next) = (0..self.0).fold((0, 1), |(a, b), _| (b, a + b));
        (this, next - 1)
    }
}

impl Task for Fib {
    type Out = u64;

    fn run<F: Fork>(self, fork: &mut F) -> u64 {
        let Self(n) = self;
        if n < 2 {
            return u64::from(n);
        }
        let (a, b) = fork.join(Self(n - 1), Self(n - 2));
        a + b
    }
}

/// A board large enough for what is measured: the row of the queen in each column.
type Board = [u8; 16];

/// All ways to place the queens that are not on the board yet.
#[derive(Clone, Copy)]
pub(crate) struct Queens {
    size: u8,
    placed: u8,
    board: Board,
}

impl Queens {
    /// An empty board of `size` columns, at most 16.
    pub(crate) fn new(size: u8) -> Self {
        let board = Board::default();
        assert!(usize::from(size) <= board.len(), "{size} queens: 0 to 16");
        let placed = 0;
        Self {
            size,
            placed,
            board,
        }
    }

    fn is_legal(&self, row: u8) -> bool {
        let before = self.board[..usize::from(self.placed)].iter().rev();
        (1..).zip(before).all(|(distance, &queen)| {
            queen != row && queen + distance != row && queen != row + distance
        })
    }

    fn with(mut self, row: u8) -> Self {
        self.board[usize::from(self.placed)] = row;
        self.placed += 1;
        self
    }
}

impl Task for Queens {
    type Out = u64;

    fn run<F: Fork>(self, fork: &mut F) -> u64 {
        if self.placed == self.size {
            return 1;
        }
        let (mut rows, mut legal) = (Board::default(), 0);
        for row in (0..self.size).filter(|&row| self.is_legal(row)) {
            rows[legal] = row;
            legal += 1;
        }
        Rows(&self, &rows[..legal]).run(fork)
    }
}

/// The next queen in one of these rows.
struct Rows<'a>(&'a Queens, &'a [u8]);

impl Task for Rows<'_> {
    type Out = u64;

    fn run<F: Fork>(self, fork: &mut F) -> u64 {
        let Self(queens, rows) = self;
        match *rows {
            [] => 0,
            [row] => queens.with(row).run(fork),
            _ => {
                let (low, high) = rows.split_at(rows.len() / 2);
                let (a, b) = fork.join(Self(queens, low), Self(queens, high));
                a + b
            }
        }
    }
}

/// A subtree, each node hashed on its own: one fork for each child but the last.
pub(crate) struct Search<'t>(pub &'t Tree, pub Node);

impl Task for Search<'_> {
    type Out = Counts;

    fn run<F: Fork>(self, fork: &mut F) -> Counts {
        let Self(tree, node) = self;
        let children = tree.children(&node);
        let mut counts = Counts {
            nodes: 1,
            leaves: u64::from(children == 0),
            max_depth: node.depth(),
        };
        if children > 0 {
            counts.add(&Children(tree, &node, 0..children).run(fork));
        }
        counts
    }
}

struct Children<'t>(&'t Tree, &'t Node, Range<u32>);

impl Task for Children<'_> {
    type Out = Counts;

    fn run<F: Fork>(self, fork: &mut F) -> Counts {
        let Self(tree, node, range) = self;
        if range.len() == 1 {
            return Search(tree, tree.child(node, range.start)).run(fork);
        }
        let middle = range.start + (range.end - range.start) / 2;
        let (low, high) = (range.start..middle, middle..range.end);
        let (mut left, right) = fork.join(Children(tree, node, low), Children(tree, node, high));
        left.add(&right);
        left
    }
}

/// Nothing.
pub(crate) struct Nothing;

impl Task for Nothing {
    type Out = ();

    fn run<F: Fork>(self, _: &mut F) {}
}

/// Runs this number of empty forks.
pub(crate) struct Empty(pub u32);

impl Task for Empty {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        for _ in 0..self.0 {
            fork.join(Nothing, Nothing);
        }
    }
}

/// Runs this number of forks whose halves must run concurrently: each waits for the other to begin.
/// At least two workers, of a runtime that shares every fork: chili shares what it holds only at a
/// later fork, so it would wait for ever. So does rayon about once in a hundred million forks, when
/// the other worker parks beside the new task: measure it in a process that may be killed.
pub(crate) struct Regions(pub u32);

impl Task for Regions {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let (first, second) = (AtomicU32::new(0), AtomicU32::new(0));
        for region in 1..=self.0 {
            let meet = |mine, other| Meet {
                mine,
                other,
                region,
            };
            fork.join(meet(&first, &second), meet(&second, &first));
        }
    }
}

/// Signals that this half has begun, and waits for the other one.
struct Meet<'a> {
    mine: &'a AtomicU32,
    other: &'a AtomicU32,
    region: u32,
}

impl Task for Meet<'_> {
    type Out = ();

    fn run<F: Fork>(self, _: &mut F) {
        self.mine.store(self.region, Ordering::Release);
        while self.other.load(Ordering::Acquire) != self.region {
            std::hint::spin_loop();
        }
    }
}
