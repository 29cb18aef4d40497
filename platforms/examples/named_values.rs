//! The longest chain of Collatz below a bound: memoised recursion over keys whose range is unknown.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::prelude::*;
use tautline::space::Space;

const BOUND: u64 = 30_000;

/// The numbers of steps from each number to 1, and the numbers that a task computes.
struct Steps {
    of: Space<u64, u64>,
    begun: Space<u64, ()>,
}

impl Steps {
    /// Spawns the task that computes the steps of `n`, unless another caller has.
    fn want<'s>(&'s self, cx: &mut Cx<'s, '_>, n: u64) {
        if self.begun.put(n, ()).is_err() {
            return;
        }
        if n == 1 {
            return self.of.put(1, 0).unwrap();
        }
        let next = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        cx.spawn_when(self.of.get(next), move |steps, _| {
            self.of.put(n, *steps + 1).unwrap();
        });
        cx.spawn(move |cx| self.want(cx, next));
    }
}

fn main() -> tautline::Result<()> {
    let (of, begun) = (Space::local(), Space::local());
    let steps = Steps { of, begun };
    let longest = AtomicU64::new(0);
    Runtime::new()?.run(|cx| {
        for n in 1..BOUND {
            cx.spawn_when(steps.of.get(n), |steps, _| {
                _ = longest.fetch_max(*steps, Relaxed)
            });
            steps.want(cx, n);
        }
    });
    let alone = |mut n: u64| {
        let mut steps = 0;
        while n != 1 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    };
    assert_eq!(Some(longest.load(Relaxed)), (1..BOUND).map(alone).max());
    steps.of.close().expect("each number was put");
    println!("{} steps at most", longest.load(Relaxed));
    Ok(())
}
