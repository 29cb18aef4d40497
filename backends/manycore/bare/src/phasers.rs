//! Phasers between harts: a fixed set, then one whose members come and go. The board's barrier
//! lines carry the phases whose members all have a line.

use crate::Chip;
use crate::hart::Hart;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::{Barrier, Line, Relax, Thread};
use tautline_core::sync::Lock;
use tautline_manycore::virt::{MOST_HARTS, Virt};

const PHASES: usize = 10_000;
/// Phases that a fixed set of harts passes.
const ROUND: usize = 100;

/// The ports of the board, owned by a phaser.
#[derive(Clone, Copy)]
struct Lent(&'static Chip);

impl Relax for Lent {
    fn relax(&self, turn: u32) {
        self.0.relax(turn);
    }
}

impl Barrier for Lent {
    fn lines(&self) -> usize {
        self.0.lines()
    }

    fn claim(&self) -> Option<Line> {
        self.0.claim()
    }

    fn give_back(&self, line: Line) {
        self.0.give_back(line);
    }

    fn include(&self, line: Line) {
        self.0.include(line);
    }

    fn exclude(&self, line: Line) {
        self.0.exclude(line);
    }

    fn arrive(&self, line: Line) {
        self.0.arrive(line);
    }

    fn is_done(&self, line: Line) -> bool {
        self.0.is_done(line)
    }
}

type Task = Registration<Lent>;

/// The registrations that harts receive from the harts that register them.
static HANDED: Lock<[Option<Task>; MOST_HARTS]> = Lock::new([const { None }; MOST_HARTS]);
/// The progress of each hart, in phases, including the one that it is about to signal.
static MARKS: [AtomicUsize; MOST_HARTS] = [const { AtomicUsize::new(0) }; MOST_HARTS];

/// Runs on each hart.
pub fn run(chip: &'static Chip, hart: usize) -> String {
    let me = Hart { chip, hart };
    // SAFETY: each hart of this program is a distinct worker.
    unsafe { chip.set_current(Some(me.worker(hart))) };
    let (same, in_hardware) = fixed(me);
    let changing = dynamic(me);
    // SAFETY: the hart stops acting as a worker here.
    unsafe { chip.set_current(None) };
    format!(
        "{PHASES} phases of the same harts, {in_hardware} by a line, {same} ns each; {PHASES} of changing ones, {changing} ns each"
    )
}

fn create(chip: &'static Chip) -> Task {
    let created = Registration::create(Lent(chip), Mode::SignalWait, Config::default());
    created.expect("a degree that is allowed")
}

fn child(parent: &mut Task) -> Task {
    let child = parent.register(Mode::SignalWait);
    child.expect("a mode that the parent has")
}

/// Passes a registration to a hart that waits for it.
fn hand(me: Hart<'_>, hart: usize, task: Task) {
    HANDED.lock(&Virt)[hart] = Some(task);
    me.awake(me.worker(hart));
}

fn handed(me: Hart<'_>) -> Task {
    me.suspend();
    let task = HANDED.lock(&Virt)[me.hart].take();
    task.expect("handed before the awake")
}

/// Passes `phases` phases, and checks each time that all others have come as far.
fn phases(me: Hart<'_>, task: &mut Task, phases: usize) {
    for _ in 0..phases {
        let phase = task.signalled().0 + 1;
        MARKS[me.hart].store(phase, Ordering::Relaxed);
        task.next_blocking().expect("registered to wait");
        for (hart, mark) in MARKS[..me.chip.harts()].iter().enumerate() {
            let mark = mark.load(Ordering::Relaxed);
            assert!(
                (phase..=phase + 1).contains(&mark),
                "hart {hart} is at {mark}, not {phase}"
            );
        }
    }
}

/// The duration of a phase, and the number of phases that the lines of the board carried.
fn fixed(me: Hart<'static>) -> (u64, usize) {
    let mut task = match me.hart {
        0 => {
            let mut first = create(me.chip);
            (1..me.chip.harts()).for_each(|hart| hand(me, hart, child(&mut first)));
            first
        }
        _ => handed(me),
    };
    let time = me.time_ns(|| phases(me, &mut task, PHASES));
    let phaser = task.phaser();
    drop(task);
    me.meet();
    let census = phaser.census();
    assert_eq!(census.phases, PHASES);
    assert!(census.in_hardware > PHASES / 2, "{census:?}");
    drop(phaser);
    MARKS[me.hart].store(0, Ordering::Relaxed);
    me.meet();
    (time / PHASES as u64, census.in_hardware)
}

/// Each odd hart is registered by the one before it for a round, and leaves; the even ones stay.
fn dynamic(me: Hart<'static>) -> u64 {
    let harts = me.chip.harts();
    if me.hart % 2 == 1 {
        for _ in 0..PHASES / ROUND {
            phases(me, &mut handed(me), ROUND);
        }
        return 0;
    }
    let mut task = match me.hart {
        0 => {
            let mut first = create(me.chip);
            let even = (2..harts).step_by(2);
            even.for_each(|hart| hand(me, hart, child(&mut first)));
            first
        }
        _ => handed(me),
    };
    let time = me.time_ns(|| {
        for _ in 0..PHASES / ROUND {
            if me.hart + 1 < harts {
                hand(me, me.hart + 1, child(&mut task));
            }
            phases(me, &mut task, ROUND);
        }
    });
    assert_eq!(task.signalled().0, PHASES);
    time / PHASES as u64
}
