//! Loops by name. Iterations cost about 1000 steps, on average, in all but the last two.

use crate::kernels::{geometric, mandelbrot, steps};
use std::hint::black_box;

/// The steps of iteration `i` of `n`.
type Cost = fn(usize, usize) -> usize;

const COSTS: [(&str, Cost); 8] = [
    ("even", |_, _| 1000),
    ("rising", |i, n| 2000 * i / n),
    ("falling", |i, n| 2000 - 2000 * i / n),
    ("geometric", |i, _| 4 * geometric(i)),
    (
        "bimodal",
        |i, _| if i * 7919 % 10 == 0 { 8000 } else { 200 },
    ),
    ("hot-spot", |i, n| if i * 10 / n == 3 { 8000 } else { 200 }),
    (
        "hot-end",
        |i, n| if i * 20 / n == 19 { 15_000 } else { 250 },
    ),
    ("waves", |i, n| {
        1000 + (900.0 * (i as f64 / n as f64 * 40.0).sin()) as usize
    }),
];

/// The names and numbers of iterations of all loops.
pub(crate) const LOOPS: [(&str, &[usize]); 10] = [
    ("even", &[64, 2000]),
    ("rising", &[64, 2000]),
    ("falling", &[64, 2000]),
    ("geometric", &[64, 2000]),
    ("bimodal", &[64, 2000]),
    ("hot-spot", &[64, 2000]),
    ("hot-end", &[64, 2000]),
    ("waves", &[64, 2000]),
    ("mandel", &[512]),
    ("fine", &[1_000_000]),
];

/// A task for each loop: `with` is called with its body.
pub(crate) trait Loop {
    type Out;

    fn with(self, body: impl Fn(usize) + Sync) -> Self::Out;
}

/// Calls `task` with the body of the loop `name` of `n` iterations; `None` without such a loop.
pub(crate) fn by_name<L: Loop>(name: &str, n: usize, task: L) -> Option<L::Out> {
    Some(match name {
        "mandel" => task.with(|i| _ = black_box(mandelbrot(2 * i))),
        "fine" => task.with(|i| _ = black_box(i * i)),
        _ => {
            let (_, cost) = COSTS.iter().find(|(known, _)| *known == name)?;
            task.with(|i| _ = black_box(steps(cost(i, n))))
        }
    })
}
