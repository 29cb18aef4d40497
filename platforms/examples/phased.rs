//! Heat in a rod, in many more pieces than there are workers: each piece is a task that awaits its
//! neighbours' phase, and an accumulator detects convergence.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::phaser::{Op, PhaserError};
use tautline::prelude::*;

const PIECES: usize = 64;
const CELLS: usize = 4;
const N: usize = PIECES * CELLS;
const EPSILON: f64 = 1e-6;

/// Cells that a task writes and its neighbours read in the next phase: the phaser orders it.
struct Rod(Vec<AtomicU64>);

impl Rod {
    fn new() -> Self {
        // One end is kept hot, the other one cold.
        let hot = |i| AtomicU64::new(f64::to_bits(if i == 0 { 1.0 } else { 0.0 }));
        Self((0..N + 2).map(hot).collect())
    }

    fn at(&self, i: usize) -> f64 {
        f64::from_bits(self.0[i].load(Relaxed))
    }
}

fn main() -> tautline::Result<()> {
    let (rods, phases) = (&[Rod::new(), Rod::new()], &AtomicU64::new(0));
    Runtime::new()?.run(|cx| {
        let (change, mut ph) = cx.accumulator::<f64>(Op::Max)?;
        for piece in 0..PIECES {
            let change = change.clone();
            cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
                for phase in 0.. {
                    let (old, new) = (&rods[phase % 2], &rods[(phase + 1) % 2]);
                    let mut most = 0f64;
                    for i in piece * CELLS + 1..=(piece + 1) * CELLS {
                        let value = (old.at(i - 1) + old.at(i + 1)) / 2.0;
                        most = most.max((value - old.at(i)).abs());
                        new.0[i].store(value.to_bits(), Relaxed);
                    }
                    task.accum_next(&change, most)
                        .await
                        .expect("phases to come");
                    if change.get() < EPSILON {
                        phases.store(phase as u64 + 1, Relaxed);
                        return;
                    }
                }
            })?;
        }
        Ok::<(), PhaserError>(())
    })?;
    let (phases, middle) = (phases.load(Relaxed), rods[0].at(N / 2));
    assert!((0.4..0.5).contains(&middle), "{middle}");
    println!("{phases} phases of {PIECES} tasks; {middle:.3} in the middle");
    Ok(())
}
