//! The shipped phasers as barriers, in their steady state.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::{Barrier, Clock};
use tautline_exhibits::phaser::{Flat, Member, Tiered, Tiers};
use tautline_verify::virtual_time::{Port, Taken, Traffic, Virtual};

/// Phases before the first that counts: a line carries phases from the third on, and tasks that
/// started late have caught up by then.
const BEFORE: usize = 4;
/// Each thread has a dedicated processor: no task has to gather for another.
pub(crate) const NEVER: u32 = u32::MAX;

/// A shipped phaser, and how its tasks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The flat one.
    Flat,
    /// The tiered one, of this degree, with room for all.
    Tiered(usize),
    /// The tree of this degree, other phasers having all the machine's lines.
    Tree(usize),
    /// The same, where lines are free.
    Lines(usize),
    /// The same, but waiting tasks suspend themselves and the last one to signal wakes them.
    Awake(usize),
}

/// The duration of an episode when many follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// From one end of an episode to the next, in cycles.
    pub cycles: u64,
    /// Accesses of a thread, on average.
    pub accesses: f64,
    /// Phases that a line carried, of these, the four before them and the one after.
    pub in_hardware: usize,
    /// All accesses of all these episodes.
    pub traffic: Traffic,
}

/// Runs `threads` threads for `episodes` episodes.
pub(crate) fn measure(machine: &Virtual, kind: Kind, threads: usize, episodes: usize) -> Reading {
    let run = Run {
        machine,
        threads,
        episodes,
    };
    let next = |task: &mut Registration<Port>, _: &Port| task.next_blocking().expect("few phases");
    match kind {
        Kind::Flat => run.barrier(|port| Flat::create(port, Mode::SignalWait)),
        Kind::Tiered(degree) => run.barrier(move |port| {
            let tiers = (1..).find(|tiers| degree.pow(*tiers) >= threads);
            let shape = Tiers {
                tiers: tiers.expect("some power is large enough") as usize,
                degree,
                help_after: NEVER,
            };
            Tiered::create(port, Mode::SignalWait, shape).expect("a shape that is allowed")
        }),
        Kind::Tree(degree) => run.measure(
            move |port| {
                while port.claim().is_some() {}
                tree(port, degree)
            },
            next,
            |_| 0,
        ),
        Kind::Lines(degree) => run.measure(move |port| tree(port, degree), next, carried),
        Kind::Awake(degree) => run.measure(move |port| tree(port, degree), sleep, |_| 0),
    }
}

fn tree(port: Port, degree: usize) -> Registration<Port> {
    let config = Config {
        degree,
        help_after: NEVER,
        ..Config::default()
    };
    Registration::create(port, Mode::SignalWait, config).expect("a degree that is allowed")
}

fn carried(task: &Registration<Port>) -> usize {
    task.phaser().census().in_hardware
}

/// As `next`, but suspended until woken.
pub(crate) fn sleep(task: &mut Registration<Port>, port: &Port) {
    let waker = port.waker();
    let mut next = task.next();
    loop {
        match Pin::new(&mut next).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done.expect("few phases"),
            Poll::Pending => port.suspend(),
        }
    }
}

struct Run<'a> {
    machine: &'a Virtual,
    threads: usize,
    episodes: usize,
}

/// The times at which the first episode that counts began for a thread, and the last one ended.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    now: [u64; 2],
    accesses: [u64; 2],
    carried: usize,
}

impl Run<'_> {
    fn barrier<M: Member + Send + 'static>(
        &self,
        create: impl Fn(Port) -> M + Send + Sync + 'static,
    ) -> Reading {
        let next = |task: &mut M, _: &Port| task.next_blocking().expect("few phases");
        self.measure(create, next, |_| 0)
    }

    fn measure<M: Member + Send + 'static>(
        &self,
        create: impl Fn(Port) -> M + Send + Sync + 'static,
        next: impl Fn(&mut M, &Port) + Send + Sync + 'static,
        carried: impl Fn(&M) -> usize + Send + Sync + 'static,
    ) -> Reading {
        let (threads, episodes) = (self.threads, self.episodes);
        let seats = Mutex::new(Vec::new());
        let marks = Arc::new(Mutex::new(vec![Marks::default(); threads]));
        let kept = Arc::clone(&marks);
        let taken = self.machine.run(threads, move |port| {
            let me = port.thread();
            if me == 0 {
                let mut first = create(port.clone());
                let others = (1..threads).map(|_| first.register(Mode::SignalWait));
                let others: Vec<_> = others.map(|child| child.ok()).collect();
                *seats.lock().unwrap() = others;
                seats.lock().unwrap().insert(0, Some(first));
                (1..threads).for_each(|thread| port.awake(thread));
            } else {
                port.suspend();
            }
            let task = seats.lock().unwrap()[me].take();
            let mut task = task.expect("every thread has a place");
            let mark = |which: usize| {
                let marks = &mut kept.lock().unwrap()[me];
                marks.now[which] = port.now();
                marks.accesses[which] = port.accesses();
            };
            (0..BEFORE).for_each(|_| next(&mut task, port));
            mark(0);
            if me == 0 {
                port.count_traffic();
            }
            (0..episodes).for_each(|_| next(&mut task, port));
            mark(1);
            if me == 0 {
                port.stop_counting();
            }
            // No task leaves before all have reached this point.
            next(&mut task, port);
            if me == 0 {
                let carried = carried(&task);
                kept.lock().unwrap()[me].carried = carried;
            }
        });
        let marks = marks.lock().unwrap();
        reading(&marks, taken, episodes)
    }
}

fn reading(marks: &[Marks], taken: Taken, episodes: usize) -> Reading {
    let last = |which: usize| marks.iter().map(|marks| marks.now[which]).max();
    let accesses: u64 = marks
        .iter()
        .map(|marks| marks.accesses[1] - marks.accesses[0])
        .sum();
    Reading {
        cycles: (last(1).unwrap_or(0) - last(0).unwrap_or(0)) / episodes as u64,
        accesses: accesses as f64 / (marks.len() * episodes) as f64,
        in_hardware: marks.first().map_or(0, |marks| marks.carried),
        traffic: taken.traffic,
    }
}
