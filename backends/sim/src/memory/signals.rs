//! Signals that need no memory: barrier lines on a bus, and interrupts from thread to thread.

use std::collections::BTreeSet;

/// Costs of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Barrier lines.
    pub lines: u8,
    /// A write of the thread's own signal, or a poll of the others'.
    pub signal_cycles: u64,
    /// From the last arrival until all observe it.
    pub bus_cycles: u64,
    /// The time for which sending an interrupt occupies a thread.
    pub send_cycles: u64,
    /// From then until the receiver runs.
    pub wake_cycles: u64,
}

/// The barrier lines.
#[derive(Debug)]
pub(super) struct Lines {
    bus_cycles: u64,
    lines: Vec<Line>,
}

#[derive(Debug, Default)]
struct Line {
    claimed: bool,
    included: BTreeSet<usize>,
    arrived: BTreeSet<usize>,
    /// The time at which the barrier at which these threads arrived last completed.
    done: Vec<u64>,
}

impl Lines {
    pub(super) fn new(costs: Signals, threads: usize) -> Self {
        let line = || Line {
            done: vec![0; threads],
            ..Line::default()
        };
        Self {
            bus_cycles: costs.bus_cycles,
            lines: (0..costs.lines).map(|_| line()).collect(),
        }
    }

    pub(super) fn claim(&mut self) -> Option<u8> {
        let free = self.lines.iter().position(|line| !line.claimed)?;
        self.lines[free].claimed = true;
        Some(free as u8)
    }

    /// # Panics
    /// If it is not claimed, or a thread is included.
    pub(super) fn give_back(&mut self, line: u8) {
        let state = &mut self.lines[usize::from(line)];
        assert!(state.claimed, "line {line} is not claimed");
        assert!(state.included.is_empty(), "line {line} has members");
        state.claimed = false;
    }

    /// # Panics
    /// If the line is not claimed, or the thread is included.
    pub(super) fn include(&mut self, line: u8, thread: usize) {
        let state = &mut self.lines[usize::from(line)];
        assert!(state.claimed, "line {line} is not claimed");
        let new = state.included.insert(thread);
        assert!(new, "thread {thread} is included in line {line} already");
    }

    /// # Panics
    /// If the thread is not included, or has arrived.
    pub(super) fn exclude(&mut self, line: u8, thread: usize, now: u64) {
        let bus = self.bus_cycles;
        let state = &mut self.lines[usize::from(line)];
        let was = state.included.remove(&thread);
        assert!(was, "thread {thread} is not included in line {line}");
        let arrived = state.arrived.contains(&thread);
        assert!(!arrived, "thread {thread} has arrived at line {line}");
        state.complete(now + bus);
    }

    /// # Panics
    /// If the thread is not included, or has arrived.
    pub(super) fn arrive(&mut self, line: u8, thread: usize, now: u64) {
        let bus = self.bus_cycles;
        let state = &mut self.lines[usize::from(line)];
        let included = state.included.contains(&thread);
        assert!(included, "thread {thread} is not included in line {line}");
        let new = state.arrived.insert(thread);
        assert!(new, "thread {thread} has arrived at line {line} already");
        state.complete(now + bus);
    }

    pub(super) fn is_done(&self, line: u8, thread: usize, now: u64) -> bool {
        let state = &self.lines[usize::from(line)];
        !state.arrived.contains(&thread) && state.done[thread] <= now
    }
}

impl Line {
    fn complete(&mut self, at: u64) {
        if self.arrived == self.included {
            for thread in std::mem::take(&mut self.arrived) {
                self.done[thread] = at;
            }
        }
    }
}

/// A wake-up: one signal, sticky until the thread takes it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bell {
    /// The time at which it reaches the thread.
    rung: Option<u64>,
}

impl Bell {
    pub(super) fn ring(&mut self, at: u64) {
        // An earlier signal is not delayed.
        self.rung = Some(self.rung.map_or(at, |before| before.min(at)));
    }

    pub(super) fn take(&mut self) -> Option<u64> {
        self.rung.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Signals = Signals {
        lines: 2,
        signal_cycles: 1,
        bus_cycles: 8,
        send_cycles: 15,
        wake_cycles: 30,
    };

    #[test]
    fn lines_are_claimed_and_given_back() {
        let mut lines = Lines::new(COSTS, 2);
        assert_eq!(
            [lines.claim(), lines.claim(), lines.claim()],
            [Some(0), Some(1), None]
        );
        lines.give_back(0);
        assert_eq!(lines.claim(), Some(0));
    }

    #[test]
    fn a_line_is_done_when_the_last_has_come_and_the_bus_has_told() {
        let mut lines = Lines::new(COSTS, 3);
        let line = lines.claim().unwrap();
        (0..3).for_each(|thread| lines.include(line, thread));
        lines.arrive(line, 0, 10);
        lines.arrive(line, 1, 20);
        assert!(!lines.is_done(line, 0, 1_000));
        lines.arrive(line, 2, 30);
        assert!(!lines.is_done(line, 0, 37));
        assert!((0..3).all(|thread| lines.is_done(line, thread, 38)));
        // The next one is another one.
        lines.arrive(line, 0, 40);
        assert!(!lines.is_done(line, 0, 60));
        assert!(lines.is_done(line, 1, 60));
    }

    #[test]
    fn who_leaves_is_not_waited_for() {
        let mut lines = Lines::new(COSTS, 2);
        let line = lines.claim().unwrap();
        (0..2).for_each(|thread| lines.include(line, thread));
        lines.arrive(line, 0, 10);
        lines.exclude(line, 1, 50);
        assert!(!lines.is_done(line, 0, 57));
        assert!(lines.is_done(line, 0, 58));
    }

    #[test]
    #[should_panic(expected = "has arrived at line 0 already")]
    fn nobody_comes_twice() {
        let mut lines = Lines::new(COSTS, 2);
        let line = lines.claim().unwrap();
        (0..2).for_each(|thread| lines.include(line, thread));
        lines.arrive(line, 0, 1);
        lines.arrive(line, 0, 2);
    }

    #[test]
    fn a_bell_stays_rung() {
        let mut bell = Bell::default();
        assert_eq!(bell.take(), None);
        bell.ring(20);
        bell.ring(30);
        assert_eq!(bell.take(), Some(20));
        assert_eq!(bell.take(), None);
    }
}
