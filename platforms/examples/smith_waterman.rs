//! The best local alignment of two sequences (Smith and Waterman): a task for each tile of the
//! table, which begins when the tiles to its left, above and at its corner are there.
use tautline::prelude::*;

const SIDE: usize = 64;

/// The scores of its right column and bottom row, and the largest score.
type Tile = (Vec<i32>, Vec<i32>, i32);

/// Scores the tile of the letters `a` by `b`. Beyond the table all scores are 0.
fn score(a: &[u8], b: &[u8], above: &Tile, left: &Tile, corner: &Tile) -> Tile {
    let mut row = above.1.clone();
    row.resize(b.len(), 0);
    let (mut right, mut best) = (vec![], 0);
    let mut corner = corner.1.last().copied().unwrap_or(0);
    for (i, x) in a.iter().enumerate() {
        let before = left.0.get(i).copied().unwrap_or(0);
        let (mut diagonal, mut left) = (corner, before);
        for (y, score) in b.iter().zip(&mut row) {
            let pair = diagonal + if x == y { 2 } else { -1 };
            diagonal = *score;
            *score = pair.max(left - 1).max(*score - 1).max(0);
            left = *score;
            best = best.max(left);
        }
        right.push(left);
        corner = before;
    }
    (right, row, best)
}

fn main() -> tautline::Result<()> {
    let letter = |n: u64| b"ACGT"[(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize % 4];
    let a: Vec<u8> = (0..2000).map(letter).collect();
    let b: Vec<u8> = (0..1500).map(|n| letter(n * n + 7)).collect();
    let (rows, columns) = (a.len().div_ceil(SIDE) + 1, b.len().div_ceil(SIDE) + 1);
    // The first row and column are beyond the table: so all tiles have three neighbours.
    let tiles: Vec<Ddf<Tile>> = (0..rows * columns).map(|_| Ddf::new()).collect();
    let at = |i: usize, j: usize| &tiles[i * columns + j];
    Runtime::new()?.run(|cx| {
        for (i, a) in (1..).zip(a.chunks(SIDE)) {
            for (j, b) in (1..).zip(b.chunks(SIDE)) {
                let inputs = (at(i - 1, j), at(i, j - 1), at(i - 1, j - 1));
                cx.spawn_when(inputs, move |(above, left, corner), _| {
                    _ = at(i, j).put(score(a, b, above, left, corner));
                });
            }
        }
        (0..columns).for_each(|j| _ = at(0, j).put(Tile::default()));
        (1..rows).for_each(|i| _ = at(i, 0).put(Tile::default()));
    });
    let best = tiles.iter().map(|tile| tile.get().expect("put").2).max();
    let none = Tile::default();
    assert_eq!(best, Some(score(&a, &b, &none, &none, &none).2));
    println!("the best alignment scores {}", best.unwrap_or(0));
    Ok(())
}
