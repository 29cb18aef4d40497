//! Home functions: the values that a wavefront sends with each, and the sizes of what ranks have.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tautline_core::Rank;
use tautline_core::space::home::{self, Grid};

/// The rows and the columns of tiles of the wavefront.
const SIDE: u32 = 20;

/// Returns the number of values that travel: pairs of a cell and another rank that reads it. A tile
/// has a cell for the tile below, one for the tile to its right and one for its corner. Cells of
/// the border are made where they are read.
fn travelling(at: impl Fn(u32, u32) -> Rank) -> usize {
    let mut pairs = HashSet::new();
    for (i, j) in (0..SIDE).flat_map(|i| (0..SIDE).map(move |j| (i, j))) {
        for (kind, down, right) in [("below", 1, 0), ("right", 0, 1), ("corner", 1, 1)] {
            let (Some(row), Some(column)) = (i.checked_sub(down), j.checked_sub(right)) else {
                continue;
            };
            if at(row, column) != at(i, j) {
                pairs.insert((kind, row, column, at(i, j)));
            }
        }
    }
    pairs.len()
}

/// Chatterjee, acceptance fact 31: diagonals transfer less than cyclic tiles.
#[test]
fn distributions_of_the_wavefront() {
    for (ranks, expected) in [
        (2, [741, 38, 39, 39]),
        (4, [741, 144, 117, 77]),
        (8, [1121, 326, 273, 153]),
    ] {
        let by_rows = home::cyclic(ranks);
        let counts = [
            travelling(|i, j| by_rows(u64::from(i * SIDE + j))),
            travelling(home::diagonals(SIDE, SIDE, ranks)),
            travelling(home::column_blocks(SIDE, SIDE, ranks)),
            travelling(home::grid_blocks(SIDE, SIDE, Grid::square(ranks))),
        ];
        assert_eq!(counts, expected, "{ranks} ranks");
    }
    assert_eq!(travelling(home::diagonals(SIDE, SIDE, 1)), 0);
}

/// Asserts that ranks follow each other in their order, and that none has two more than another.
fn is_even(homes: &[Rank], ranks: u32) {
    assert!(homes.is_sorted(), "{homes:?}");
    let count = |rank| homes.iter().filter(|home| home.0 == rank).count();
    let (least, most) = (
        homes.len() / ranks as usize,
        homes.len().div_ceil(ranks as usize),
    );
    let counts: Vec<_> = (0..ranks).map(count).collect();
    assert!(
        counts.iter().all(|n| (least..=most).contains(n)),
        "{counts:?}"
    );
    assert_eq!(counts.iter().sum::<usize>(), homes.len(), "{homes:?}");
}

#[test]
fn blocks_and_pieces_of_diagonals_are_even() {
    for ranks in 1..=9 {
        for length in 1..=40 {
            let at = home::blocks(length, ranks);
            is_even(&(0..length).map(at).collect::<Vec<_>>(), ranks);
        }
        for (rows, columns) in [(1, 1), (1, 7), (7, 1), (5, 12), (12, 5), (9, 9)] {
            let at = home::diagonals(rows, columns, ranks);
            for sum in 0..=rows + columns - 2 {
                let tiles = (0..rows).filter(|i| *i <= sum && sum - i < columns);
                is_even(&tiles.map(|i| at(i, sum - i)).collect::<Vec<_>>(), ranks);
            }
        }
    }
}

#[test]
fn blocks_of_a_grid_are_rectangles() {
    for (rows, columns, grid) in [(1, 1, Grid::new(2, 3)), (7, 10, Grid::new(3, 4))] {
        let at = home::grid_blocks(rows, columns, grid);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let row = home::blocks(rows.into(), grid.rows())(i.into());
            let column = home::blocks(columns.into(), grid.columns())(j.into());
            assert_eq!(at(i, j).0, row.0 * grid.columns() + column.0);
        }
    }
    let wide = home::column_blocks(3, 10, 4);
    let columns: Vec<_> = (0..10).map(|j| wide(2, j)).collect();
    is_even(&columns, 4);
    assert!((0..10).all(|j| wide(0, j) == columns[j as usize]));
}

#[test]
fn turns_are_taken_in_both_directions() {
    let at = home::block_cyclic(Grid::new(2, 3));
    for (i, j) in [(0, 0), (1, 2), (2, 3), (5, 7), (u32::MAX, u32::MAX)] {
        assert_eq!(at(i, j), Rank(i % 2 * 3 + j % 3));
    }
    let cyclic = home::cyclic(7);
    for i in [0, 6, 7, u64::MAX] {
        assert_eq!(u64::from(cyclic(i).0), i % 7);
    }
}

#[test]
fn grids_are_as_square_as_their_ranks_allow() {
    for (ranks, rows, columns) in [
        (1, 1, 1),
        (2, 1, 2),
        (4, 2, 2),
        (12, 3, 4),
        (13, 1, 13),
        (36, 6, 6),
        (4096, 64, 64),
        (u32::MAX, 65_535, 65_537),
    ] {
        let grid = Grid::square(ranks);
        let sides = (grid.rows(), grid.columns(), grid.ranks());
        assert_eq!(sides, (rows, columns, ranks));
    }
}

#[test]
fn the_largest_extents_do_not_overflow() {
    let most = u32::MAX;
    assert_eq!(home::blocks(u64::MAX, most)(u64::MAX - 1), Rank(most - 1));
    let at = home::diagonals(most, most, most);
    assert_eq!(at(most - 1, most - 1), Rank(0));
    assert_eq!(at(most - 1, 0), Rank(most - 1));
    let at = home::grid_blocks(most, most, Grid::square(most));
    assert_eq!(at(most - 1, most - 1), Rank(most - 1));
}

/// Returns the line with which `call` panics.
fn panicked<T>(call: impl FnOnce() -> T) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call))
        .map(|_| ())
        .unwrap_err();
    *payload.downcast::<String>().expect("a formatted line")
}

#[test]
fn mistakes_are_named() {
    let no_ranks = "0 ranks: a home function needs at least 1";
    assert_eq!(panicked(|| home::cyclic(0)), no_ranks);
    assert_eq!(panicked(|| home::blocks(5, 0)), no_ranks);
    assert_eq!(panicked(|| home::column_blocks(5, 5, 0)), no_ranks);
    assert_eq!(panicked(|| home::diagonals(5, 5, 0)), no_ranks);
    assert_eq!(panicked(|| Grid::square(0)), no_ranks);
    let line = "a grid of 0 x 3 ranks: must have at least 1 and less than 2^32";
    assert_eq!(panicked(|| Grid::new(0, 3)), line);
    let line = "a grid of 65536 x 65536 ranks: must have at least 1 and less than 2^32";
    assert_eq!(panicked(|| Grid::new(1 << 16, 1 << 16)), line);
    let line = "a length of 0: a home function needs at least 1";
    assert_eq!(panicked(|| home::blocks(0, 3)), line);
    let line = "3 x 0 tiles: a home function needs at least 1 x 1";
    assert_eq!(panicked(|| home::diagonals(3, 0, 2)), line);
    assert_eq!(panicked(|| home::column_blocks(3, 0, 2)), line);
    assert_eq!(panicked(|| home::grid_blocks(3, 0, Grid::new(2, 2))), line);
    let line = "number 5: must be below the length, 5";
    assert_eq!(panicked(|| home::blocks(5, 2)(5)), line);
    let line = "tile (0, 3): must be inside of 2 x 3 tiles";
    assert_eq!(panicked(|| home::diagonals(2, 3, 2)(0, 3)), line);
    assert_eq!(
        panicked(|| home::grid_blocks(2, 3, Grid::square(4))(0, 3)),
        line
    );
}
