//! Pentomino tilings, counted in every way there is.

mod sample;

use sample::{Point, sample};
use std::collections::BTreeSet;
use tautline::balance::backtrack::{Found, sequential};
use tautline::balance::{Bag, laws};
use tautline_cli::pentomino::{Board, Pieces, Pieces::OneSided, Pieces::TwoSided, Tiling, Tilings};

/// All tilings, of which a quarter is fundamental.
const TILINGS: [(u32, u32, Pieces, u64); 9] = [
    (1, 60, TwoSided, 0),
    (30, 2, TwoSided, 0),
    (3, 20, TwoSided, 8),
    (15, 4, TwoSided, 1_472),
    (5, 12, TwoSided, 4_040),
    (6, 10, TwoSided, 9_356),
    (90, 1, OneSided, 0),
    (2, 45, OneSided, 0),
    (3, 30, OneSided, 184),
];

fn board(width: u32, height: u32, pieces: Pieces, fundamental: bool) -> Board {
    Board::new(width, height, pieces, fundamental).expect("a board of the right area")
}

fn count(board: &Board, point: &Point) -> Found<u64> {
    let run = point.run(Tilings::new(board), |_| board.clone(), Found::default());
    assert!(run.complete);
    let tasks: u64 = run.tasks();
    assert_eq!(run.output.nodes, tasks + 1, "{point:?}");
    run.output
}

#[test]
fn one_thread_counts_exactly() {
    for (width, height, pieces, all) in TILINGS {
        for (fundamental, expected) in [(false, all), (true, all / 4)] {
            let board = board(width, height, pieces, fundamental);
            let title = format!("{width}x{height} {pieces:?} {fundamental}");
            assert_eq!(sequential::<Tiling>(&board).sum, expected, "{title}");
            assert_eq!(board.known(), Some(expected), "{title}");
        }
    }
}

/// Finnerty, acceptance fact 2: the pentomino tilings of 6 x 10, all of them and one of each four.
#[test]
fn tilings_count_exactly_everywhere() {
    for (i, point) in sample(8).iter().enumerate() {
        let fundamental = i % 4 > 0;
        let expected = if fundamental { 2_339 } else { 9_356 };
        let board = board(6, 10, TwoSided, fundamental);
        assert_eq!(count(&board, point).sum, expected, "{point:?}");
    }
}

/// The same for the boards that take no time.
#[test]
fn small_boards_count_exactly_everywhere() {
    let points = sample(60);
    sample::assert_covers(&points, 10);
    for (i, point) in points.iter().enumerate() {
        let (height, expected) = [(20, 2), (20, 2), (15, 368)][i % 3];
        let board = board(60 / height, height, TwoSided, true);
        let found = count(&board, point);
        assert_eq!(found.sum, expected, "{point:?}");
    }
}

/// A plain program: an array with a border, and all shapes of five squares found by growing them.
struct Plain {
    occupied: Vec<bool>,
    used: Vec<bool>,
    /// The piece, and the offsets of its squares from the first.
    shapes: Vec<(usize, Vec<usize>)>,
}

type Squares = Vec<(i32, i32)>;

/// Sorted, and the first at (0, 0).
fn put(squares: impl IntoIterator<Item = (i32, i32)>) -> Squares {
    let sorted: BTreeSet<_> = squares.into_iter().collect();
    let &(top, left) = sorted.first().expect("some squares");
    sorted.iter().map(|(y, x)| (y - top, x - left)).collect()
}

/// The least of the shapes that turning, and turning over if allowed, makes of this one.
fn piece_of(shape: &Squares, pieces: Pieces) -> Squares {
    let mut turned = shape.clone();
    let mut alike = Vec::new();
    for _ in 0..4 {
        turned = put(turned.iter().map(|(y, x)| (*x, -y)));
        alike.push(turned.clone());
        if pieces == TwoSided {
            alike.push(put(turned.iter().map(|(y, x)| (*y, -x))));
        }
    }
    alike.into_iter().min().expect("four at least")
}

impl Plain {
    fn new(width: usize, lines: usize, pieces: Pieces) -> Self {
        let mut shapes = BTreeSet::from([put([(0, 0)])]);
        for _ in 1..5 {
            let grown = shapes.iter().flat_map(|shape| {
                let neighbours = |&(y, x): &(i32, i32)| {
                    [(0, 1), (0, -1), (1, 0), (-1, 0)].map(|(down, right)| (y + down, x + right))
                };
                let free = shape
                    .iter()
                    .flat_map(neighbours)
                    .filter(|at| !shape.contains(at));
                free.map(|at| put(shape.iter().copied().chain([at])))
            });
            shapes = grown.collect();
        }
        let names: BTreeSet<_> = shapes.iter().map(|shape| piece_of(shape, pieces)).collect();
        // Four squares of border on every side: no shape reaches beyond them.
        let stride = width + 8;
        let shapes = shapes.iter().map(|shape| {
            let name = piece_of(shape, pieces);
            let piece = names
                .iter()
                .position(|other| *other == name)
                .expect("a name");
            let at = |(y, x): &(i32, i32)| (y * stride as i32 + x) as usize;
            (piece, shape.iter().map(at).collect())
        });
        let inside = |at: usize| {
            (4..lines + 4).contains(&(at / stride)) && (4..width + 4).contains(&(at % stride))
        };
        Self {
            occupied: (0..(lines + 8) * stride).map(|at| !inside(at)).collect(),
            used: vec![false; names.len()],
            shapes: shapes.collect(),
        }
    }

    fn count(&mut self, found: &mut Found<u64>) {
        found.nodes += 1;
        let Some(first) = self.occupied.iter().position(|occupied| !occupied) else {
            found.sum += 1;
            return;
        };
        for shape in 0..self.shapes.len() {
            let (piece, squares) = self.shapes[shape].clone();
            let squares = squares.iter().map(|square| first.wrapping_add(*square));
            if self.used[piece] || squares.clone().any(|square| self.occupied[square]) {
                continue;
            }
            self.used[piece] = true;
            squares
                .clone()
                .for_each(|square| self.occupied[square] = true);
            self.count(found);
            squares.for_each(|square| self.occupied[square] = false);
            self.used[piece] = false;
        }
    }
}

/// Nodes too: so the tables of what fits have every lay, and no other.
#[test]
fn a_plain_program_counts_the_same() {
    assert_eq!(Plain::new(3, 20, TwoSided).used.len(), 12);
    assert_eq!(Plain::new(3, 30, OneSided).used.len(), 18);
    for (width, height, pieces) in [
        (1, 60, TwoSided),
        (2, 30, TwoSided),
        (3, 20, TwoSided),
        (4, 15, TwoSided),
        (1, 90, OneSided),
        (2, 45, OneSided),
    ] {
        let mut found = Found::default();
        Plain::new(width, height, pieces).count(&mut found);
        let board = board(width as u32, height as u32, pieces, false);
        assert_eq!(sequential::<Tiling>(&board), found, "{width}x{height}");
    }
}

/// Finnerty's rules for bags, B-1 to B-4, with a position that moves and one that has to be made
/// again.
#[test]
fn random_splits_and_merges_keep_every_branch() {
    let boards = [
        board(3, 20, TwoSided, true),
        board(3, 20, TwoSided, false),
        board(2, 45, OneSided, false),
    ];
    for (index, board) in boards.iter().enumerate() {
        let new = || Tilings::new(board);
        let checked = laws::check_portable(new, || board.clone(), Found::default);
        let checked = checked.expect("it keeps the laws");
        assert_eq!(checked.output, sequential::<Tiling>(board), "{index}");
        assert_eq!(checked.output.nodes, checked.tasks as u64 + 1, "{index}");
    }
}

#[test]
fn dividing_to_single_branches_keeps_every_branch() {
    let board = board(3, 20, TwoSided, false);
    for first in [0, 1, 20, 1000, 70_000] {
        let begun = || {
            let mut bag = Tilings::new(&board);
            bag.process(first, &board);
            bag
        };
        let checked = laws::check(begun, || board.clone(), Found::default);
        let (nodes, sum) = (71_191, 8);
        let found = checked.expect("it keeps the laws").output;
        assert_eq!(found, Found { nodes, sum }, "{first}");
    }
}

#[test]
fn boards_of_another_area_are_refused() {
    for (width, height, pieces, expected) in [
        (
            8,
            8,
            TwoSided,
            "8x8: 12 pieces cover 60 squares, so one of 1x60 2x30 3x20 4x15 5x12 6x10",
        ),
        (
            0,
            60,
            TwoSided,
            "0x60: 12 pieces cover 60 squares, so one of 1x60 2x30 3x20 4x15 5x12 6x10",
        ),
        (
            6,
            10,
            OneSided,
            "6x10: 18 pieces cover 90 squares, so one of 1x90 2x45 3x30 5x18 6x15 9x10",
        ),
    ] {
        let refused = Board::new(width, height, pieces, false).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    assert!(Board::new(u32::MAX, u32::MAX, TwoSided, false).is_err());
}

/// `cargo ci test` runs this one, with `--release`.
#[test]
#[ignore = "cargo ci deep: 0.1 thousand million nodes: with --release"]
fn large_boards_count_exactly() {
    for point in sample(4) {
        assert_eq!(
            count(&board(6, 10, TwoSided, false), &point).sum,
            9_356,
            "{point:?}"
        );
        assert_eq!(
            count(&board(3, 30, OneSided, false), &point).sum,
            184,
            "{point:?}"
        );
    }
}

#[test]
#[ignore = "cargo ci deep: thousands of millions of nodes: minutes, with --release"]
fn longer_one_sided_boards_count_exactly() {
    for (fundamental, expected) in [(true, 686_628), (false, 2_746_512)] {
        let found = count(&board(5, 18, OneSided, fundamental), &sample(1)[0]);
        assert_eq!(found.sum, expected);
    }
}

/// The instance of the thesis.
#[test]
#[ignore = "cargo ci deep: hours, with --release"]
fn the_longest_one_sided_board_counts_exactly() {
    let found = count(&board(9, 10, OneSided, true), &sample(1)[0]);
    assert_eq!(found.sum, 10_440_433);
}
