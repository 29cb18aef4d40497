//! Forks on the toy backend.

use tautline_core::task::Cx;
use tautline_toy::{Node, run};

fn fib(cx: &mut Cx<'_, '_, Node>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() {
    println!("fib(20) is {}", run(2, |cx| fib(cx, 20)));
}
