//! Barrier lines: none completes early, and each completes.

use crate::harness::{Harness, within};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::port::{Barrier, Line};

const PHASES: usize = 200;

/// Lines are claimed once at a time; a line completes when all included threads have arrived or
/// excluded themselves, and not before, phase after phase. `pass` is called by each of `threads`
/// threads, with its number, and calls its argument.
///
/// # Panics
/// If the port does not conform.
pub fn meets<H, P, F>(on: &H, port: P, threads: usize, pass: F)
where
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
            included: AtomicUsize::new(0),
            arrived: (0..PHASES).map(|_| AtomicUsize::new(0)).collect(),
        };
        let (meeting, pass) = (Arc::new(meeting), Arc::clone(&pass));
        let body = move |number| pass(number, &mut || meeting.attend(number, threads));
        on.run("threads at a barrier line", threads, Arc::new(body));
    }
    for line in all {
        port.give_back(line);
    }
}

struct Meeting<H, P> {
    on: H,
    port: Arc<P>,
    line: Line,
    included: AtomicUsize,
    /// By phase: the threads that have arrived or left.
    arrived: Vec<AtomicUsize>,
}

impl<H: Harness, P: Barrier> Meeting<H, P> {
    /// Takes part in all phases, but for the last thread, which leaves in the middle.
    fn attend(&self, number: usize, threads: usize) {
        let (port, line) = (&*self.port, self.line);
        port.include(line);
        self.included.fetch_add(1, Relaxed);
        within(&self.on, "all threads are included", || {
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
            within(&self.on, "the line completes", || port.is_done(line));
            let count = arrived.load(Relaxed);
            assert_eq!(
                count, threads,
                "threads at the barrier when phase {phase} completed"
            );
        }
        port.exclude(line);
    }
}
