//! Forks, and tasks that borrow what their caller owns.
use tautline::prelude::*;

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let (texts, mut words) = (["to be", "or not to be", "that is the question"], [0; 3]);
    let fib = Runtime::new()?.run(|cx| {
        // Each borrows a text and a place for its result; `run` returns once all have ended.
        for (text, count) in texts.iter().zip(&mut words) {
            cx.spawn(move |_| *count = text.split(' ').count());
        }
        fib(cx, 30)
    });
    assert_eq!((fib, words), (832_040, [2, 4, 4]));
    println!("fib(30) is {fib}; words: {words:?}");
    Ok(())
}
