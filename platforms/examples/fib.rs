//! Fork and join at its smallest: every call but the leaves forks.
use tautline::prelude::*;

fn fib(cx: &mut Cx, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let rt = Runtime::new()?;
    let answer = rt.run(|cx| fib(cx, 32));
    println!("fib(32) = {answer}, by {} workers", rt.workers());
    Ok(())
}
