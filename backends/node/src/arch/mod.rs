//! Processors: the pause of a spinning thread, and the number of pauses before it yields.
//!
//! A processor whose pause the standard library lacks has a file here, and a line below. All others
//! use [generic](self).
#![deny(unsafe_code)]

#[cfg_attr(target_arch = "powerpc64", path = "power.rs")]
#[cfg_attr(not(target_arch = "powerpc64"), path = "generic.rs")]
mod processor;

pub(crate) use processor::pause;

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time for which a thread spins before it yields its processor: critical sections of a few
/// hundred instructions have ended by then.
const SPIN: Duration = Duration::from_micros(1);

/// The pauses of a measurement.
const MEASURED: u32 = 1_000;

/// The most pauses before a thread yields, whatever a clock shows.
const MOST: u32 = 10_000;

/// Returns the number of pauses that last as long as a thread spins. The first call measures three
/// times a thousand pauses.
pub(crate) fn spins() -> u32 {
    static SPINS: OnceLock<u32> = OnceLock::new();
    *SPINS.get_or_init(|| {
        // A thread may lose its processor during a measurement, so the least counts.
        let times = (0..3).map(|_| {
            let start = Instant::now();
            (0..MEASURED).for_each(|_| pause());
            start.elapsed()
        });
        spins_of(times.min().unwrap_or_default())
    })
}

/// Returns the number of pauses of a spin if [`MEASURED`] of them took this long.
fn spins_of(took: Duration) -> u32 {
    let spins = SPIN.as_nanos() * u128::from(MEASURED) / took.as_nanos().max(1);
    spins.clamp(1, u128::from(MOST)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_lasts_a_microsecond() {
        for (pause_ns, expected) in [(1, 1_000), (9, 111), (45, 22), (900, 1), (5_000, 1)] {
            let took = Duration::from_nanos(pause_ns * u64::from(MEASURED));
            assert_eq!(spins_of(took), expected, "{pause_ns} ns");
        }
        // A clock that stands still.
        assert_eq!(spins_of(Duration::ZERO), MOST);
        assert!((1..=MOST).contains(&spins()));
    }
}
