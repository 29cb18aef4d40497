//! Phases that barrier lines carry, on a machine that has five.

use super::ports::{Way, Yield, config, is_released, on_threads, tasks};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use tautline_core::phaser::{Accumulator, Mode, Op, Registration};
use tautline_core::port::{Barrier, Line, Relax};

/// Chatterjee 2013, 6.4: a chip of the machine measured there has five.
const LINES: usize = 5;

/// A line that panics if it is misused.
#[derive(Debug, Default)]
struct Wire {
    claimed: bool,
    /// The included threads, with whether each has arrived.
    threads: HashMap<ThreadId, bool>,
    /// The number of completions.
    done: usize,
}

impl Wire {
    fn complete(&mut self) {
        if !self.threads.is_empty() && self.threads.values().all(|&come| come) {
            self.threads.values_mut().for_each(|come| *come = false);
            self.done += 1;
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Machine {
    wires: [Mutex<Wire>; LINES],
    /// Whether a thread was stopped while it claimed a line.
    stopped: AtomicBool,
}

thread_local! {
    static STOPS: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Arc<Machine>);

impl Lines {
    fn on<T>(&self, line: Line, act: impl FnOnce(&mut Wire, ThreadId) -> T) -> T {
        let mut wire = self.0.wires[usize::from(line.0)].lock().unwrap();
        assert!(wire.claimed, "a line that no phaser has claimed");
        act(&mut wire, thread::current().id())
    }

    fn claimed(&self) -> usize {
        let claimed = |wire: &&Mutex<Wire>| wire.lock().unwrap().claimed;
        self.0.wires.iter().filter(claimed).count()
    }

    /// Waits until the thread that has called `STOPS.set(true)` claims a line.
    fn wait_until_stopped(&self) {
        while !self.0.stopped.load(SeqCst) {
            thread::yield_now();
        }
    }

    fn go_on(&self) {
        self.0.stopped.store(false, SeqCst);
    }
}

impl Relax for Lines {
    fn relax(&self, turn: u32) {
        Yield.relax(turn);
    }
}

impl Barrier for Lines {
    fn lines(&self) -> usize {
        LINES
    }

    fn claim(&self) -> Option<Line> {
        if STOPS.take() {
            self.0.stopped.store(true, SeqCst);
            while self.0.stopped.load(SeqCst) {
                thread::yield_now();
            }
        }
        (0..LINES as u8).map(Line).find(|line| {
            let mut wire = self.0.wires[usize::from(line.0)].lock().unwrap();
            !std::mem::replace(&mut wire.claimed, true)
        })
    }

    fn give_back(&self, line: Line) {
        self.on(line, |wire, _| {
            assert!(wire.threads.is_empty(), "a thread is included");
            wire.claimed = false;
        });
    }

    fn include(&self, line: Line) {
        let twice = self.on(line, |wire, me| wire.threads.insert(me, false));
        assert_eq!(twice, None, "included twice");
    }

    fn exclude(&self, line: Line) {
        let was = self.on(line, |wire, me| {
            let was = wire.threads.remove(&me);
            wire.complete();
            was
        });
        assert_eq!(was, Some(false), "not included, or has arrived");
    }

    fn arrive(&self, line: Line) {
        let was = self.on(line, |wire, me| {
            let was = wire.threads.insert(me, true);
            wire.complete();
            was
        });
        assert_eq!(was, Some(false), "not included, or arrives twice");
    }

    fn is_done(&self, line: Line) -> bool {
        self.on(line, |wire, me| !wire.threads[&me])
    }
}

/// Fact 50: a barrier of threads switches to a line, and releases it at the end.
#[test]
fn a_barrier_is_carried_by_a_line() {
    for n in [1, 2, 3, 5] {
        let machine = Lines::default();
        let all = tasks(machine.clone(), config(2, 0), &vec![Mode::SignalWait; n]);
        let phaser = all[0].phaser();
        let come: Vec<_> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        on_threads(all, |me, mut task| {
            for phase in 1..=300 {
                come[me].store(phase, SeqCst);
                task.next_blocking().unwrap();
                assert!(come.iter().all(|c| c.load(SeqCst) >= phase));
            }
        });
        let census = phaser.census();
        assert_eq!(census.phases, 300);
        assert!(census.in_hardware > 0, "{n} tasks: {census:?}");
        assert_eq!(machine.claimed(), 1);
        drop(phaser);
        assert_eq!(machine.claimed(), 0, "the line was released");
    }
}

/// Fact 50: five phasers have lines, the sixth has none.
#[test]
fn the_sixth_phaser_is_software() {
    let machine = Lines::default();
    let mut all: Vec<_> = (0..LINES + 1)
        .map(|_| Registration::create(machine.clone(), Mode::SignalWait, config(2, 0)).unwrap())
        .collect();
    for _ in 0..10 {
        for task in &mut all {
            task.next_blocking().unwrap();
        }
    }
    let carried: Vec<_> = all
        .iter()
        .map(|t| t.phaser().census().in_hardware > 0)
        .collect();
    assert_eq!(carried, [true, true, true, true, true, false]);
    drop(all.remove(0));
    for _ in 0..10 {
        all[LINES - 1].next_blocking().unwrap();
    }
    assert!(
        all[LINES - 1].phaser().census().in_hardware > 0,
        "a line is free again"
    );
}

/// An action that requires software, within a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Registers(Mode),
    SignalsEarly,
    Sleeps,
}

/// A task that is registered in phase 20 and deregisters in phase 25, on the thread of its parent.
struct Child(Registration<Lines>);

impl Child {
    fn next(&mut self, parent: impl FnOnce()) {
        self.0.signal().unwrap();
        parent();
        assert!(is_released(&mut self.0));
    }
}

/// Fact 50: an action that requires software moves the phaser to software in the same phase;
/// afterwards a line carries it again.
#[test]
fn an_action_in_software_leaves_the_line() {
    let modes = [Mode::Signal, Mode::Wait, Mode::SignalWait];
    let acts = modes.map(Act::Registers).into_iter();
    for act in acts.chain([Act::SignalsEarly, Act::Sleeps]) {
        let all = tasks(Lines::default(), config(2, 0), &[Mode::SignalWait; 3]);
        let phaser = all[0].phaser();
        let come: [AtomicUsize; 3] = Default::default();
        on_threads(all, |me, mut task| {
            let mut child = None;
            for phase in 0..60 {
                if me == 0 && phase == 20 {
                    // The first two never are: a task permits the line after it has blocked its
                    // thread in a wait.
                    assert!((1..=18).contains(&phaser.census().in_hardware), "{act:?}");
                    match act {
                        Act::Registers(mode) => child = task.register(mode).ok().map(Child),
                        Act::SignalsEarly => {
                            come[me].store(phase + 1, SeqCst);
                            task.signal().unwrap();
                        }
                        Act::Sleeps => {}
                    }
                }
                come[me].store(phase + 1, SeqCst);
                match &mut child {
                    Some(child) => child.next(|| task.next_blocking().unwrap()),
                    None if (me, phase, act) == (0, 20, Act::Sleeps) => Way::Parked.next(&mut task),
                    None => task.next_blocking().unwrap(),
                }
                assert!(come.iter().all(|c| c.load(SeqCst) > phase), "{act:?}");
                if phase == 25 && child.take().is_some() {
                    assert!(phaser.census().in_hardware <= 18, "{act:?}");
                }
            }
        });
        let census = phaser.census();
        assert!(census.in_hardware > 30, "{act:?}: {census:?}");
    }
}

/// Fact 50: a task that is delayed while it opens the window does not open it after the phase has
/// ended.
#[test]
fn a_late_helper_opens_no_window() {
    let machine = Lines::default();
    let mut all = tasks(machine.clone(), config(2, 0), &[Mode::SignalWait; 2]);
    let (late, other) = (all.pop().unwrap(), all.pop().unwrap());
    let phaser = late.phaser();
    on_threads(vec![late, other], |me, mut task| {
        task.next_blocking().unwrap();
        let mut producer = None;
        if me == 0 {
            STOPS.set(true);
            task.next_blocking().unwrap();
        } else {
            task.signal().unwrap();
            machine.wait_until_stopped();
            task.wait_blocking().unwrap();
            let child = producer.insert(task.register(Mode::Signal).unwrap());
            machine.go_on();
            (0..20).for_each(|_| child.signal().unwrap());
        }
        (0..20).for_each(|_| task.next_blocking().unwrap());
    });
    assert_eq!(
        phaser.census().in_hardware,
        0,
        "a producer was there all the time"
    );
}

/// Fact 50: a producer that is registered while the phase ends, by a task that then deregisters,
/// keeps the phaser in software.
#[test]
fn a_producer_of_a_deregistered_parent_is_waited_for() {
    let machine = Lines::default();
    let mut all = tasks(machine.clone(), config(2, 0), &[Mode::SignalWait; 2]);
    let (late, leaver) = (all.pop().unwrap(), all.pop().unwrap());
    let phaser = late.phaser();
    on_threads(vec![late, leaver], |me, mut task| {
        task.next_blocking().unwrap();
        if me == 0 {
            STOPS.set(true);
            (0..20).for_each(|_| task.next_blocking().unwrap());
            return None;
        }
        task.signal().unwrap();
        machine.wait_until_stopped();
        let mut producer = task.register(Mode::Signal).unwrap();
        drop(task);
        machine.go_on();
        (0..20).for_each(|_| producer.signal().unwrap());
        Some(producer)
    });
    assert_eq!(
        phaser.census().in_hardware,
        0,
        "a producer was there all the time"
    );
}

/// Fact 50: members deregister at any time, and the line waits only for the others.
#[test]
fn members_leave_a_line() {
    const N: usize = 5;
    let machine = Lines::default();
    let all = tasks(machine.clone(), config(2, 0), &[Mode::SignalWait; N]);
    let phaser = all[0].phaser();
    let come: [AtomicUsize; N] = Default::default();
    on_threads(all, |me, mut task| {
        for phase in 0..10 * (me + 1) {
            come[me].store(phase + 1, SeqCst);
            task.next_blocking().unwrap();
            let there = come
                .iter()
                .enumerate()
                .filter(|(index, _)| phase < 10 * (index + 1));
            there.for_each(|(_, c)| assert!(c.load(SeqCst) > phase));
        }
    });
    let census = phaser.census();
    assert!(census.in_hardware > 40, "{census:?}");
}

/// Fact 50: accumulators and phasers with statements between two phases stay in software.
#[test]
fn phasers_that_need_the_tree_stay_in_software() {
    let machine = Lines::default();
    let mode = Mode::SignalWaitSingle;
    let mut single = Registration::create(machine.clone(), mode, config(2, 0)).unwrap();
    let (sum, mut adds) =
        Accumulator::create(machine.clone(), Op::Sum, None, config(2, 0)).unwrap();
    for _ in 0..10 {
        single.next_blocking().unwrap();
        sum.put(&mut adds, 1u32).unwrap();
        adds.next_blocking().unwrap();
        assert_eq!(sum.get(), 1);
    }
    assert_eq!(machine.claimed(), 0);
}
