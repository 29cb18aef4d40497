//! Barrier lines: none completes early, and each completes, for threads that poll it and for
//! threads that it blocks.

use crate::harness::{Harness, step, within};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::port::{Barrier, Line};

const PHASES: usize = 200;
/// The phase before which a thread is late.
const LATE: usize = PHASES / 4;
/// The phase in which the last thread leaves.
const LEAVES: usize = PHASES / 2;
/// The phase from which on it takes part again.
const RETURNS: usize = 3 * PHASES / 4;
/// The delay of the late thread, in seconds: longer than a thread that only spins would have to
/// wait.
const DELAY: f64 = 0.03;

/// Lines are claimed once at a time; a line completes when all included threads have arrived or
/// excluded themselves, and not before, phase after phase, for threads that arrive and then poll. A
/// machine whose lines only block, for which [`blocks`] is the suite, does not pass. `pass` is
/// called by each of `threads` threads, with its number, and calls its argument.
///
/// # Panics
/// If the port does not conform.
pub fn meets<H, P, F>(on: &H, port: P, threads: usize, pass: F)
where
    H: Harness,
    P: Barrier + Send + Sync + 'static,
    F: Fn(usize, &mut dyn FnMut()) + Send + Sync + 'static,
{
    let attend = ("meets: threads that poll", Meeting::poll as Attend<H, P>);
    on_each_line(on, port, threads, attend, pass);
}

/// As [`meets`], for threads that meet at a line, which may block them: they also continue when one
/// of them is excluded after they were blocked, wait for one that is included again, and for one
/// that is late.
///
/// # Panics
/// If the port does not conform.
pub fn blocks<H, P, F>(on: &H, port: P, threads: usize, pass: F)
where
    H: Harness,
    P: Barrier + Send + Sync + 'static,
    F: Fn(usize, &mut dyn FnMut()) + Send + Sync + 'static,
{
    let attend = ("blocks: threads blocked at", Meeting::block as Attend<H, P>);
    on_each_line(on, port, threads, attend, pass);
}

/// Claims all lines, and lets `threads` threads attend a meeting at each.
fn on_each_line<H, P, F>(
    on: &H,
    port: P,
    threads: usize,
    (what, attend): (&str, Attend<H, P>),
    pass: F,
) where
    H: Harness,
    P: Barrier + Send + Sync + 'static,
    F: Fn(usize, &mut dyn FnMut()) + Send + Sync + 'static,
{
    let all: Vec<Line> = (0..port.lines()).filter_map(|_| port.claim()).collect();
    assert_eq!(all.len(), port.lines(), "lines that can be claimed");
    for (i, line) in all.iter().enumerate() {
        assert!(!all[..i].contains(line), "{line:?} was claimed twice");
    }
    if !all.is_empty() {
        assert_eq!(port.claim(), None, "all lines are claimed");
    }
    let (port, pass) = (Arc::new(port), Arc::new(pass));
    for &line in &all {
        port.give_back(line);
        assert_eq!(port.claim(), Some(line), "the only free line");
        let meeting = Meeting {
            on: on.clone(),
            port: Arc::clone(&port),
            line,
            threads,
            included: AtomicUsize::new(0),
            returns: AtomicUsize::new(0),
            arrived: (0..PHASES).map(|_| AtomicUsize::new(0)).collect(),
        };
        let (meeting, pass) = (Arc::new(meeting), Arc::clone(&pass));
        let body = move |number| pass(number, &mut || attend(&meeting, number));
        let what = format!("{what} {line:?}");
        step(on, &what, threads, Arc::new(body));
    }
    for line in all {
        port.give_back(line);
    }
}

/// The part of a thread, by its number, in a meeting.
type Attend<H, P> = fn(&Meeting<H, P>, usize);

struct Meeting<H, P> {
    on: H,
    port: Arc<P>,
    line: Line,
    threads: usize,
    included: AtomicUsize,
    /// Threads that have reached the phase in which one returns, which does so last.
    returns: AtomicUsize,
    /// By phase: the threads that have arrived or are excluded.
    arrived: Vec<AtomicUsize>,
}

impl<H: Harness, P: Barrier> Meeting<H, P> {
    /// Includes the calling thread, and waits until all are.
    fn include(&self) {
        self.port.include(self.line);
        self.included.fetch_add(1, Relaxed);
        within(&self.on, "all threads are included", || {
            self.included.load(Relaxed) == self.threads
        });
    }

    /// Includes the thread that has left, once the others have completed their phases without it.
    fn return_to_line(&self, number: usize) {
        let is_last = |others: usize| self.returns.load(Relaxed) + others == self.threads;
        if self.leaves(number) {
            within(&self.on, "the others continue", || is_last(1));
            self.port.include(self.line);
        }
        self.returns.fetch_add(1, Relaxed);
        within(&self.on, "the thread returns", || is_last(0));
    }

    /// Whether the thread leaves in the middle: the last one, unless it is the only one.
    fn leaves(&self, number: usize) -> bool {
        self.threads > 1 && number + 1 == self.threads
    }

    fn arrive(&self, phase: usize) {
        self.arrived[phase].fetch_add(1, Relaxed);
    }

    /// Checks a phase that has completed for the calling thread.
    fn check(&self, phase: usize) {
        let count = self.arrived[phase].load(Relaxed);
        assert_eq!(
            count, self.threads,
            "threads at the barrier when phase {phase} completed"
        );
    }

    /// Takes part in all phases, but for the thread that leaves.
    fn poll(&self, number: usize) {
        let (port, line) = (&*self.port, self.line);
        self.include();
        for phase in 0..PHASES {
            self.arrive(phase);
            if phase == LEAVES && self.leaves(number) {
                (phase + 1..PHASES).for_each(|later| self.arrive(later));
                break;
            }
            port.arrive(line);
            within(&self.on, "the line completes", || port.is_done(line));
            self.check(phase);
        }
        port.exclude(line);
    }

    /// As [`poll`](Self::poll); the thread that leaves does so once the others are blocked, and
    /// returns later.
    fn block(&self, number: usize) {
        let (port, line) = (&*self.port, self.line);
        self.include();
        for phase in 0..PHASES {
            if self.leaves(number) && (LEAVES + 1..RETURNS).contains(&phase) {
                continue;
            }
            if self.leaves(number) && [LATE, LEAVES].contains(&phase) {
                within(&self.on, "the others have arrived", || {
                    self.arrived[phase].load(Relaxed) + 1 == self.threads
                });
                self.delay();
            }
            if self.leaves(number) && phase == LEAVES {
                (LEAVES..RETURNS).for_each(|later| self.arrive(later));
                port.exclude(line);
                continue;
            }
            if self.threads > 1 && phase == RETURNS {
                self.return_to_line(number);
            }
            self.arrive(phase);
            port.meet(line);
            self.check(phase);
        }
        port.exclude(line);
    }

    fn delay(&self) {
        let (start, limit) = (self.on.now(), DELAY * self.on.ticks_per_second());
        while self.on.now() - start < limit as u64 {
            self.on.yield_now(0);
        }
    }
}
