//! A long loop that reports how far it is, about every 50 ms, on standard error: Collatz's longest
//! chain.
use std::io::IsTerminal;
use tautline::prelude::*;

const NUMBERS: u64 = 1_000_000;

/// The steps from `n` to 1, where an odd number is tripled and increased, and an even one halved.
fn steps(mut n: u64) -> u32 {
    let mut steps = 0;
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() -> tautline::Result<()> {
    // On a terminal the line is overwritten; a log has a line a report.
    let end = if std::io::stderr().is_terminal() {
        '\r'
    } else {
        '\n'
    };
    let report = |done: usize, of: usize| eprint!("{:>3} % done{end}", 100 * done / of.max(1));
    let longest = Runtime::new()?.run(|cx| {
        let chains = cx.par(1..NUMBERS).progress(&report);
        chains
            .map(|n| (steps(n), n))
            .reduce(|| (0, 0), |a, b| a.max(b))
    });
    eprintln!();
    println!(
        "{} takes {} steps, the most below {NUMBERS}",
        longest.1, longest.0
    );
    Ok(())
}
