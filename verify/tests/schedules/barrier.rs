//! A central barrier: the suite's canary, and what the runner costs.

use shuttle::thread;
use tautline_core::port::{Relax, Spin};
use tautline_core::sync::{AtomicUsize, Ordering};
use tautline_verify::schedules::{Schedules, schedules};

/// All threads count; the last to arrive begins the next phase.
struct Central {
    members: usize,
    here: AtomicUsize,
    phase: AtomicUsize,
}

impl Central {
    fn new(members: usize) -> Self {
        Self {
            members,
            here: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
        }
    }

    /// `late` is the bug: the phase begins before the count is back at 0.
    fn wait(&self, late: bool) {
        let phase = self.phase.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.members {
            if !late {
                self.here.store(0, Ordering::Relaxed);
            }
            self.phase.store(phase + 1, Ordering::Release);
            if late {
                self.here.store(0, Ordering::Relaxed);
            }
            return;
        }
        let mut turn = 0;
        while self.phase.load(Ordering::Acquire) == phase {
            Spin.relax(turn);
            turn += 1;
        }
    }
}

/// No thread may leave a phase before all have reached it.
fn phases(members: usize, phases: usize, late: bool) {
    let barrier = Central::new(members);
    let come: Vec<_> = (0..phases).map(|_| AtomicUsize::new(0)).collect();
    let member = || {
        for come in &come {
            come.fetch_add(1, Ordering::Relaxed);
            barrier.wait(late);
            assert_eq!(come.load(Ordering::Relaxed), members, "left too early");
        }
    };
    thread::scope(|scope| {
        for _ in 1..members {
            scope.spawn(member);
        }
        member();
    });
}

#[test]
fn canary() {
    let caught = Schedules::new("canary")
        .count(10_000)
        .steps(5_000)
        .find(|| phases(3, 3, true));
    caught.expect("no schedule shows a barrier's bug: the schedules check nothing");
}

#[test]
fn nine_at_a_central_barrier() {
    schedules("nine_at_a_central_barrier", 20_000, || phases(9, 4, false));
}

/// The first seed under which two tasks lose an update.
fn lost_update(name: &'static str) -> Option<u64> {
    Schedules::new(name).count(1_000).find(|| {
        let word = AtomicUsize::new(0);
        let add = || {
            for _ in 0..2 {
                let seen = word.load(Ordering::Relaxed);
                word.store(seen + 1, Ordering::Relaxed);
            }
        };
        thread::scope(|scope| {
            scope.spawn(add);
            add();
        });
        assert!(word.load(Ordering::Relaxed) > 2, "two updates were lost");
    })
}

#[test]
fn a_seed_is_a_schedule() {
    let first = lost_update("a_seed_is_a_schedule");
    assert!(first.is_some(), "no schedule loses an update");
    assert_eq!(first, lost_update("a_seed_is_a_schedule_again"));
}
