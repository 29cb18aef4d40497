//! Barrier lines: none completes early, and each completes.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::{Barrier, Line};

/// A line that takes longer than this does not complete.
const TOO_LONG: Duration = Duration::from_secs(10);
const PHASES: usize = 200;

/// Lines are claimed once at a time; a line completes when all included threads have arrived or
/// excluded themselves, and not before, phase after phase. `pass` is called by each of `threads`
/// threads, with its number, and calls its argument.
///
/// # Panics
/// If the port does not conform.
pub fn meets<P: Barrier + Sync>(
    port: &P,
    threads: usize,
    pass: impl Fn(usize, &mut dyn FnMut()) + Sync,
) {
    let all: Vec<Line> = (0..port.lines()).filter_map(|_| port.claim()).collect();
    assert_eq!(all.len(), port.lines(), "lines that can be claimed");
    for (i, line) in all.iter().enumerate() {
        assert!(!all[..i].contains(line), "{line:?} was claimed twice");
    }
    let Some(&line) = all.last() else { return };
    assert_eq!(port.claim(), None, "all lines are claimed");
    port.give_back(line);
    assert_eq!(port.claim(), Some(line), "the only free line");

    let meeting = Meeting {
        port,
        line,
        included: AtomicUsize::new(0),
        arrived: (0..PHASES).map(|_| AtomicUsize::new(0)).collect(),
    };
    thread::scope(|scope| {
        for number in 0..threads {
            let (meeting, pass) = (&meeting, &pass);
            scope.spawn(move || pass(number, &mut || meeting.attend(number, threads)));
        }
    });
    for line in all {
        port.give_back(line);
    }
}

struct Meeting<'a, P> {
    port: &'a P,
    line: Line,
    included: AtomicUsize,
    /// By phase: the threads that have arrived or left.
    arrived: Vec<AtomicUsize>,
}

impl<P: Barrier> Meeting<'_, P> {
    /// Takes part in all phases, but for the last thread, which leaves in the middle.
    fn attend(&self, number: usize, threads: usize) {
        let (port, line) = (self.port, self.line);
        port.include(line);
        self.included.fetch_add(1, Relaxed);
        within("all threads are included", || {
            self.included.load(Relaxed) == threads
        });
        for (phase, arrived) in self.arrived.iter().enumerate() {
            let leaves = phase == PHASES / 2 && number + 1 == threads && threads > 1;
            arrived.fetch_add(1, Relaxed);
            if leaves {
                for later in &self.arrived[phase + 1..] {
                    later.fetch_add(1, Relaxed);
                }
                port.exclude(line);
                return;
            }
            port.arrive(line);
            within("the line completes", || port.is_done(line));
            let count = arrived.load(Relaxed);
            assert_eq!(
                count, threads,
                "threads at the barrier when phase {phase} completed"
            );
        }
        port.exclude(line);
    }
}

/// Polls until `done`, for [`TOO_LONG`] at most, and many polls at least: the process may be
/// stopped meanwhile.
fn within(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    let mut polls = 0;
    while !done() {
        polls += 1;
        let is_late = polls > 100_000 && start.elapsed() > TOO_LONG;
        assert!(!is_late, "waited too long: {what}");
        thread::yield_now();
    }
}
