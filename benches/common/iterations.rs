//! Iterations of the loops that schedules and other runtimes are compared on.

use std::hint::black_box;

/// A chain of `n` dependent steps, which no compiler shortens.
pub(crate) fn steps(n: usize) -> f64 {
    (0..n).fold(black_box(1.0), |x, _| x * 0.999 + 0.001)
}

/// A row of the Mandelbrot set, 512 points wide.
pub(crate) fn mandelbrot(row: usize) -> u32 {
    let y = row as f64 / 512.0 - 1.0;
    let point = |column: usize| {
        let x = column as f64 / 256.0 - 1.5;
        let (mut a, mut b) = (0.0f64, 0.0f64);
        let escapes = (0..200u32).find(|_| {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            a * a + b * b > 4.0
        });
        escapes.unwrap_or(200)
    };
    (0..512).map(point).sum()
}

/// A step count from the hash of an index, geometrically distributed around 256.
pub(crate) fn geometric(i: usize) -> usize {
    let hash = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    (-256.0 * (1.0 - hash as f64 / (1u64 << 53) as f64).ln()) as usize
}

/// The steps of iteration `i` of `n`.
pub(crate) type Cost = fn(usize, usize) -> usize;

/// About 1000 steps a large iteration, on average.
pub(crate) const COSTS: [(&str, Cost); 8] = [
    ("even", |_, _| 1000),
    ("rising", |i, n| 2000 * i / n),
    ("falling", |i, n| 2000 - 2000 * i / n),
    ("geometric", |i, _| 4 * geometric(i)),
    (
        "bimodal",
        |i, _| if i * 7919 % 10 == 0 { 8000 } else { 200 },
    ),
    ("hot spot", |i, n| if i * 10 / n == 3 { 8000 } else { 200 }),
    (
        "hot end",
        |i, n| if i * 20 / n == 19 { 15_000 } else { 250 },
    ),
    ("waves", |i, n| {
        1000 + (900.0 * (i as f64 / n as f64 * 40.0).sin()) as usize
    }),
];

/// A way to run a loop.
pub(crate) trait Way {
    /// Calls `body` with each index below `len`.
    fn run(&mut self, len: usize, body: &(impl Fn(usize) + Sync));
}

/// Runs the loop `name` of `len` iterations. Returns false if there is no such loop.
pub(crate) fn run(name: &str, len: usize, way: &mut impl Way) -> bool {
    match name {
        "mandel" => way.run(len, &|i| _ = black_box(mandelbrot(2 * i))),
        "fine" => way.run(len, &|i| _ = black_box(i * i)),
        "short" => way.run(len, &|i| _ = black_box(i)),
        _ => match COSTS.iter().find(|(cost, _)| *cost == name) {
            Some((_, cost)) => way.run(len, &|i| _ = black_box(steps(cost(i, len)))),
            None => return false,
        },
    }
    true
}
