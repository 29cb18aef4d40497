//! Tasks that watch each other's slots, and let the word lag.

use super::scene::{
    AGAIN, MASTERS, Marks, Plain, Task, all_set, config, create, group, joined, marks, rest, waker,
};
use super::values::Twice;
use loom::thread;
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{Accumulator, Op, Phase};
use tautline_verify::model::Model;

/// Two tasks in one leaf, in phase 1: none is a newcomer, so they resume by watching.
fn watchers(turns: u32) -> [Task; 2] {
    warm(group::<2>(turns, MASTERS))
}

fn warm(mut tasks: [Task; 2]) -> [Task; 2] {
    tasks.iter_mut().for_each(|task| task.signal().unwrap());
    for task in &mut tasks {
        task.wait_blocking().unwrap();
    }
    tasks
}

/// `next`, by watching or not, between marks of all tasks.
fn goes_on<const N: usize>(task: &mut Task, me: usize, marks: &Marks<N>) {
    for phase in 0..N / 2 {
        marks[2 * phase + me].set();
        task.next_blocking().unwrap();
        all_set(&marks[..2 * (phase + 1)]);
    }
}

#[test]
fn watch() {
    Model::new("watch").bound(3).floor(490).check(|| {
        let [mut a, mut b] = watchers(1);
        let marks = marks::<4>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || goes_on(&mut b, 1, &theirs));
        goes_on(&mut a, 0, &marks);
        other.join().unwrap();
    });
}

/// One task watches, the other parks: it is woken.
#[test]
fn watch_and_sleep() {
    Model::new("watch_and_sleep")
        .bound(3)
        .floor(3_100)
        .check(|| {
            let [mut a, mut b] = watchers(1);
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                theirs[1].set();
                rest(b.next()).unwrap();
                all_set(&theirs[..]);
            });
            goes_on(&mut a, 0, &marks);
            other.join().unwrap();
        });
}

/// A task that has resumed by watching parks in the next phase: it updates the word first.
#[test]
fn watch_then_sleep() {
    Model::new("watch_then_sleep")
        .bound(3)
        .floor(7_500)
        .check(|| {
            let [mut a, mut b] = watchers(1);
            let marks = marks::<4>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                for phase in 0..2 {
                    theirs[2 * phase + 1].set();
                    if phase == 0 {
                        b.next_blocking().unwrap();
                    } else {
                        rest(b.next()).unwrap();
                    }
                    all_set(&theirs[..2 * (phase + 1)]);
                }
            });
            goes_on(&mut a, 0, &marks);
            other.join().unwrap();
        });
}

/// A task that has resumed by watching leaves: a later query returns that phase.
#[test]
fn watch_then_leave() {
    Model::new("watch_then_leave")
        .bound(3)
        .floor(600)
        .check(|| {
            let [mut a, mut b] = watchers(1);
            let phaser = a.phaser();
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                goes_on(&mut b, 1, &theirs);
                drop(b);
            });
            goes_on(&mut a, 0, &marks);
            drop(a);
            assert_eq!(phaser.phase(), Phase(2));
            other.join().unwrap();
            assert_eq!(phaser.phase(), Phase(2));
        });
}

/// A query of the phase while two tasks watch returns no phase that has not been reached, and what
/// precedes it is visible.
#[test]
fn watch_asked() {
    Model::new("watch_asked").bound(3).floor(8_000).check(|| {
        let [mut a, mut b] = watchers(1);
        let phaser = a.phaser();
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || goes_on(&mut b, 1, &theirs));
        let theirs = Arc::clone(&marks);
        let observer = thread::spawn(move || {
            if phaser.phase() > Phase(1) {
                all_set(&theirs[..]);
            }
        });
        goes_on(&mut a, 0, &marks);
        other.join().unwrap();
        observer.join().unwrap();
        assert_eq!(a.phaser().phase(), Phase(2));
    });
}

/// A query finds a slot free that a child has taken, and its parent's signal: that is not the end
/// of the phase.
#[test]
fn asked_of_a_child() {
    Model::new("asked_of_a_child").bound(3).floor(80).check(|| {
        let [gone, mut b] = watchers(1);
        drop(gone);
        b.next_blocking().unwrap();
        let phaser = b.phaser();
        let observer = thread::spawn(move || phaser.phase());
        let child = b.register(SignalWait).unwrap();
        b.signal().unwrap();
        assert!(observer.join().unwrap() < Phase(3));
        assert!(b.poll_wait(&waker()).is_pending());
        drop(child);
    });
}

/// A watching task registers a child, for which the other one waits.
#[test]
fn watch_registers() {
    Model::new("watch_registers")
        .bound(2)
        .floor(7_000)
        .check(|| {
            let [mut a, mut b] = watchers(1);
            let marks = marks::<3>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                theirs[1].set();
                b.next_blocking().unwrap();
                all_set(&theirs[..]);
            });
            let mut child = a.register(Signal).unwrap();
            marks[0].set();
            a.signal().unwrap();
            marks[2].set();
            child.signal().unwrap();
            a.wait_blocking().unwrap();
            other.join().unwrap();
        });
}

/// A wait-only task, which polls the word alone, is registered while the others may resume by
/// watching: it resumes, too.
#[test]
fn watch_and_wait_only() {
    Model::new("watch_and_wait_only")
        .bound(2)
        .floor(200)
        .check(|| {
            let [mut a, mut b] = watchers(1);
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                goes_on(&mut b, 1, &theirs);
                // A task that deregisters updates the word.
                b
            });
            let mut waiter = a.register(Wait).unwrap();
            let theirs = Arc::clone(&marks);
            let third = thread::spawn(move || {
                waiter.wait_blocking().unwrap();
                all_set(&theirs[..]);
            });
            goes_on(&mut a, 0, &marks);
            third.join().unwrap();
            drop(other.join().unwrap());
        });
}

/// One task requests a statement between two phases; the other, which does not know of it, does not
/// resume before.
#[test]
fn watch_single() {
    Model::new("watch_single").bound(3).floor(230).check(|| {
        let founder = create(SignalWaitSingle, 1, MASTERS);
        let [mut a, mut b] = warm(joined([SignalWaitSingle, SignalWait], founder));
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            theirs[1].set();
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        a.next_single_blocking(|| marks[0].set()).unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// Two tasks in one leaf that accumulate a sum, in phase 1, and the sum.
fn summing(turns: u32, help_after: u32) -> (Accumulator<u64, Plain>, [Task; 2]) {
    let sum = Accumulator::create(Plain(turns), Op::Sum, Some(1000), config(help_after));
    let (sum, founder) = sum.expect("integers have sums");
    (sum, warm(joined([SignalWait; 2], founder)))
}

/// A phase in which `task` contributes `mine`; the result is `all`.
fn adds(sum: &Accumulator<u64, Plain>, task: &mut Task, mine: u64, all: u64) {
    sum.put(task, mine).unwrap();
    task.next_blocking().unwrap();
    assert_eq!(sum.get(), all);
}

/// Each task computes the sum, and finds its cached result.
#[test]
fn watch_sum() {
    Model::new("watch_sum").bound(3).floor(490).check(|| {
        let (sum, [mut a, mut b]) = summing(1, MASTERS);
        let theirs = sum.clone();
        let other = thread::spawn(move || {
            adds(&theirs, &mut b, 1, 1011);
            adds(&theirs, &mut b, 2, 1002);
        });
        adds(&sum, &mut a, 10, 1011);
        a.next_blocking().unwrap();
        // Through a handle that has recorded no task.
        assert_eq!(sum.clone().get(), 1002);
        other.join().unwrap();
    });
}

/// The second phase is ended in the tree, by a sleeper: the cached result of the first is not taken
/// for its result. Then both tasks leave, and the last result remains.
#[test]
fn watch_sum_then_sleep() {
    Model::new("watch_sum_then_sleep")
        .bound(2)
        .floor(4_000)
        .check(|| {
            let (sum, [mut a, mut b]) = summing(1, MASTERS);
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                adds(&theirs, &mut b, 1, 1011);
                theirs.put(&mut b, 2).unwrap();
                rest(b.next()).unwrap();
                assert_eq!(theirs.get(), 1022);
            });
            adds(&sum, &mut a, 10, 1011);
            adds(&sum, &mut a, 20, 1022);
            drop(a);
            other.join().unwrap();
            assert_eq!(sum.get(), 1022);
        });
}

/// One task leaves the phase by watching and reads its sum while the other, which has only
/// signalled, registers a task, which makes the tree grow, and leaves.
#[test]
fn watch_sum_grows() {
    Model::new("watch_sum_grows")
        .bound(3)
        .floor(6_000)
        .check(|| {
            let (sum, [mut a, mut b]) = summing(AGAIN, 1);
            let theirs = sum.clone();
            let other = thread::spawn(move || {
                theirs.put(&mut b, 1).unwrap();
                b.next_blocking().unwrap();
                assert_eq!(theirs.clone().get(), 1011);
                b
            });
            sum.put(&mut a, 10).unwrap();
            a.signal().unwrap();
            let child = a.register(SignalWait).unwrap();
            let b = other.join().unwrap();
            assert_eq!(sum.get(), 1011);
            drop((a, b, child));
            assert_eq!(sum.get(), 1011);
        });
}

/// A task that is not registered reads the result while one task resumes by watching: through a
/// handle of its own, or through the task's, which leads to the cached result.
fn asked_from_outside(turns: u32, by_the_tasks: bool) {
    let max = Accumulator::<Twice, _>::create(Plain(turns), Op::Max, None, config(MASTERS));
    let (max, mut task) = max.expect("the operator is allowed");
    task.next_blocking().unwrap();
    max.put(&mut task, Twice(1)).unwrap();
    task.next_blocking().unwrap();
    let max = Arc::new(max);
    let theirs = match by_the_tasks {
        true => Arc::clone(&max),
        false => Arc::new((*max).clone()),
    };
    let other = thread::spawn(move || theirs.get());
    for value in 2..=3 {
        max.put(&mut task, Twice(value)).unwrap();
        task.next_blocking().unwrap();
    }
    assert!((1..=3).contains(&other.join().unwrap().0));
    assert_eq!(max.get(), Twice(3));
}

#[test]
fn watch_outsider() {
    let model = Model::new("watch_outsider").bound(3).floor(450);
    model.check(|| asked_from_outside(1, false));
}

#[test]
fn watch_outsider_kept() {
    let model = Model::new("watch_outsider_kept").bound(3).floor(30_000);
    model.check(|| asked_from_outside(1, true));
}

/// Both tasks leave phase 1 by watching. Phase 2 ends in the tree; one task then overwrites its
/// value of phase 1, without a fence in between: an outside thread that reads the new value must
/// see that phase 2 has ended.
#[test]
fn watch_outsider_overtaken() {
    let model = Model::new("watch_outsider_overtaken").bound(1).floor(5_600);
    model.check(|| {
        let max = Accumulator::<Twice, _>::create(Plain(1), Op::Max, None, config(MASTERS));
        let (max, founder) = max.expect("the operator is allowed");
        let [mut a, b] = warm(joined([SignalWait; 2], founder));
        max.put(&mut a, Twice(1)).unwrap();
        let [mut a, mut b] = warm([a, b]);
        max.put(&mut a, Twice(2)).unwrap();
        a.signal().unwrap();
        let theirs = max.clone();
        let observer = thread::spawn(move || theirs.get());
        let other = thread::spawn(move || {
            rest(b.next()).unwrap();
            b
        });
        let b = other.join().unwrap();
        assert!(a.poll_wait(&waker()).is_ready());
        max.put(&mut a, Twice(3)).unwrap();
        assert!((1..=2).contains(&observer.join().unwrap().0));
        drop((a, b));
    });
}
