//! Jacobi's method on a plate whose upper edge is hot: bands of rows are tasks that proceed in
//! phases until no value changes much.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline::phaser::{Bands, Op, PhaserError, Rows};
use tautline::prelude::*;

const SIDE: usize = 66;
const BANDS: usize = 8;
const PRECISION: f64 = 1e-5;

/// Computes the rows of a band, except for the edge of the plate, and returns the largest change.
fn relax(old: &Rows<f64>, new: &mut [f64]) -> f64 {
    let mut most = 0f64;
    for (i, out) in old.rows().zip(new.chunks_mut(SIDE)) {
        let own = old.row(i).expect("a row of the band");
        out.copy_from_slice(own);
        let above = i.checked_sub(1).and_then(|i| old.row(i));
        if let (Some(above), Some(below)) = (above, old.row(i + 1)) {
            for j in 1..SIDE - 1 {
                out[j] = (above[j] + below[j] + own[j - 1] + own[j + 1]) / 4.0;
                most = most.max((out[j] - own[j]).abs());
            }
        }
    }
    most
}

fn main() -> tautline::Result<()> {
    let mut plate = vec![0.0; SIDE * SIDE];
    plate[..SIDE].fill(1.0);
    let (bands, phases) = (&Bands::new(plate, SIDE, BANDS), &AtomicU64::new(0));
    Runtime::new()?.run(|cx| {
        let (change, mut barrier) = cx.accumulator::<f64>(Op::Max)?;
        for band in 0..BANDS {
            let change = change.clone();
            cx.spawn_phased([barrier.signal_wait()], move |mut task| async move {
                for phase in 0.. {
                    let mut most = 0.0;
                    let step = bands.step(band, phase, |old, new| most = relax(old, new));
                    step.expect("all bands in this phase");
                    let next = task.accum_next(&change, most);
                    next.await.expect("phases to come");
                    if change.get() < PRECISION {
                        return phases.store(phase + 1, Relaxed);
                    }
                }
            })?;
        }
        Ok::<(), PhaserError>(())
    })?;
    let phases = phases.load(Relaxed);
    let plate = Bands::new(bands.cells(phases)?, SIDE, 1);
    let mut change = 1.0;
    plate.step(0, 0, |old, new| change = relax(old, new))?;
    let cells = plate.cells(0)?;
    assert!(change < PRECISION && cells[SIDE + 20] > cells[2 * SIDE + 20]);
    println!("{phases} phases");
    Ok(())
}
