//! The ways to lay the twelve pentominoes into 6 x 10 squares, without reflections and rotations.
use tautline::balance::{Local, Task, Tasks};

/// Columns and rows of each piece's squares, counted from '1'.
const PIECES: &str = "2131122223 1112131415 1112131424 1112132324 1121122213 1121312223 \
     1131122232 1112132333 1112222333 1121011012 1121314122 1121222333";

/// The covered squares, one bit each, and the pieces used.
pub(crate) struct Board(pub u64, pub u32);

/// By its first square, every way that a piece can lie: which piece, which squares.
pub(crate) type Lays = Vec<Vec<(u32, u64)>>;

impl Task for Board {
    type Shared = Lays;
    type Sum = u64;

    fn run(self, todo: &mut Local<Self>, tilings: &mut u64, lays: &Lays) {
        let first = self.0.trailing_ones() as usize;
        *tilings += u64::from(first == 60);
        for (piece, squares) in lays.get(first).into_iter().flatten() {
            if self.0 & squares == 0 && self.1 & piece == 0 {
                todo.push(Self(self.0 | squares, self.1 | piece));
            }
        }
    }

    fn add(sum: &mut u64, other: u64) {
        *sum += other;
    }
}

/// All lays, or those with the cross in one quarter of the board.
pub(crate) fn lays(all: bool) -> Lays {
    let mut lays = vec![std::collections::BTreeSet::new(); 60];
    for (i, piece) in PIECES.split(' ').enumerate() {
        for (turn, at) in (0..480).map(|n| (n / 60, n as i32 % 60)) {
            let flip = |bit: i32| 1 - (turn as i32 >> bit & 1) * 2;
            let squares = piece.as_bytes().chunks(2).map(|s| {
                let [x, y] = [turn & 1, !turn & 1].map(|axis| i32::from(s[axis]) - 49);
                (at % 6 + x * flip(1), at / 6 + y * flip(2))
            });
            let inside = |(x, y)| (0..6).contains(&x) && (0..10).contains(&y);
            // The cross, which looks the same from all sides, marks the quarter.
            if squares.clone().all(inside) && (all || i != 9 || at % 6 < 3 && at < 30) {
                let mask = squares.fold(0u64, |mask, (x, y)| mask | 1 << (6 * y + x));
                lays[mask.trailing_zeros() as usize].insert((1 << i, mask));
            }
        }
    }
    lays.into_iter().map(Vec::from_iter).collect()
}

fn main() -> tautline::Result<()> {
    let run = tautline::balancer().run(Tasks::from_iter([Board(0, 0)]), |_| lays(false), 0)?;
    assert_eq!(run.output, 2339);
    println!("{} tilings, in {:?}", run.output, run.elapsed);
    Ok(())
}
