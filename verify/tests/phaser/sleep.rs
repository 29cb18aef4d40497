//! Tasks that park until a phase has ended: no wake-up is lost, though no task polls again without
//! one.

use super::scene::{
    HELP, MASTERS, Parker, Plain, Task, all_set, create, group, joined, marks, pair, rest, waker,
    wide,
};
use loom::thread;
use std::sync::Arc;
use std::task::Waker;
use tautline_core::phaser::Mode::{Signal, SignalWait, Wait};
use tautline_verify::model::Model;

/// V18: two tasks that both may park; the last one to signal wakes the other.
#[test]
fn parked_2() {
    Model::new("parked_2").bound(3).floor(5_400).check(|| {
        let [mut a, mut b] = group::<2>(0, HELP);
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            theirs[1].set();
            rest(b.next()).unwrap();
            all_set(&theirs[..]);
        });
        marks[0].set();
        rest(a.next()).unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// Two phases.
#[test]
fn parked_again() {
    Model::new("parked_again").bound(2).floor(11_000).check(|| {
        let [mut a, mut b] = group::<2>(0, HELP);
        let other = thread::spawn(move || {
            rest(b.next()).unwrap();
            rest(b.next()).unwrap();
        });
        rest(a.next()).unwrap();
        rest(a.next()).unwrap();
        other.join().unwrap();
    });
}

/// Tasks in one leaf that is too large to be watched.
fn row<const N: usize>(turns: u32, help_after: u32) -> [Task; N] {
    let first = Task::create(Plain(turns), SignalWait, wide(5, help_after));
    joined([SignalWait; N], first.expect("the degree is allowed"))
}

/// One task is parked, another parks after it and so does not change the word, while a third, which
/// only spins, ends the phase: its only fence is that of the end.
#[test]
fn parked_behind_another() {
    Model::new("parked_behind_another")
        .bound(3)
        .floor(1_400)
        .check(|| {
            let [mut c, mut b, mut a] = row::<3>(1, MASTERS);
            a.signal().unwrap();
            assert!(a.poll_wait(&waker()).is_pending());
            let other = thread::spawn(move || rest(b.next()).unwrap());
            c.next_blocking().unwrap();
            other.join().unwrap();
        });
}

/// One task rechecks and ends the phase while another parks after it and misses the third's signal.
#[test]
fn parked_3() {
    Model::new("parked_3").bound(2).floor(6_000).check(|| {
        let [mut c, mut b, mut a] = row::<3>(0, HELP);
        a.signal().unwrap();
        assert!(a.poll_wait(&waker()).is_pending());
        let first = thread::spawn(move || rest(a.wait()).unwrap());
        let second = thread::spawn(move || rest(b.next()).unwrap());
        c.signal().unwrap();
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// Signals, and parks.
fn parks(task: &mut Task) -> Arc<Parker> {
    let parker = Arc::new(Parker::default());
    task.signal().unwrap();
    let pending = task.poll_wait(&Waker::from(Arc::clone(&parker)));
    assert!(pending.is_pending());
    parker
}

/// Two leaves: the task that ends the phase in the first has one of the two sleepers of the second
/// woken, which wakes the other, even if it leaves concurrently instead of polling.
fn duties(goes: bool) {
    let [mut a, mut b, mut c, mut d] = group::<4>(0, HELP);
    b.signal().unwrap();
    let (parker, other_parker) = (parks(&mut c), parks(&mut d));
    let other = thread::spawn(move || {
        if goes {
            drop(c);
        } else {
            parker.sleep();
            assert!(c.poll_wait(&waker()).is_ready());
        }
    });
    a.signal().unwrap();
    other_parker.sleep();
    assert!(d.poll_wait(&waker()).is_ready());
    other.join().unwrap();
}

#[test]
fn duty() {
    Model::new("duty").floor(150).check(|| duties(false));
}

#[test]
fn duty_dropped() {
    Model::new("duty_dropped")
        .bound(3)
        .floor(5_800)
        .check(|| duties(true));
}

/// The same, with two tasks that park while the phase ends.
#[test]
fn duty_late() {
    Model::new("duty_late").bound(1).floor(4_000).check(|| {
        let [mut a, mut b, mut c, mut d] = group::<4>(0, HELP);
        let marks = marks::<1>();
        b.signal().unwrap();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            rest(c.next()).unwrap();
            all_set(&theirs[..]);
        });
        let theirs = Arc::clone(&marks);
        let first = thread::spawn(move || {
            theirs[0].set();
            a.signal().unwrap();
        });
        rest(d.next()).unwrap();
        all_set(&marks[..]);
        first.join().unwrap();
        other.join().unwrap();
    });
}

/// The last task that owes a signal drops while the other one parks.
#[test]
fn parked_drop() {
    Model::new("parked_drop").bound(3).floor(510).check(|| {
        let [mut a, b] = group::<2>(0, HELP);
        let marks = marks::<1>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            theirs[0].set();
            drop(b);
        });
        rest(a.next()).unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// A task that is a phase ahead finds a sleeper, and advances the tree for it: a child that was
/// registered concurrently, and is no longer a newcomer, is waited for.
#[test]
fn parked_before_a_child() {
    Model::new("parked_before_a_child")
        .bound(2)
        .floor(2_000)
        .check(|| {
            let founder = create(SignalWait, 1, HELP);
            let mut tasks = joined([SignalWait, SignalWait, Signal], founder);
            tasks.iter_mut().for_each(|task| task.signal().unwrap());
            let [mut a, mut b, mut ahead] = tasks;
            assert!(a.poll_wait(&waker()).is_ready() && b.poll_wait(&waker()).is_ready());
            ahead.signal().unwrap();
            let others = thread::spawn(move || {
                let mut child = a.register(SignalWait).unwrap();
                for task in [&mut a, &mut b, &mut child] {
                    task.signal().unwrap();
                }
                assert!(a.poll_wait(&waker()).is_ready());
                assert!(b.poll_wait(&waker()).is_ready());
                a.signal().unwrap();
                b.signal().unwrap();
                assert!(a.poll_wait(&waker()).is_pending());
                (a, b, child)
            });
            ahead.signal().unwrap();
            let (mut a, _b, child) = others.join().unwrap();
            assert!(a.poll_wait(&waker()).is_pending());
            drop(child);
        });
}

/// A consumer is parked; the producers signal at the same time, and each may find the other
/// missing.
#[test]
fn parked_consumer() {
    Model::new("parked_consumer")
        .bound(3)
        .floor(22_000)
        .check(|| {
            let [mut first, mut consumer] = pair(0, HELP);
            let mut second = first.register(Signal).unwrap();
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                rest(consumer.wait()).unwrap();
                all_set(&theirs[..]);
            });
            let theirs = Arc::clone(&marks);
            let producer = thread::spawn(move || {
                theirs[1].set();
                second.signal().unwrap();
            });
            marks[0].set();
            first.signal().unwrap();
            producer.join().unwrap();
            other.join().unwrap();
        });
}

/// A task is registered, which makes the tree grow, while the first one parks: it is found and
/// woken.
#[test]
fn growth_parked() {
    Model::new("growth_parked")
        .bound(3)
        .floor(20_000)
        .check(|| {
            let [mut a, mut b]: [Task; 2] = group::<2>(0, HELP);
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                rest(b.next()).unwrap();
                all_set(&theirs[..]);
            });
            let mut child = a.register(Signal).unwrap();
            marks[0].set();
            a.signal().unwrap();
            marks[1].set();
            child.signal().unwrap();
            other.join().unwrap();
        });
}

/// A sleeper in a slot that was made after the others': the task that ends the phase finds it
/// there.
#[test]
fn growth_sleeper() {
    Model::new("growth_sleeper").floor(16_000).check(|| {
        let [mut producer, mut consumer] = pair(0, HELP);
        let other = thread::spawn(move || {
            let mut second = consumer.register(Wait).unwrap();
            drop(consumer);
            rest(second.wait()).unwrap();
        });
        producer.signal().unwrap();
        other.join().unwrap();
    });
}

/// A node is made while a task that does not know of it walks all nodes to wake the sleeper.
#[test]
fn growth_woken() {
    Model::new("growth_woken").bound(1).floor(2_700).check(|| {
        let founder = create(SignalWait, 0, HELP);
        let modes = [SignalWait, SignalWait, Signal, Wait];
        let [mut a, mut b, mut c, mut asleep] = joined(modes, founder);
        c.signal().unwrap();
        assert!(asleep.poll_wait(&waker()).is_pending());
        let other = thread::spawn(move || b.next_blocking().unwrap());
        a.signal().unwrap();
        let children = [0; 2].map(|_| a.register(Signal).unwrap());
        other.join().unwrap();
        drop((children, asleep));
    });
}

/// A task cancels its wait, and another reuses its slot, while it is woken.
#[test]
fn parked_reuse() {
    Model::new("parked_reuse").bound(2).floor(6_100).check(|| {
        let [mut a, mut b] = group::<2>(0, HELP);
        let other = thread::spawn(move || {
            // Polls once, and leaves.
            let waker = waker();
            b.signal().unwrap();
            _ = b.poll_wait(&waker);
            drop(b);
        });
        rest(a.next()).unwrap();
        let mut child = a.register(SignalWait).unwrap();
        child.signal().unwrap();
        rest(a.next()).unwrap();
        rest(child.wait()).unwrap();
        other.join().unwrap();
    });
}
