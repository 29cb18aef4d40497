//! Queens, counted in every way there is.

mod sample;

use sample::sample;
use tautline::balance::backtrack::{Found, sequential};
use tautline::balance::{Bag, laws};
use tautline_cli::nqueens::{Matrix, Queens, Size};

/// Solutions for 0 to 13 queens.
const SOLUTIONS: [u64; 14] = [
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2_680, 14_200, 73_712,
];

fn size(queens: u32) -> Size {
    Size::new(queens).expect("a size that is allowed")
}

/// A plain program: the columns and diagonals under attack, row by row.
fn plain(all: u32, columns: u32, left: u32, right: u32) -> Found<u64> {
    let mut found = Found {
        nodes: 1,
        sum: u64::from(columns == all),
    };
    let mut free = all & !(columns | left | right);
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        let below = plain(
            all,
            columns | queen,
            (left | queen) << 1,
            (right | queen) >> 1,
        );
        found.nodes += below.nodes;
        found.sum += below.sum;
    }
    found
}

#[test]
fn one_thread_counts_exactly() {
    for (queens, expected) in (0..=11).zip(SOLUTIONS) {
        let found = sequential::<Matrix>(&size(queens));
        assert_eq!(found.sum, expected, "{queens} queens");
        assert_eq!(found, plain((1 << queens) - 1, 0, 0, 0), "{queens} queens");
    }
    for (queens, nodes) in (8..=13).zip([2_057, 8_394, 35_539, 166_926, 856_189, 4_674_890]) {
        let found = sequential::<Matrix>(&size(queens));
        assert_eq!(found.nodes, nodes, "{queens} queens");
        assert_eq!(Some(found.sum), size(queens).known(), "{queens} queens");
    }
}

/// Finnerty, acceptance fact 2: N queens.
#[test]
fn queens_count_exactly_everywhere() {
    let points = sample(60);
    sample::assert_covers(&points, 10);
    for (i, point) in points.iter().enumerate() {
        // The large boards less often.
        let queens = [8, 9, 10, 8, 9, 10, 8, 11, 9, 10, 12, 11][i % 12];
        let size = size(queens);
        let bag = Queens::new(&size);
        let run = point.run(bag, |_| size, Found::default());
        assert!(run.complete);
        assert_eq!(
            run.output.sum, SOLUTIONS[queens as usize],
            "{queens} queens, {point:?}"
        );
        let tasks: u64 = run.tasks();
        assert_eq!(run.output.nodes, tasks + 1, "{queens} queens, {point:?}");
    }
}

/// Few or no queens leave a bag empty, or of one task, or without any solution.
#[test]
fn the_smallest_boards_are_done_everywhere() {
    for point in sample(12) {
        for (queens, expected) in (0..4).zip(SOLUTIONS) {
            let size = size(queens);
            let bag = Queens::new(&size);
            let run = point.run(bag, |_| size, Found::default());
            assert_eq!(run.output.sum, expected, "{queens} queens, {point:?}");
        }
    }
}

/// Finnerty's rules for bags, B-1 to B-4, with a position that moves and one that has to be made
/// again.
#[test]
fn random_splits_and_merges_keep_every_branch() {
    for queens in 4..=9 {
        let size = size(queens);
        let checked = laws::check_portable(|| Queens::new(&size), || size, Found::default);
        let checked = checked.expect("it keeps the laws");
        assert_eq!(checked.output, sequential::<Matrix>(&size), "{queens}");
        assert_eq!(checked.output.nodes, checked.tasks as u64 + 1, "{queens}");
    }
}

#[test]
fn dividing_to_single_branches_keeps_every_branch() {
    let size = size(9);
    let expected = sequential::<Matrix>(&size);
    for first in [0, 1, 20, 1000, 8000] {
        let begun = || {
            let mut bag = Queens::new(&size);
            bag.process(first, &size);
            bag
        };
        let checked = laws::check(begun, || size, Found::default);
        assert_eq!(
            checked.expect("it keeps the laws").output,
            expected,
            "{first}"
        );
    }
}

/// A half is about half of what is left, not only of the branches.
#[test]
fn a_half_is_worth_about_half() {
    let size = size(11);
    let mut bag = Queens::new(&size);
    bag.process(5000, &size);
    let loot = laws::divide(&mut bag, tautline::balance::Share::Half).expect("it can be divided");
    let [kept, given] = [bag, loot].map(|mut bag| bag.process(usize::MAX, &size) as f64);
    let part = given / (kept + given);
    assert!((0.3..0.7).contains(&part), "{part}");
}

#[test]
fn too_many_queens_are_refused() {
    assert_eq!(Size::MAX, 32);
    // The largest matrix there is: its rows are numbered to the end.
    let largest = size(32);
    let mut bag = Queens::new(&largest);
    assert_eq!(bag.len(), 32);
    assert_eq!(bag.process(100_000, &largest), 100_000);
    let refused = Size::new(33).unwrap_err().to_string();
    assert_eq!(refused, "33 queens: from 0 to 32");
}

/// `cargo ci test` runs this one, with `--release`.
#[test]
#[ignore = "cargo ci deep: 0.2 thousand million nodes: with --release"]
fn large_boards_count_exactly() {
    let boards = [(14, 365_596), (14, 365_596), (15, 2_279_184)];
    for ((queens, expected), point) in boards.into_iter().zip(sample(3)) {
        let size = size(queens);
        let bag = Queens::new(&size);
        let run = point.run(bag, |_| size, Found::default());
        assert_eq!(run.output.sum, expected, "{queens} queens, {point:?}");
    }
}
