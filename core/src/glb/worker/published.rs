//! The publication of the number of tasks that a worker has done, by time.

use crate::port::Clock;

/// Publications per second.
const PER_SECOND: f64 = 20.0;

/// The number of times that the clock is read between two publications, if turns take equally long.
const READINGS: u64 = 8;

/// The maximum number of turns between two readings of the clock. A reading then adds less than
/// 1/100 to the shortest turns, and tasks that suddenly take a thousand times longer are still
/// published within a fraction of a second.
const TURNS_MAX: u32 = 256;

/// The tasks that a worker has published to its [`Control`](crate::glb::Control), and when it
/// publishes next. The clock is read after a number of turns that follows from how long the last
/// ones took.
pub(super) struct Published {
    tasks: u64,
    /// Turns until the clock is read.
    left: u32,
    /// Turns between the last reading and the next one.
    turns: u32,
    /// The tick of the last reading.
    read: u64,
    /// The tick of the last publication.
    at: u64,
}

impl Published {
    /// Creates the state of a worker that begins at tick `now`.
    pub(super) fn new(now: u64) -> Self {
        Self {
            tasks: 0,
            left: 1,
            turns: 1,
            read: now,
            at: now,
        }
    }

    /// Ends a turn. Returns whether the tasks are to be published.
    #[inline]
    pub(super) fn is_due(&mut self, clock: &impl Clock) -> bool {
        self.left -= 1;
        self.left == 0 && self.read(clock)
    }

    /// Reads the clock, and determines when to read it again.
    #[cold]
    fn read(&mut self, clock: &impl Clock) -> bool {
        let now = clock.now();
        let interval = (clock.ticks_per_second() / PER_SECOND) as u64;
        let took = now.saturating_sub(self.read) / u64::from(self.turns);
        let fitting = interval / READINGS / took.max(1);
        let most = (2 * self.turns).min(TURNS_MAX);
        self.turns = fitting.clamp(1, u64::from(most)) as u32;
        self.left = self.turns;
        self.read = now;
        let is_due = now.saturating_sub(self.at) >= interval;
        if is_due {
            self.at = now;
        }
        is_due
    }

    /// Returns the number of `tasks` that have not been published, and counts them as published.
    pub(super) fn take(&mut self, tasks: u64) -> u64 {
        tasks - core::mem::replace(&mut self.tasks, tasks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A clock of nanoseconds that counts its readings.
    #[derive(Default)]
    struct Counted {
        now: Cell<u64>,
        readings: Cell<u64>,
    }

    impl Clock for Counted {
        fn now(&self) -> u64 {
            self.readings.set(self.readings.get() + 1);
            self.now.get()
        }
    }

    /// The greatest time without a publication during `turns` turns of `ns` nanoseconds, and the
    /// number of publications.
    fn run(published: &mut Published, clock: &Counted, turns: u64, ns: u64) -> (u64, u64) {
        let (mut gap, mut count, mut last) = (0, 0, clock.now.get());
        for _ in 0..turns {
            clock.now.set(clock.now.get() + ns);
            if published.is_due(clock) {
                count += 1;
                gap = gap.max(clock.now.get() - last);
                last = clock.now.get();
            }
        }
        (gap.max(clock.now.get() - last), count)
    }

    #[test]
    fn tasks_are_published_by_time() {
        for (ns, turns) in [
            (50, 40_000_000),
            (10_000, 200_000),
            (1_000_000, 2_000),
            (400_000_000, 5),
        ] {
            let clock = Counted::default();
            let mut published = Published::new(0);
            let (gap, count) = run(&mut published, &clock, turns, ns);
            assert!(gap < 60_000_000.max(ns + 1), "{ns} ns: {gap}");
            assert!(count >= 5.min(turns) && count <= 40, "{ns} ns: {count}");
            let most = turns / u64::from(TURNS_MAX) + 40 * READINGS * 2;
            assert!(
                clock.readings.get() <= most,
                "{ns} ns: {clock:?}",
                clock = clock.readings
            );
        }
    }

    #[test]
    fn slow_tasks_after_fast_ones_are_published_soon() {
        let clock = Counted::default();
        let mut published = Published::new(0);
        run(&mut published, &clock, 1_000_000, 100);
        // At most the turns until the next reading are late.
        let (gap, count) = run(&mut published, &clock, 1_000, 1_000_000);
        assert!(gap <= u64::from(TURNS_MAX) * 1_000_000, "{gap}");
        assert!(count >= 10, "{count}");
    }

    #[test]
    fn each_task_is_published_once() {
        let mut published = Published::new(0);
        assert_eq!([3, 3, 10].map(|tasks| published.take(tasks)), [3, 0, 7]);
    }
}
