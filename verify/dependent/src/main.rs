//! Forks, loops and a balanced computation, by a program that depends on the library without
//! features.
#![forbid(unsafe_code)]

use tautline::prelude::*;

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let rt = Runtime::new()?;
    assert_eq!(rt.run(|cx| fib(cx, 25)), 75_025);

    let numbers: Vec<u64> = (1..=100_000).collect();
    let sum: u64 = rt.run(|cx| cx.par(&numbers).sum());
    // The type of the right side is inferred: no crate in this program compares numbers with a type
    // of its own.
    assert_eq!(sum, numbers.iter().sum());

    let ways = rt.balancer().sum([20u32], |stairs, todo| {
        todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
        u64::from(stairs == 0)
    })?;
    assert_eq!((ways.output, ways.complete), (10_946, true));
    println!(
        "forks, loops and a balanced computation on {} workers",
        rt.workers()
    );
    Ok(())
}
