//! Bands of a grid that a phaser keeps in step, and what is found if it does not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use tautline::phaser::{Bands, BandsError, Held, PhaserError, Rows};
use tautline::prelude::*;

const WIDTH: usize = 5;

fn grid(rows: usize) -> Vec<u64> {
    (0..rows * WIDTH)
        .map(|n| n as u64 * 2_654_435_761 % 1009)
        .collect()
}

/// The cells of a row, of those above and below, where there are any.
fn mixed(above: Option<&[u64]>, row: &[u64], below: Option<&[u64]>) -> Vec<u64> {
    let of = |row: Option<&[u64]>, x: usize| row.map_or(1, |row| row[x]);
    let cell = |x: usize| (3 * of(above, x) + row[x] + 7 * of(below, x)) % 100_003;
    (0..WIDTH).map(cell).collect()
}

fn calculate(old: &Rows<u64>, new: &mut [u64]) {
    for (row, new) in old.rows().zip(new.chunks_mut(WIDTH)) {
        let above = row.checked_sub(1).and_then(|above| old.row(above));
        new.copy_from_slice(&mixed(above, old.row(row).unwrap(), old.row(row + 1)));
    }
}

/// The grid after these phases, without bands.
fn expected(rows: usize, phases: u64) -> Vec<u64> {
    (0..phases).fold(grid(rows), |cells, _| {
        let row = |at: usize| cells.chunks(WIDTH).nth(at);
        let all = (0..rows).map(|at| {
            mixed(
                at.checked_sub(1).and_then(row),
                row(at).unwrap(),
                row(at + 1),
            )
        });
        all.collect::<Vec<_>>().concat()
    })
}

/// A stencil over bands of tasks that meet at a phaser is that over the whole grid.
#[test]
fn bands_in_step_calculate_the_stencil() {
    const PHASES: u64 = 60;
    let runtime = Runtime::builder().workers(4).pinned(false).build().unwrap();
    for (rows, count) in [(1, 1), (2, 2), (7, 1), (7, 3), (7, 7), (40, 6)] {
        let bands = &Bands::new(grid(rows), WIDTH, count);
        runtime
            .run(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait)?;
                for band in 0..bands.len() {
                    cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
                        for phase in 0..PHASES {
                            bands.step(band, phase, calculate).unwrap();
                            task.next().await.unwrap();
                        }
                    })?;
                }
                Ok::<_, PhaserError>(())
            })
            .unwrap();
        assert_eq!(
            bands.cells(PHASES).unwrap(),
            expected(rows, PHASES),
            "{count} bands"
        );
    }
}

fn refused<T>(result: Result<T, BandsError>) -> Option<(usize, u64, Held)> {
    result
        .err()
        .map(|error| (error.band, error.phase, error.found))
}

/// A band that is behind, ahead, twice in a phase, or whose calculation has panicked: its
/// neighbours find that, and no state of it.
#[test]
fn bands_out_of_step_are_refused() {
    let bands = &Bands::new(grid(6), WIDTH, 3);
    bands.step(0, 0, calculate).unwrap();
    // Its neighbour has not calculated phase 0.
    assert_eq!(
        refused(bands.step(0, 1, calculate)),
        Some((1, 1, Held::Nothing))
    );
    bands.step(1, 0, calculate).unwrap();
    // The first band goes ahead by two phases as far as its neighbour permits.
    bands.step(0, 1, calculate).unwrap();
    assert_eq!(
        refused(bands.step(1, 1, calculate)),
        Some((2, 1, Held::Nothing))
    );
    assert_eq!(
        refused(bands.step(0, 2, calculate)),
        Some((1, 2, Held::Phase(0)))
    );
    // Its two copies of the state have been reused in the phases after those.
    assert_eq!(
        refused(bands.step(0, 0, calculate)),
        Some((0, 0, Held::Phase(2)))
    );
    // A band cannot be written while it is written, or read for the phase before.
    let nested = bands.step(2, 0, |_, _| {
        assert_eq!(
            refused(bands.step(2, 0, calculate)),
            Some((2, 1, Held::InUse))
        );
        assert_eq!(refused(bands.cells(1)), Some((2, 1, Held::InUse)));
    });
    nested.unwrap();
    let panics = catch_unwind(AssertUnwindSafe(|| {
        bands.step(2, 1, |_, _| panic!("in the band"))
    }));
    assert!(panics.is_err());
    assert_eq!(refused(bands.cells(2)), Some((1, 2, Held::Phase(0))));
    bands.step(1, 1, calculate).unwrap();
    assert_eq!(
        refused(bands.step(1, 2, calculate)),
        Some((2, 2, Held::Nothing))
    );
    // Calculated again, it has a state.
    bands.step(2, 1, calculate).unwrap();
    bands.step(1, 2, calculate).unwrap();
    let line = bands.step(1, 5, calculate).unwrap_err().to_string();
    assert!(
        line.starts_with("band 0 does not hold phase 5, but phase 1"),
        "{line}"
    );
}

/// Threads that meet at nothing: each calculation is refused or that of the right phase.
#[test]
fn bands_without_a_phaser_hold_right_states() {
    const PHASES: u64 = 300;
    let bands = &Bands::new(grid(4), WIDTH, 4);
    thread::scope(|scope| {
        for band in 0..4 {
            scope.spawn(move || {
                for phase in 0..PHASES {
                    while bands.step(band, phase, calculate).is_err() {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!(bands.cells(PHASES).unwrap(), expected(4, PHASES));
}

/// Grids that cannot be divided are refused by a message with the numbers.
#[test]
fn grids_without_bands_are_refused() {
    for (cells, width, bands, line) in [
        (7, 2, 1, "7 cells in rows of 2"),
        (6, 0, 1, "6 cells in rows of 0"),
        (6, 2, 4, "4 bands of 3 rows: from 1 to 3"),
        (6, 2, 0, "0 bands of 3 rows: from 1 to 3"),
    ] {
        let refused = catch_unwind(|| Bands::new(vec![0u8; cells], width, bands)).unwrap_err();
        assert_eq!(
            refused.downcast_ref::<String>().map(String::as_str),
            Some(line)
        );
    }
}
