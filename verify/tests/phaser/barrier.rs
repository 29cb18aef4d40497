//! Tasks that signal and wait on one phaser: the tree, registrations, growth, drops.

use super::scene::{
    AGAIN, HELP, MASTERS, Marks, Plain, Task, all_set, create, group, joined, marks, waker, wide,
};
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, SignalWait};
use tautline_verify::model::Model;

/// Runs `task` on a thread: `next`, then all marks must be there.
fn passes<const N: usize>(mut task: Task, marks: &Marks<N>) -> JoinHandle<()> {
    let marks = Arc::clone(marks);
    thread::spawn(move || {
        task.next_blocking().unwrap();
        all_set(&marks[..]);
    })
}

/// `phases` phases of `next`; `marks` are one for each task, phase by phase.
fn phases<const N: usize>(mut task: Task, me: usize, tasks: usize, marks: &Marks<N>) {
    for phase in 0..N / tasks {
        marks[tasks * phase + me].set();
        task.next_blocking().unwrap();
        all_set(&marks[..tasks * (phase + 1)]);
    }
}

/// V11: three tasks, two leaves and a root.
fn static_tasks<const N: usize>(help_after: u32) {
    let [a, b, c] = group::<3>(1, help_after);
    let marks = marks::<N>();
    let others = [(b, 1), (c, 2)].map(|(task, me)| {
        let marks = Arc::clone(&marks);
        thread::spawn(move || phases(task, me, 3, &marks))
    });
    phases(a, 0, 3, &marks);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn static_3() {
    Model::new("static_3")
        .bound(4)
        .floor(600)
        .check(|| static_tasks::<6>(MASTERS));
}

#[test]
fn static_3_helped() {
    Model::new("static_3_helped")
        .bound(3)
        .floor(100_000)
        .check(|| static_tasks::<6>(HELP));
}

/// The tasks one phase later: none is a newcomer, which would be examined besides the tree.
fn settled<const N: usize>(mut tasks: [Task; N]) -> [Task; N] {
    tasks.iter_mut().for_each(|task| task.signal().unwrap());
    for task in &mut tasks {
        assert!(task.poll_wait(&waker()).is_ready());
    }
    tasks
}

/// The master of a leaf has signalled, and is elsewhere; the second task, in its leaf, too, gathers
/// the root; the third gathers the leaf in place of its master.
#[test]
fn master_elsewhere() {
    Model::new("master_elsewhere")
        .bound(2)
        .floor(14_000)
        .check(|| {
            let [mut a, b, c] = settled(group::<3>(AGAIN, 1));
            let marks = marks::<1>();
            let others = [passes(b, &marks), passes(c, &marks)];
            marks[0].set();
            a.signal().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
        });
}

/// V12: the first task registers a child in the leaf of the third, which may have been gathered
/// already, and signals. The second has signalled.
fn registers(turns: u32, waits: bool) {
    let [mut a, mut b, c] = group::<3>(turns, HELP);
    let marks = marks::<2>();
    b.signal().unwrap();
    let other = passes(c, &marks);
    let mut child = a.register(Signal).unwrap();
    marks[0].set();
    a.signal().unwrap();
    marks[1].set();
    child.signal().unwrap();
    if waits {
        a.wait_blocking().unwrap();
    }
    other.join().unwrap();
}

#[test]
fn registration() {
    Model::new("registration")
        .floor(1_500)
        .check(|| registers(AGAIN, false));
}

/// The same; the newcomer may have been retired before the other task examines the newcomers.
#[test]
fn registration_retired() {
    Model::new("registration_retired")
        .bound(3)
        .floor(11_000)
        .check(|| registers(1, true));
}

/// The same; masters, without fences, end the phase, and the newcomer is on a separate thread.
#[test]
fn registration_apart() {
    Model::new("registration_apart")
        .bound(2)
        .floor(20_000)
        .check(|| {
            let founder = create(SignalWait, 2, 1);
            let [mut a, mut b, mut c] = joined([SignalWait, Signal, SignalWait], founder);
            let marks = marks::<1>();
            b.signal().unwrap();
            // It gathers its leaf.
            assert!(!c.next_while(|_| false).unwrap());
            let other = passes(c, &marks);
            let mut child = a.register(Signal).unwrap();
            let theirs = Arc::clone(&marks);
            let newcomer = thread::spawn(move || {
                theirs[0].set();
                child.signal().unwrap();
            });
            a.next_blocking().unwrap();
            newcomer.join().unwrap();
            other.join().unwrap();
        });
}

/// A task that has signalled registers a child, which owes the next phase first, and leaves. The
/// child reuses an entry of the landing pad and a slot; the gathering tasks have no fences.
#[test]
fn registration_early() {
    Model::new("registration_early")
        .bound(3)
        .floor(2_900)
        .check(|| {
            let founder = create(SignalWait, 1, 1);
            let modes = [SignalWait, Signal, SignalWait, Signal];
            let [first, mut a, mut b, last] = settled(joined(modes, founder));
            drop(last);
            drop(first);
            let marks = marks::<1>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                b.next_blocking().unwrap();
                b.next_blocking().unwrap();
                all_set(&theirs[..]);
            });
            a.signal().unwrap();
            let mut child = a.register(Signal).unwrap();
            // The other task may reach the next phase concurrently.
            thread::yield_now();
            drop(a);
            marks[0].set();
            child.signal().unwrap();
            other.join().unwrap();
        });
}

/// The same, and the child registers another before it signals.
#[test]
fn registration_chain() {
    Model::new("registration_chain")
        .bound(4)
        .floor(18_000)
        .check(|| {
            let [mut a, mut b, c] = group::<3>(AGAIN, HELP);
            let marks = marks::<3>();
            b.signal().unwrap();
            let other = passes(c, &marks);
            let mut child = a.register(Signal).unwrap();
            marks[0].set();
            a.signal().unwrap();
            let mut grandchild = child.register(Signal).unwrap();
            marks[1].set();
            child.signal().unwrap();
            marks[2].set();
            grandchild.signal().unwrap();
            other.join().unwrap();
        });
}

/// An entry of the landing pad is reused, for a task of the next phase, while a delayed task of
/// this phase reads it.
#[test]
fn registration_overwrites() {
    Model::new("registration_overwrites")
        .bound(1)
        .floor(300)
        .check(|| {
            let [mut a, mut b, mut c, mut d] = group::<4>(1, HELP);
            let marks = marks::<1>();
            let others = [&mut b, &mut c, &mut d];
            others.into_iter().for_each(|task| task.signal().unwrap());
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                d.wait_blocking().unwrap();
                all_set(&theirs[..]);
            });
            marks[0].set();
            a.signal().unwrap();
            // The other task signals first.
            thread::yield_now();
            a.next_blocking().unwrap();
            let child = a.register(Signal).unwrap();
            other.join().unwrap();
            drop(child);
        });
}

/// A leaf is linked below an existing node while a task that does not know the leaf gathers the
/// node.
#[test]
fn growth_adopts() {
    Model::new("growth_adopts").bound(3).floor(1_800).check(|| {
        let founder = create(SignalWait, 0, HELP);
        let modes = [SignalWait, SignalWait, Signal, Signal, Signal, Signal];
        let [mut a, mut b, rest @ ..] = joined(modes, founder);
        let rest: [Task; 4] = rest.map(|mut task| {
            task.signal().unwrap();
            task
        });
        a.signal().unwrap();
        let other = thread::spawn(move || b.next_blocking().unwrap());
        let child = a.register(Signal).unwrap();
        other.join().unwrap();
        drop((child, rest));
    });
}

/// V13: the leaf is full; a third task is registered while the master of the leaf, which is the
/// root, gathers.
#[test]
fn growth() {
    Model::new("growth").bound(3).floor(6_000).check(|| {
        let [mut a, b] = group::<2>(AGAIN, HELP);
        let marks = marks::<2>();
        let other = passes(b, &marks);
        let mut child = a.register(Signal).unwrap();
        marks[0].set();
        a.signal().unwrap();
        marks[1].set();
        child.signal().unwrap();
        other.join().unwrap();
    });
}

/// A task that signalled early registers a child, which therefore owes the next phase first, in a
/// new leaf.
#[test]
fn growth_early() {
    Model::new("growth_early").bound(2).floor(25_000).check(|| {
        let [mut a, mut b] = group::<2>(0, HELP);
        let marks = marks::<3>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            all_set(&theirs[..1]);
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        marks[0].set();
        a.signal().unwrap();
        let mut child = a.register(Signal).unwrap();
        marks[2].set();
        child.signal().unwrap();
        a.wait_blocking().unwrap();
        marks[1].set();
        a.signal().unwrap();
        other.join().unwrap();
    });
}

/// A producer that is far ahead registers a child in a new leaf, which therefore owes a later phase
/// first, and leaves; another task reuses its slot, and is waited for from its own first phase on.
#[test]
fn growth_ahead() {
    Model::new("growth_ahead").bound(3).floor(200).check(|| {
        let founder = create(SignalWait, 1, HELP);
        let [mut a, mut ahead] = joined([SignalWait, Signal], founder);
        for _ in 0..3 {
            ahead.signal().unwrap();
        }
        drop(ahead.register(Signal).unwrap());
        let mut late = a.register(Signal).unwrap();
        let marks = marks::<1>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            late.signal().unwrap();
            theirs[0].set();
            late.signal().unwrap();
        });
        a.next_blocking().unwrap();
        a.next_blocking().unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
        drop(ahead);
    });
}

/// V14: the master of the root, or of the leaf, drops in phase 0; the others continue to phase 1,
/// and one of them takes its node.
#[test]
fn master_drops() {
    Model::new("master_drops").bound(2).floor(2_000).check(|| {
        let [mut a, mut b, mut c] = group::<3>(1, MASTERS);
        let marks = marks::<1>();
        c.signal().unwrap();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
            b.next_blocking().unwrap();
        });
        marks[0].set();
        a.signal().unwrap();
        drop(a);
        c.wait_blocking().unwrap();
        c.next_blocking().unwrap();
        other.join().unwrap();
    });
}

/// The master of the leaf drops while the other task continues: a task that learns of the vacancy
/// gets the node.
#[test]
fn vacancy() {
    Model::new("vacancy").bound(3).floor(100).check(|| {
        let [a, mut b] = group::<2>(0, HELP);
        let other = thread::spawn(move || drop(a));
        b.next_blocking().unwrap();
        other.join().unwrap();
        b.next_blocking().unwrap();
        assert!(b.is_master());
    });
}

/// A task that leaves, and what it did before.
fn leaver(task: Task, marks: &Marks<2>) -> JoinHandle<()> {
    let marks = Arc::clone(marks);
    thread::spawn(move || {
        marks[0].set();
        drop(task);
    })
}

/// A slot is freed, and may be reused for a child in the same phase.
#[test]
fn reuse() {
    Model::new("reuse").floor(290).check(|| {
        let [mut a, b] = group::<2>(AGAIN, HELP);
        let marks = marks::<2>();
        let leaver = leaver(b, &marks);
        let mut child = a.register(Signal).unwrap();
        a.signal().unwrap();
        marks[1].set();
        child.signal().unwrap();
        a.wait_blocking().unwrap();
        all_set(&marks[..]);
        leaver.join().unwrap();
    });
}

/// The same, for a child that owes the next phase first: what the first task did is visible after
/// the phase nevertheless.
#[test]
fn reuse_early() {
    Model::new("reuse_early").bound(3).floor(49_000).check(|| {
        let [mut a, b, c] = group::<3>(0, HELP);
        let marks = marks::<2>();
        let leaver = leaver(b, &marks);
        let other = passes(c, &marks);
        marks[1].set();
        a.signal().unwrap();
        let child = a.register(Signal).unwrap();
        leaver.join().unwrap();
        other.join().unwrap();
        drop(child);
    });
}

/// Two slots are free, the second of them only just: none is lost.
#[test]
fn reuse_both() {
    Model::new("reuse_both").bound(3).floor(9).check(|| {
        let founder = Task::create(Plain(0), SignalWait, wide(3, HELP)).unwrap();
        let [mut a, b, c] = joined([SignalWait, Signal, Signal], founder);
        drop(b);
        let leaver = thread::spawn(move || drop(c));
        let first = a.register(Signal).unwrap();
        leaver.join().unwrap();
        let second = a.register(Signal).unwrap();
        assert_eq!(a.phaser().census().leaves, 1);
        drop((first, second));
    });
}
