//! Records the tree of tasks of a sequential program: each task's parent and duration.
//!
//! `cargo run --release --example record > tree.csv`, then
//! `tautline simulate recorded tree.csv --places 64`.

use tautline_cli::recorded::{Recorder, Task};

/// Queens on a board of 9 by 9; a task for each of the first four rows.
const SIZE: u32 = 9;
const ROWS_OF_TASKS: u32 = 4;

fn place(task: Option<&mut Task<'_>>, row: u32, [columns, left, right]: [u32; 3]) -> u64 {
    if row == SIZE {
        return 1;
    }
    let mut task = task.filter(|_| row < ROWS_OF_TASKS);
    let mut free = !(columns | left | right) & ((1 << SIZE) - 1);
    let mut solutions = 0;
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        let next = [columns | queen, (left | queen) << 1, (right | queen) >> 1];
        solutions += match &mut task {
            Some(task) => task.child(|task| place(Some(task), row + 1, next)),
            None => place(None, row + 1, next),
        };
    }
    solutions
}

fn main() -> std::io::Result<()> {
    let mut recorder = Recorder::new();
    let solutions = recorder.root(|task| place(Some(task), 0, [0; 3]));
    assert_eq!(solutions, 352);
    recorder.tree().write(&mut std::io::stdout().lock())
}
