//! The programs.

use std::sync::Arc;
use tautline_core::phaser::Mode::{self, Signal, SignalWait, Wait};

/// A step of a task. Phasers are numbered from 0.
#[derive(Clone, Debug)]
pub enum Step {
    /// Signals and waits on this phaser.
    Next(usize),
    /// The signal of a `next` on several phasers.
    Signal(usize),
    /// The wait of a `next` on several phasers.
    Wait(usize),
    /// A signal ahead of `next`.
    Early(usize),
    /// Registers a task on a phaser, as `mode`, and starts it with a program.
    Spawn(usize, Mode, Arc<[Self]>),
    /// Deregisters from this phaser.
    Drop(usize),
}

/// Tasks on phasers. At the end of its program a task deregisters from all.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// Children of a node.
    pub degree: usize,
    /// The number of phasers.
    pub phasers: usize,
    /// The mode of each initial task, on all phasers, and its program. The first one registers the
    /// others.
    pub tasks: Vec<(Mode, Arc<[Step]>)>,
    /// Whether a task depends on others that gather in place of a master that is busy or has
    /// deregistered.
    pub needs_help: bool,
}

impl Scenario {
    /// Returns whether an initial task is registered in this mode.
    pub fn has_mode(&self, mode: Mode) -> bool {
        self.tasks.iter().any(|(has, _)| *has == mode)
    }
}

/// The actions of a task by phase; see [`phases`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habit {
    /// The phase in which it spawns a task, which does the same from its first phase on, to this
    /// depth.
    pub spawns: Option<(usize, usize)>,
    /// The phases that it signals early.
    pub early: &'static [usize],
}

/// Returns `count` phases on phaser 0.
pub(super) fn phases(count: usize, habit: Habit) -> Arc<[Step]> {
    let mut steps = Vec::new();
    for phase in 0..count {
        if let Some((_, depth)) = habit.spawns.filter(|(at, _)| *at == phase) {
            let spawns = (depth > 1).then(|| (0, depth - 1));
            let habit = Habit { spawns, early: &[] };
            steps.push(Step::Spawn(0, SignalWait, phases(count - phase, habit)));
        }
        if habit.early.contains(&phase) {
            steps.push(Step::Early(0));
        }
        steps.push(Step::Next(0));
    }
    steps.into()
}

pub(super) fn barrier(
    name: &'static str,
    tasks: impl IntoIterator<Item = Arc<[Step]>>,
) -> Scenario {
    Scenario {
        name,
        degree: 2,
        phasers: 1,
        tasks: tasks.into_iter().map(|t| (SignalWait, t)).collect(),
        needs_help: false,
    }
}

fn steady(name: &'static str, tasks: usize) -> Scenario {
    barrier(name, (0..tasks).map(|_| phases(3, Habit::default())))
}

/// Three phases; task `spawner` spawns in phase `at`.
fn spawning(
    name: &'static str,
    modes: &[Mode],
    spawner: usize,
    at: usize,
    depth: usize,
) -> Scenario {
    let tasks = modes.iter().enumerate().map(|(task, mode)| {
        let spawns = (task == spawner).then_some((at, depth));
        (*mode, phases(3, Habit { spawns, early: &[] }))
    });
    Scenario {
        tasks: tasks.collect(),
        ..barrier(name, [])
    }
}

/// The first task deregisters after one phase, the third after two: those are masters of nodes.
fn dropping(name: &'static str, tasks: usize) -> Scenario {
    let count = |task| match task {
        0 => 1,
        2 => 2,
        _ => 4,
    };
    let tasks = (0..tasks).map(|task| phases(count(task), Habit::default()));
    Scenario {
        needs_help: true,
        ..barrier(name, tasks)
    }
}

fn producers_and_consumers() -> Scenario {
    let rest = [Signal, Signal, Signal, Wait, Wait];
    let rest = rest.map(|mode| (mode, phases(4, Habit::default())));
    let mut tasks = vec![(SignalWait, Arc::default())];
    tasks.extend(rest);
    Scenario {
        tasks,
        ..barrier("producers_and_consumers", [])
    }
}

fn churn() -> Scenario {
    let habit = |task| Habit {
        spawns: Some((task, 3)),
        early: &[],
    };
    barrier("churn", (0..3).map(|task| phases(4, habit(task))))
}

fn early() -> Scenario {
    let habit = |task| Habit {
        spawns: None,
        early: if task < 2 { &[0, 2] } else { &[] },
    };
    barrier("early_signals", (0..4).map(|task| phases(4, habit(task))))
}

/// Two tasks call `next` on two phasers each, in opposite orders; a third one deregisters
/// immediately.
fn crossed(name: &'static str, canonical: bool) -> Scenario {
    let task = |order: [usize; 2]| {
        let waits = if canonical { [0, 1] } else { order };
        let mut steps = Vec::new();
        for _ in 0..2 {
            steps.extend(order.map(Step::Signal));
            steps.extend(waits.map(Step::Wait));
        }
        steps.extend(order.map(Step::Drop));
        steps.into()
    };
    Scenario {
        phasers: 2,
        needs_help: true,
        ..barrier(name, [Arc::default(), task([0, 1]), task([1, 0])])
    }
}

fn split() -> Scenario {
    use Step::{Signal, Wait};
    let first = [Signal(0), Signal(1), Wait(1), Wait(0)];
    let second = [Signal(0), Wait(0), Signal(1), Wait(1)];
    Scenario {
        phasers: 2,
        needs_help: true,
        ..barrier("split_phase", [first.into(), second.into()])
    }
}

/// Returns fourteen programs that together use all operations on phasers but values.
pub fn all() -> Vec<Scenario> {
    vec![
        steady("steady_5", 5),
        steady("steady_9", 9),
        spawning("spawn_into_a_leaf", &[SignalWait; 3], 0, 0, 1),
        spawning("spawn_a_level", &[SignalWait; 4], 0, 1, 1),
        spawning(
            "spawn_among_modes",
            &[SignalWait, Signal, Signal, Signal, SignalWait],
            0,
            0,
            1,
        ),
        Scenario {
            degree: 3,
            ..spawning("spawn_degree_3", &[SignalWait; 4], 1, 1, 2)
        },
        dropping("drop_masters_5", 5),
        dropping("drop_masters_7", 7),
        producers_and_consumers(),
        churn(),
        early(),
        crossed("crossed", false),
        crossed("crossed_canonical", true),
        split(),
    ]
}
