//! Jacobi's method on a plate whose upper edge is hot: bands of rows are tasks that proceed in phases until no value changes much.
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline::phaser::{Op, PhaserError};
use tautline::prelude::*;

const SIDE: usize = 66;
const BANDS: usize = 8;
const PRECISION: f64 = 1e-5;

/// A row is written by its band and read by the bands beside it one phase later: no lock is ever waited for.
type Plate = Vec<RwLock<[f64; SIDE]>>;

fn plate() -> Plate {
    let row = |i| RwLock::new([if i == 0 { 1.0 } else { 0.0 }; SIDE]);
    (0..SIDE).map(row).collect()
}

/// Computes the inner cells of row `i` of `new`, and returns the largest change.
fn relax(old: &Plate, new: &Plate, i: usize) -> f64 {
    let row = |i: usize| old[i].read().expect("no panic");
    let (above, own, below) = (row(i - 1), row(i), row(i + 1));
    let mut out = new[i].write().expect("no panic");
    let mut most = 0f64;
    for j in 1..SIDE - 1 {
        out[j] = (above[j] + below[j] + own[j - 1] + own[j + 1]) / 4.0;
        most = most.max((out[j] - own[j]).abs());
    }
    most
}

fn main() -> tautline::Result<()> {
    let (plates, phases) = (&[plate(), plate()], &AtomicUsize::new(0));
    Runtime::new()?.run(|cx| {
        let (change, mut barrier) = cx.accumulator::<f64>(Op::Max)?;
        for band in 0..BANDS {
            let change = change.clone();
            cx.spawn_phased([barrier.signal_wait()], move |mut task| async move {
                let rows = band * (SIDE - 2) / BANDS + 1..(band + 1) * (SIDE - 2) / BANDS + 1;
                for phase in 0.. {
                    let (old, new) = (&plates[phase % 2], &plates[(phase + 1) % 2]);
                    let most = rows.clone().map(|i| relax(old, new, i)).fold(0.0, f64::max);
                    task.accum_next(&change, most)
                        .await
                        .expect("phases to come");
                    if change.get() < PRECISION {
                        return phases.store(phase + 1, Relaxed);
                    }
                }
            })?;
        }
        Ok::<(), PhaserError>(())
    })?;
    let row = |i: usize| *plates[0][i].read().expect("no panic");
    let still = (1..SIDE - 1).all(|i| relax(&plates[0], &plate(), i) < 2.0 * PRECISION);
    assert!(still && row(1) == row(1) && row(1)[20] > row(2)[20]);
    println!("{} phases", phases.load(Relaxed));
    Ok(())
}
