//! The time of a program by state: the same sum by tasks that are far too small, and by larger
//! ones.
//!
//! `TAUTLINE_TRACE=trace.json` and `TAUTLINE_LIFE=life.html` show the same over time, for any
//! program on the runtime.

use tautline::prelude::*;
use tautline::watch::{Observe, State};

/// Adds up the squares of `from..to`, in tasks of at most `grain` numbers.
fn squares(cx: &mut Cx, from: u64, to: u64, grain: u64) -> u64 {
    if to - from <= grain {
        return (from..to).map(|n| n * n % 7).sum();
    }
    let middle = from + (to - from) / 2;
    let (a, b) = cx.join(
        |cx| squares(cx, from, middle, grain),
        |cx| squares(cx, middle, to, grain),
    );
    a + b
}

fn main() -> tautline::Result<()> {
    let mut sums = vec![];
    for grain in [1, 10_000] {
        let rt = Runtime::builder().observe(Observe::new()).build()?;
        sums.push(rt.run(|cx| squares(cx, 0, 4_000_000, grain)));
        let table = rt.times().expect("the runtime is observed");
        println!("tasks of {grain} numbers:\n{table}");
        assert!(table.total().of(State::Computing) > 0);
    }
    assert_eq!(sums[0], sums[1]);
    Ok(())
}
