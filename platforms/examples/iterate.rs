//! Loops over items: a dot product, a stencil on tiles, a sort, and loops inside of loops.
use tautline::prelude::*;

const WIDTH: usize = 512;

fn main() -> tautline::Result<()> {
    let x: Vec<f64> = (0..1 << 20).map(|i| f64::from(i % 1000)).collect();
    let mut grid = vec![0; WIDTH * WIDTH];
    let mut words: Vec<String> = (0..50_000u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9) % 50_000).to_string())
        .collect();
    Runtime::new()?.run(|cx| {
        // The same bits in every run, with any number of workers.
        let dot = cx.par(&x).zip(&x).map(|(a, b)| a * b).in_order();
        println!("dot product: {}", dot.sum::<f64>());

        cx.par(&mut grid)
            .tiles_mut(WIDTH, (64, 64))
            .for_each(|mut tile| {
                let (top, left) = tile.origin();
                for (row, cells) in tile.rows_mut().enumerate() {
                    for (column, cell) in cells.iter_mut().enumerate() {
                        *cell = (top + row) ^ (left + column);
                    }
                }
            });
        let rows = cx.par(&grid).chunks(WIDTH);
        assert!(rows.all(|row| row.iter().sum::<usize>() == WIDTH * (WIDTH - 1) / 2));

        cx.par(&mut words).sort();
        let first = cx
            .par(&words)
            .enumerate()
            .find_any(|(_, word)| *word == "777");
        println!("777 is word {}", first.map_or(0, |(at, _)| at));

        let mut longest = vec![0; 10];
        cx.par(&mut longest)
            .enumerate()
            .with_cx()
            .for_each(|cx, (digit, longest)| {
                let starts = |word: &&String| word.starts_with(char::from(b'0' + digit as u8));
                *longest = cx
                    .par(&words)
                    .filter(starts)
                    .map(String::len)
                    .max()
                    .unwrap_or(0);
            });
        println!("the longest word for each first digit: {longest:?}");
    });
    Ok(())
}
