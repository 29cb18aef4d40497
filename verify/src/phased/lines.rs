//! Barrier lines in software, for threads that a scheduler may stop anywhere.

use core::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tautline_core::port::{Barrier, Line, Relax, Spin};

#[cfg(tautline_loom)]
use loom::thread;
#[cfg(tautline_shuttle)]
use shuttle::thread;
#[cfg(not(any(tautline_loom, tautline_shuttle)))]
use std::thread;

/// A port with one barrier line.
#[derive(Clone, Debug, Default)]
pub struct Lines(Arc<Mutex<Wires>>);

#[derive(Debug, Default)]
struct Wires {
    claimed: bool,
    /// The threads that the line waits for.
    included: Vec<Wire>,
    times_done: usize,
}

#[derive(Debug)]
struct Wire {
    thread: thread::ThreadId,
    has_arrived: bool,
    /// The completion that the thread waits for.
    waits_for: usize,
}

impl Wires {
    fn complete(&mut self) {
        if !self.included.is_empty() && self.included.iter().all(|wire| wire.has_arrived) {
            self.times_done += 1;
            self.included.iter_mut().for_each(|w| w.has_arrived = false);
        }
    }

    /// Returns the calling thread's position among those included.
    fn mine(&self) -> Option<usize> {
        let me = thread::current().id();
        self.included.iter().position(|wire| wire.thread == me)
    }

    /// Returns the calling thread's wire.
    fn wire(&mut self) -> &mut Wire {
        let mine = self.mine().expect("the thread is included");
        &mut self.included[mine]
    }
}

impl Lines {
    /// Yields to other threads, then returns the line.
    fn wires(&self) -> MutexGuard<'_, Wires> {
        #[cfg(tautline_shuttle)]
        tautline_core::sync::point();
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relax for Lines {
    fn relax(&self, turn: u32) {
        Spin.relax(turn);
    }
}

impl Barrier for Lines {
    fn lines(&self) -> usize {
        1
    }

    fn claim(&self) -> Option<Line> {
        let mut wires = self.wires();
        let free = !std::mem::replace(&mut wires.claimed, true);
        free.then_some(Line(0))
    }

    fn give_back(&self, _: Line) {
        let mut wires = self.wires();
        assert!(wires.included.is_empty(), "a thread is still included");
        wires.claimed = false;
    }

    fn include(&self, _: Line) {
        let mut wires = self.wires();
        assert!(wires.mine().is_none(), "a thread includes itself once");
        wires.included.push(Wire {
            thread: thread::current().id(),
            has_arrived: false,
            waits_for: 0,
        });
    }

    fn exclude(&self, _: Line) {
        let mut wires = self.wires();
        assert!(
            !wires.wire().has_arrived,
            "a thread that has arrived is not excluded"
        );
        let mine = wires.mine().expect("the thread is included");
        wires.included.swap_remove(mine);
        wires.complete();
    }

    fn arrive(&self, _: Line) {
        let mut wires = self.wires();
        let waits_for = wires.times_done + 1;
        let wire = wires.wire();
        assert!(!wire.has_arrived, "a thread arrives once");
        (wire.has_arrived, wire.waits_for) = (true, waits_for);
        wires.complete();
    }

    fn is_done(&self, _: Line) -> bool {
        let mut wires = self.wires();
        wires.times_done >= wires.wire().waits_for
    }
}
