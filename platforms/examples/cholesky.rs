//! Factorises a matrix in tiles: a task for each, which begins when those left and above are done.
use tautline::prelude::*;

const TILES: usize = 12;
const SIDE: usize = 32;
type Tile = Vec<[f64; SIDE]>;

/// Positive definite: far more on the diagonal than off it.
fn entry(row: usize, column: usize) -> f64 {
    let far = row.abs_diff(column);
    [2.0 * (TILES * SIDE) as f64, 1.0 / far as f64][far.min(1)]
}

/// Returns `rest` minus the products of the numbers of two rows.
fn reduce(rest: f64, row: &[f64], other: &[f64]) -> f64 {
    let pairs = row.iter().zip(other);
    pairs.fold(rest, |rest, (x, y)| rest - x * y)
}

/// From the tiles to its left, and those of the row that its column begins in, up to the diagonal.
fn tile(row: usize, column: usize, left: &[&Tile], top: &[&Tile]) -> Tile {
    let mut tile = vec![[0.0; SIDE]; SIDE];
    for i in 0..SIDE {
        for j in 0..if row > column { SIDE } else { i + 1 } {
            let mut rest = entry(row * SIDE + i, column * SIDE + j);
            (0..column).for_each(|k| rest = reduce(rest, &left[k][i], &top[k][j]));
            let mut above = top.get(column).unwrap_or(&&tile)[j];
            tile[i][j] = reduce(rest, &tile[i][..j], &above[..j]);
            if row == column && i == j {
                above[j] = tile[i][j].sqrt();
            }
            tile[i][j] /= above[j];
        }
    }
    tile
}

fn main() -> tautline::Result<()> {
    let cells: Vec<Ddf<Tile>> = (0..TILES * TILES).map(|_| Ddf::new()).collect();
    Runtime::new()?.run(|cx| {
        for at in (0..TILES * TILES).filter(|at| at % TILES <= at / TILES) {
            let (r, c, cell) = (at / TILES, at % TILES, &cells[at]);
            let (left, top) = (&cells[r * TILES..][..c], &cells[c * TILES..]);
            let inputs = left.iter().chain(&top[..c + usize::from(r > c)]);
            cx.spawn_when(inputs.collect::<Vec<_>>(), move |tiles, _| {
                _ = cell.put(tile(r, c, &tiles[..c], &tiles[c..]));
            });
        }
    });
    let mut plain = vec![[0.0; TILES * SIDE]; TILES * SIDE];
    for (r, c) in (0..TILES * SIDE).flat_map(|r| (0..=r).map(move |c| (r, c))) {
        let rest = reduce(entry(r, c), &plain[r][..c], &plain[c][..c]);
        plain[r][c] = rest / if r == c { rest.sqrt() } else { plain[c][c] };
        let tile = cells[r / SIDE * TILES + c / SIDE].get().expect("put");
        assert!((tile[r % SIDE][c % SIDE] - plain[r][c]).abs() < 1e-9);
    }
    println!("{TILES} by {TILES} tiles: as the plain factorisation");
    Ok(())
}
