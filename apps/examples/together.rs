//! One set of workers for everything: two tree searches, forks, a data-driven task and a phaser at
//! once.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::phaser::PhaserError;
use tautline::prelude::*;
use tautline_cli::nqueens::{Queens, Size};
use tautline_cli::uts::{Counts, Tree, Uts, named};

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

fn main() -> tautline::Result<()> {
    let (params, size) = (named::find("T3")?.params, Size::new(9)?);
    let tree = || Tree::new(params).expect("a published tree");
    let (nodes, queens, sum) = (Ddf::new(), Ddf::new(), AtomicU64::new(0));
    let (phases, mut text) = (AtomicU64::new(0), String::new());
    Runtime::new()?.run(|cx| {
        // Two balanced computations; the tasks that wait for them help.
        cx.spawn(|cx| {
            let counts = cx
                .balancer()
                .run(Uts::root(&tree()), |_| tree(), Counts::default());
            _ = nodes.put(counts.expect("nothing cancels it").output.nodes);
        });
        cx.spawn(|cx| {
            let found = cx
                .balancer()
                .run(Queens::new(&size), |_| size, Default::default());
            _ = queens.put(found.expect("nothing cancels it").output.sum);
        });
        // Forks.
        cx.spawn(|cx| sum.store(fib(cx, 25), Relaxed));
        // A task that runs once both searches have ended.
        cx.spawn_when((&nodes, &queens), |(nodes, queens), _| {
            text = format!("{nodes} nodes, {queens} ways to place 9 queens");
        });
        // Three tasks that go through ten phases together.
        let mut ph = cx.phaser(Mode::SignalWait)?;
        for _ in 0..3 {
            cx.spawn_phased([ph.signal_wait()], async |mut task| {
                for _ in 0..10 {
                    task.next().await.expect("phases to come");
                    phases.fetch_add(1, Relaxed);
                }
            })?;
        }
        Ok::<(), PhaserError>(())
    })?;
    println!("{text}; fib {sum:?}; {phases:?} phases");
    assert_eq!((sum.into_inner(), phases.into_inner()), (75_025, 30));
    Ok(())
}
