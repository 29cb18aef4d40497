//! The clock that all figures are measured with.
#![forbid(unsafe_code)]

use super::super::Kind;
use super::observed::{each, threads};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

/// Equal readings in a row of a clock that stands still: some hundredths of a second of readings.
pub const CLOCK_READINGS: u32 = 1_000_000;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::measured("a reading", |plan| {
            let body = || each(plan, || _ = black_box(Instant::now()));
            threads(plan, vec![Box::new(body)])
        }),
        Kind::measured("the smallest step", |plan| {
            let smallest = || {
                let start = Instant::now();
                let steps = (0..100).map(|_| step(|| start.elapsed()));
                steps.flatten().fold(f64::INFINITY, f64::min)
            };
            threads(plan, vec![Box::new(smallest)])
        }),
    ]
}

/// Returns the nanoseconds between a reading of `clock` and the next one that differs.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tautline_cli::bench::step;
///
/// let start = Instant::now();
/// assert!(step(|| start.elapsed())? > 0.0);
/// assert!(step(|| Duration::from_secs(7)).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`CLOCK_READINGS`] readings are equal: the clock stands still.
pub fn step(clock: impl Fn() -> Duration) -> io::Result<f64> {
    let first = clock();
    for _ in 0..CLOCK_READINGS {
        let next = clock();
        if next != first {
            return Ok(next.abs_diff(first).as_nanos() as f64);
        }
    }
    Err(io::Error::other(format!(
        "the clock stands still: {CLOCK_READINGS} readings are equal, so nothing can be measured"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_step_of_a_coarse_clock_is_found_and_a_clock_that_stands_still_is_refused() {
        let readings = Cell::new(0);
        let coarse = || {
            readings.set(readings.get() + 1);
            Duration::from_nanos(readings.get() / 500 * 4_000)
        };
        assert_eq!(step(coarse).unwrap(), 4_000.0);
        let error = step(|| Duration::from_secs(7)).unwrap_err().to_string();
        assert!(error.contains("1000000 readings are equal"), "{error}");
    }
}
