//! Common parts of the models of phasers: ports, marks that tasks leave, and a parker.

pub(crate) use super::mark::Mark;
use loom::sync::Notify;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tautline_core::phaser::Mode::{self, Signal, SignalWait, Wait};
use tautline_core::phaser::{Config, Registration};
use tautline_core::port::{Barrier, Relax};
use tautline_core::sync::Permit;
use tautline_verify::model::Turns;

/// A machine without barrier lines. A wait polls this many times without yielding: loom lets a
/// thread that yields continue only when no other can, and does not branch the rest of the
/// execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain(pub u32);

impl Relax for Plain {
    fn relax(&self, turn: u32) {
        if turn >= self.0 {
            Turns(0).relax(turn);
        }
    }
}

impl Barrier for Plain {}

/// A task on that machine.
pub(crate) type Task = Registration<Plain>;

/// After this many turns, a wait that helps has advanced the tree again.
pub(crate) const AGAIN: u32 = 9;

/// All tasks gather for all, immediately.
pub(crate) const HELP: u32 = 0;
/// No task gathers for a fixed master.
pub(crate) const MASTERS: u32 = u32::MAX;

/// Two children per node.
pub(crate) fn config(help_after: u32) -> Config {
    wide(2, help_after)
}

/// `degree` children per node.
pub(crate) fn wide(degree: usize, help_after: u32) -> Config {
    Config {
        degree,
        help_after,
        ..Config::default()
    }
}

/// `N` tasks registered signal-wait, which poll `turns` times before the rest is not explored.
pub(crate) fn group<const N: usize>(turns: u32, help_after: u32) -> [Task; N] {
    let first = create(SignalWait, turns, help_after);
    joined([SignalWait; N], first)
}

/// A task that creates a phaser.
pub(crate) fn create(mode: Mode, turns: u32, help_after: u32) -> Task {
    Registration::create(Plain(turns), mode, config(help_after)).expect("the degree is allowed")
}

/// `first`, and the tasks that it registers after it: one for each mode, the first mode being its
/// own.
pub(crate) fn joined<const N: usize, P: Relax + Barrier>(
    modes: [Mode; N],
    first: Registration<P>,
) -> [Registration<P>; N] {
    let mut tasks = vec![first];
    for mode in &modes[1..] {
        let next = tasks[0].register(*mode);
        tasks.push(next.expect("the mode is below its parent's"));
    }
    let Ok(tasks) = tasks.try_into() else {
        unreachable!("as many as there are modes")
    };
    tasks
}

/// A producer and a consumer, without other tasks.
pub(crate) fn pair(turns: u32, help_after: u32) -> [Task; 2] {
    let [founder, producer, consumer] = joined(
        [SignalWait, Signal, Wait],
        create(SignalWait, turns, help_after),
    );
    drop(founder);
    [producer, consumer]
}

/// The marks of `N` phases or tasks.
pub(crate) type Marks<const N: usize> = Arc<[Mark; N]>;

pub(crate) fn marks<const N: usize>() -> Marks<N> {
    Arc::new(std::array::from_fn(|_| Mark::default()))
}

/// Asserts that all marks are set, visibly.
pub(crate) fn all_set(marks: &[Mark]) {
    assert!(
        marks.iter().all(Mark::is_set),
        "a phase was left before all had signalled it"
    );
}

/// A thread's parker, with a sticky permit.
#[derive(Default)]
pub(crate) struct Parker(Permit, Notify);

impl Parker {
    /// Parks until the permit is available.
    pub(crate) fn sleep(&self) {
        while !self.0.try_take() {
            self.1.wait();
        }
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.0.give();
        self.1.notify();
    }
}

/// Runs `future` to its end, parked while it is pending.
pub(crate) fn rest<F: Future>(future: F) -> F::Output {
    let parker = Arc::new(Parker::default());
    let waker = Waker::from(Arc::clone(&parker));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(out) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return out;
        }
        parker.sleep();
    }
}

/// A waker without effect.
pub(crate) fn waker() -> Waker {
    Waker::from(Arc::new(Parker::default()))
}
