//! One count, however the work is spread.

mod sample;
#[allow(dead_code, reason = "a program of its own")]
#[path = "../../platforms/examples/pentomino.rs"]
mod tiling;

use sample::{Point, every_combination, sample};
use tautline::balance::{Local, Task, Tasks};
use tautline_cli::uts::{Counts, Tree, Uts, named};

/// Counts the named tree at `point`.
fn count(tree: &str, point: &Point) -> u64 {
    let tree = named::find(tree).expect("a tree with a name");
    let run = point.run(
        Uts::root(&Tree::new(tree.params).expect("named trees are valid")),
        |_| Tree::new(tree.params).expect("named trees are valid"),
        Counts::default(),
    );
    assert!(run.complete);
    if let Some(leaves) = tree.leaves {
        assert_eq!(run.output.leaves, leaves, "{} {point:?}", tree.name);
    }
    if let Some(depth) = tree.depth {
        assert_eq!(run.output.max_depth, depth, "{} {point:?}", tree.name);
    }
    run.output.nodes
}

/// One row of this in turn; the trees of 3 to 7 million nodes in every fourth point.
const TREES: [[&str; 4]; 8] = [
    ["T1", "D8", "D9", "D8"],
    ["T2", "D8", "D9", "D8"],
    ["T3", "D8", "D9", "D8"],
    ["T4", "D8", "D9", "D8"],
    ["T5", "D8", "D9", "D8"],
    ["D10", "D8", "D9", "D8"],
    ["anl", "D8", "D9", "D8"],
    ["geo", "D8", "D9", "D8"],
];

/// Finnerty, acceptance fact 1; Saraswat, acceptance facts 1 and 4: the exact count with w = 0, on
/// the ring, with one place, and with everything else: every value of every parameter at least ten
/// times.
#[test]
fn trees_count_exactly_everywhere() {
    let points = sample(128);
    sample::assert_covers(&points, 10);
    for (i, point) in points.iter().enumerate() {
        let name = TREES[i / 4 % TREES.len()][i % 4];
        let nodes = named::find(name).unwrap().nodes;
        assert_eq!(count(name, point), nodes, "{name} {point:?}");
    }
}

/// Counts each of these trees at as many points of `sample(points)`, taken in turn.
fn count_each(trees: &[&str], points: usize) {
    for (i, point) in sample(points).iter().enumerate() {
        let name = trees[i % trees.len()];
        let nodes = named::find(name).unwrap().nodes;
        assert_eq!(count(name, point), nodes, "{name} {point:?}");
        println!("{name} {point:?}");
    }
}

/// The trees of 57 to 111 million nodes.
const LARGE: [&str; 4] = ["T1L", "T2L", "T3L", "triloka"];

/// Finnerty, acceptance fact 1; Saraswat, acceptance fact 1, for the large trees, two settings
/// each.
#[test]
#[ignore = "cargo ci deep: 0.7 thousand million nodes, with --release"]
fn large_trees_count_exactly() {
    count_each(&LARGE, 2 * LARGE.len());
}

/// Saraswat, acceptance fact 1: twelve settings for each of the large trees.
#[test]
#[ignore = "cargo ci deep: 4 thousand million nodes, with --release"]
fn long_trees_count_exactly() {
    let points = 12 * LARGE.len();
    sample::assert_covers(&sample(points), 8);
    count_each(&LARGE, points);
}

/// Saraswat, acceptance fact 1, for P7HV32's tree of 510 010 053 nodes, through the balancer.
#[test]
#[ignore = "cargo ci deep: 3 thousand million nodes, with --release"]
fn the_longest_tree_counts_exactly() {
    count_each(&["p7"], 6);
}

/// Finnerty, acceptance fact 1, to the letter: the tree of depth 10 under every combination of 1 to
/// 5 places, 1 to 3 workers, three graphs, four grains and all modes of fairness.
#[test]
#[ignore = "cargo ci deep: 3 thousand million nodes, with --release"]
fn every_combination_counts_exactly() {
    let points = every_combination();
    assert_eq!(points.len(), 5 * 3 * 3 * 4 * 4);
    let nodes = named::find("D10").unwrap().nodes;
    for point in points {
        assert_eq!(count("D10", &point), nodes, "{point:?}");
    }
}

/// A board of `SIZE` rows, and the squares that the queens above attack.
struct Row {
    size: u32,
    columns: u32,
    left: u32,
    right: u32,
}

impl Task for Row {
    type Shared = ();
    type Sum = u64;

    fn run(self, todo: &mut Local<Self>, solutions: &mut u64, (): &()) {
        let all = (1 << self.size) - 1;
        *solutions += u64::from(self.columns == all);
        let mut free = all & !(self.columns | self.left | self.right);
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            todo.push(Self {
                size: self.size,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
            });
        }
    }

    fn add(sum: &mut u64, other: u64) {
        *sum += other;
    }
}

/// Finnerty, acceptance fact 2: N queens.
#[test]
fn queens_count_exactly_everywhere() {
    let boards = [(8, 92), (9, 352), (10, 724), (11, 2680), (12, 14_200)];
    for (i, point) in sample(60).iter().enumerate() {
        // The large boards less often.
        let (size, expected) = boards[[0, 1, 2, 0, 1, 2, 0, 3, 1, 2, 4, 3][i % 12]];
        let root = Row {
            size,
            columns: 0,
            left: 0,
            right: 0,
        };
        let bag = Tasks::from_iter([root]);
        let run = point.run(bag, |_| (), 0);
        assert!(run.complete);
        assert_eq!(run.output, expected, "{size} queens, {point:?}");
    }
}

/// Finnerty, acceptance fact 2: the pentomino tilings of 6 x 10, all of them and one of each four
/// that mirroring and turning make the same.
#[test]
fn tilings_count_exactly_everywhere() {
    for (i, point) in sample(8).iter().enumerate() {
        let (all, expected) = if i % 4 == 0 {
            (true, 9356)
        } else {
            (false, 2339)
        };
        let bag = Tasks::from_iter([tiling::Board(0, 0)]);
        let lays = |_| tiling::lays(all);
        let run = point.run(bag, lays, 0);
        assert!(run.complete);
        assert_eq!(run.output, expected, "{point:?}");
    }
}
