//! Phases that a barrier line carries which can only block: the machine has no arrival without a
//! wait.

use super::ports::{Yield, config, on_threads, tasks};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use tautline_core::phaser::{Mode, Registration};
use tautline_core::port::{Barrier, Line, Relax};

/// The only line of the machine.
#[derive(Debug, Default)]
struct Wire {
    is_claimed: bool,
    included: usize,
    arrived: usize,
    completed: usize,
}

impl Wire {
    /// Returns whether the line completes.
    fn complete(&mut self) -> bool {
        let completes = self.included > 0 && self.arrived == self.included;
        if completes {
            self.arrived = 0;
            self.completed += 1;
        }
        completes
    }
}

#[derive(Clone, Debug, Default)]
struct Stalls(Arc<(Mutex<Wire>, Condvar)>);

impl Stalls {
    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.0.0.lock().unwrap()
    }
}

impl Relax for Stalls {
    fn relax(&self, turn: u32) {
        Yield.relax(turn);
    }
}

impl Barrier for Stalls {
    fn lines(&self) -> usize {
        1
    }

    fn claim(&self) -> Option<Line> {
        let is_free = !std::mem::replace(&mut self.wire().is_claimed, true);
        is_free.then_some(Line(0))
    }

    fn give_back(&self, _: Line) {
        let mut wire = self.wire();
        assert_eq!(wire.included, 0, "a thread is included");
        wire.is_claimed = false;
    }

    fn include(&self, _: Line) {
        self.wire().included += 1;
    }

    fn exclude(&self, _: Line) {
        let mut wire = self.wire();
        wire.included -= 1;
        if wire.complete() {
            self.0.1.notify_all();
        }
    }

    fn arrive(&self, _: Line) {
        panic!("a thread that arrives waits");
    }

    fn is_done(&self, _: Line) -> bool {
        panic!("the line cannot be polled");
    }

    fn meet(&self, _: Line) {
        let mut wire = self.wire();
        wire.arrived += 1;
        if wire.complete() {
            self.0.1.notify_all();
            return;
        }
        let phase = wire.completed;
        let waits = |wire: &mut Wire| wire.completed == phase;
        drop(self.0.1.wait_while(wire, waits).unwrap());
    }
}

/// One task leaves while the others are blocked; another registers a task, so that the phaser goes
/// to software and back.
#[test]
fn a_barrier_is_carried_by_a_line_that_blocks() {
    const PHASES: usize = 300;
    for n in [1, 2, 3, 5] {
        let all = tasks(Stalls::default(), config(2, 0), &vec![Mode::SignalWait; n]);
        let phaser = all[0].phaser();
        let come: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        on_threads(all, |me, mut task| {
            for phase in 1..=PHASES {
                let is_last = phase == PHASES / 2 && me > 0 && me + 1 == n;
                come[me].store(if is_last { PHASES } else { phase }, SeqCst);
                if is_last {
                    return;
                }
                if me == 0 && phase == PHASES / 4 {
                    child(&mut task);
                }
                task.next_blocking().unwrap();
                assert!(come.iter().all(|c| c.load(SeqCst) >= phase));
            }
        });
        let census = phaser.census();
        assert_eq!(census.phases, PHASES);
        assert!(census.in_hardware > PHASES / 2, "{n} tasks: {census:?}");
    }
}

/// Registers a task that takes no part.
fn child(task: &mut Registration<Stalls>) {
    drop(task.register(Mode::SignalWait).unwrap());
}
