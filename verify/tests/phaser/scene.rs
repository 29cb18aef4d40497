//! What the models of phasers are played on: ports, marks that tasks leave, and a bed to sleep in.

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

/// A machine without barrier lines. So often a wait looks again at once: loom lets a thread that yields go on only when no other
/// can. After that the rest of the execution is not branched.
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

/// So many turns, and a wait that helps has looked at the tree once more.
pub(crate) const AGAIN: u32 = 9;

/// Everybody gathers for everybody, at once.
pub(crate) const HELP: u32 = 0;
/// Nobody gathers for a fixed master.
pub(crate) const MASTERS: u32 = u32::MAX;

/// Two children a node.
pub(crate) fn config(help_after: u32) -> Config {
    wide(2, help_after)
}

/// `degree` children a node.
pub(crate) fn wide(degree: usize, help_after: u32) -> Config {
    Config {
        degree,
        help_after,
        ..Config::default()
    }
}

/// `N` tasks registered signal-wait, who look `turns` times before the rest is not explored.
pub(crate) fn group<const N: usize>(turns: u32, help_after: u32) -> [Task; N] {
    let first = found(SignalWait, turns, help_after);
    joined([SignalWait; N], first)
}

/// A task that founds a phaser.
pub(crate) fn found(mode: Mode, turns: u32, help_after: u32) -> Task {
    Registration::create(Plain(turns), mode, config(help_after)).expect("the degree is allowed")
}

/// `first`, and those that it registers after it: one a mode, the first mode being its own.
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

/// A producer and a consumer, alone.
pub(crate) fn pair(turns: u32, help_after: u32) -> [Task; 2] {
    let [founder, producer, consumer] = joined(
        [SignalWait, Signal, Wait],
        found(SignalWait, turns, help_after),
    );
    drop(founder);
    [producer, consumer]
}

/// The marks of `N` phases or tasks.
pub(crate) type Marks<const N: usize> = Arc<[Mark; N]>;

pub(crate) fn marks<const N: usize>() -> Marks<N> {
    Arc::new(std::array::from_fn(|_| Mark::default()))
}

/// All have been set, and that is seen.
pub(crate) fn all_set(marks: &[Mark]) {
    assert!(
        marks.iter().all(Mark::is_set),
        "a phase was left before all had signalled it"
    );
}

/// A thread's sleep; its wake-ups are sticky.
#[derive(Default)]
pub(crate) struct Bed(Permit, Notify);

impl Bed {
    /// Until it is woken.
    pub(crate) fn sleep(&self) {
        while !self.0.try_take() {
            self.1.wait();
        }
    }
}

impl Wake for Bed {
    fn wake(self: Arc<Self>) {
        self.0.give();
        self.1.notify();
    }
}

/// Runs `future` to its end, asleep whenever it is pending.
pub(crate) fn rest<F: Future>(future: F) -> F::Output {
    let bed = Arc::new(Bed::default());
    let waker = Waker::from(Arc::clone(&bed));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(out) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return out;
        }
        bed.sleep();
    }
}

/// A waker of nobody.
pub(crate) fn waker() -> Waker {
    Waker::from(Arc::new(Bed::default()))
}
