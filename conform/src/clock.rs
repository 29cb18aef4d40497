//! Clocks: time never runs backwards, and does not stand still.

use crate::harness::Harness;
use core::hint;
use tautline_core::port::Clock;

/// Time never decreases on a thread, and advances while `work` is repeated.
///
/// # Panics
/// If the clock does not conform.
pub fn ticks(clock: &impl Clock, mut work: impl FnMut()) {
    let rate = clock.ticks_per_second();
    assert!(rate.is_finite() && rate > 0.0, "{rate} ticks a second");
    let start = clock.now();
    let mut last = start;
    for _ in 0..100_000 {
        work();
        let now = clock.now();
        assert!(now >= last, "the clock ran from {last} back to {now}");
        last = now;
    }
    assert!(last > start, "the clock stands at {start}");
    assert_eq!(
        clock.ticks_per_second().to_bits(),
        rate.to_bits(),
        "the rate is constant"
    );
}

/// The clock agrees with that of the threads within a few percent, over a tenth of a second.
///
/// # Panics
/// If the clock does not conform.
pub fn keeps_time(on: &impl Harness, clock: &impl Clock) {
    on.report("keeps_time: a tenth of a second");
    let seconds = |ticks: u64| ticks as f64 / on.ticks_per_second();
    // A preemption between the two readings falsifies one measurement, not all.
    let agrees = (0..5).any(|_| {
        let (start, from) = (on.now(), clock.now());
        while seconds(on.now() - start) < 0.1 {
            hint::spin_loop();
        }
        let (ticks, seconds) = (clock.now() - from, seconds(on.now() - start));
        let measured = ticks as f64 / clock.ticks_per_second();
        (measured / seconds - 1.0).abs() < 0.05
    });
    assert!(agrees, "a second of the clock is not a second");
}
