//! Ways to place 11 queens: a task for each square that is still allowed, each with its own board.
use std::sync::atomic::{AtomicU64, Ordering};
use tautline::prelude::*;

const SIZE: usize = 11;

/// The row of the queen in each column.
type Board = [usize; SIZE];

fn is_legal(board: &[usize], row: usize) -> bool {
    let before = board.iter().rev().zip(1..);
    before
        .into_iter()
        .all(|(&queen, distance)| queen != row && queen.abs_diff(row) != distance)
}

fn place<'s>(cx: &mut Cx<'s, '_>, board: Board, placed: usize, ways: &'s AtomicU64) {
    if placed == SIZE {
        ways.fetch_add(1, Ordering::Relaxed);
    }
    for row in (0..SIZE).filter(|&row| placed < SIZE && is_legal(&board[..placed], row)) {
        let mut next = board;
        next[placed] = row;
        cx.spawn(move |cx| place(cx, next, placed + 1, ways));
    }
}

fn main() -> tautline::Result<()> {
    let ways = AtomicU64::new(0);
    Runtime::new()?.run(|cx| place(cx, [0; SIZE], 0, &ways));
    assert_eq!(ways.into_inner(), 2_680);
    println!("2680 ways to place {SIZE} queens");
    Ok(())
}
