//! Forks on a backend of one's own; the conformance suite passes on it, `verify/tests/own_port.rs`.

mod port;

use port::{Threads, run};
use tautline_core::task::Cx;

fn fib(cx: &mut Cx<'_, '_, Threads>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() {
    println!("fib(20) is {}", run(2, |cx| fib(cx, 20)));
}
