//! The README's program of tasks: forks, and tasks that wait for values.
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
        // Runs once both values are there, and occupies no worker until then.
        cx.spawn_when((&x, &y), |(x, y), _| sum = x + y);
        cx.spawn(|cx| _ = x.put(fib(cx, 30)));
        cx.spawn_async(|_| async { _ = y.put(2 * *x.wait().await) });
    });
    assert_eq!(sum, 3 * 832_040);
    println!("three times the 30th Fibonacci number: {sum}");
    Ok(())
}
