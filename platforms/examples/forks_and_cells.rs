//! The README's program of tasks: forks, spawned tasks, async code and a value that is waited for.
use tautline::prelude::*;

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let (x, y, mut sum) = (Ddf::new(), Ddf::new(), 0);
    Runtime::new()?.run(|cx| {
        cx.spawn_when((&x, &y), |(x, y), _| sum = x + y);
        cx.spawn(|cx| _ = x.put(fib(cx, 30)));
        cx.spawn_async(|_| async { _ = y.put(*x.wait().await + 514_229) });
    });
    assert_eq!(sum, 2_178_309);
    println!("{sum}, the 32nd Fibonacci number");
    Ok(())
}
