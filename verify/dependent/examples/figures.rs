//! The cost of a fork and of a spawned task in a program outside of the workspace: `figures
//! WORKERS`, after `benches/TASKS.md`.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::time::{Duration, Instant};
use tautline::prelude::*;

const TASKS: u32 = 10_000;

fn fib(cx: &mut Cx, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    // `move`: numbers are passed in registers, where references would be to memory.
    let (a, b) = cx.join(move |cx| fib(cx, n - 1), move |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let workers = std::env::args().nth(1).map_or(Ok(1), |text| text.parse());
    let workers = workers.expect("a number of workers");
    let rt = Runtime::builder().workers(workers).build()?;

    assert_eq!(rt.run(|cx| fib(cx, 10)), 55);
    let start = Instant::now();
    assert_eq!(rt.run(|cx| fib(cx, black_box(40))), 102_334_155);
    let fork = start.elapsed().as_secs_f64() * 1e9 / 165_580_140.0;

    let spawn = || rt.run(|cx| cx.scope(|cx| (0..TASKS).for_each(|_| cx.spawn(|_| ()))));
    spawn();
    let (start, mut scopes) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_millis(300) {
        spawn();
        scopes += 1;
    }
    let task = start.elapsed().as_secs_f64() * 1e9 / f64::from(TASKS * scopes);
    println!(
        "{workers} workers: {fork:.2} ns a fork of fib(40), {task:.1} ns a task of a scope with {TASKS}"
    );
    Ok(())
}
