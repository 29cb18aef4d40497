//! The flat and the tiered phaser, ordering by ordering: what precedes a signal is visible after
//! the phase.
//!
//! Two or three threads; a thread may act for several tasks, which requires no more schedules than
//! one.

use super::mark::Mark;
use loom::thread;
use std::sync::Arc;
use tautline_core::phaser::Mode::SignalWait;
use tautline_exhibits::phaser::{Flat, Member, Tiered, Tiers};
use tautline_verify::model::{Model, Turns};

type Task<P> = <P as Phaser>::Task;

/// Creates a phaser whose tasks act on threads of a model.
trait Phaser {
    type Task: Member + Send + 'static;

    fn create() -> Self::Task;
}

struct OnFlat;

impl Phaser for OnFlat {
    type Task = Flat<Turns>;

    fn create() -> Self::Task {
        Flat::create(Turns(2), SignalWait)
    }
}

/// A tiered phaser with `N` levels of nodes, and two tasks per leaf.
struct OnTiers<const N: usize>;

impl<const N: usize> Phaser for OnTiers<N> {
    type Task = Tiered<Turns>;

    fn create() -> Self::Task {
        let shape = Tiers {
            tiers: N,
            degree: 2,
            help_after: 0,
        };
        Tiered::create(Turns(2), SignalWait, shape).expect("the shape is allowed")
    }
}

fn child<M: Member>(parent: &mut M) -> M {
    let child = parent.register(SignalWait);
    child.expect("the parent may do as much")
}

fn signal<M: Member>(task: &mut M) {
    task.signal().expect("phases are left");
}

fn wait<M: Member>(task: &mut M) {
    task.wait_blocking().expect("it has signalled");
}

fn next<M: Member>(task: &mut M) {
    signal(task);
    wait(task);
}

/// Creates two tasks, which on two tiers are in separate leaves. A phase has ended, so none is a
/// newcomer.
fn apart<P: Phaser>() -> [Task<P>; 2] {
    let mut mine = P::create();
    let mut between = child(&mut mine);
    let mut theirs = child(&mut mine);
    let all = [&mut mine, &mut between, &mut theirs];
    for task in all {
        signal(task);
    }
    wait(&mut mine);
    wait(&mut theirs);
    drop(between);
    [mine, theirs]
}

/// Runs `theirs` on a separate thread, with a mark that must be visible to `mine`.
fn play<M: Member + Send + 'static>(
    [mut mine, theirs]: [M; 2],
    program: impl FnOnce(M, &Mark) + Send + 'static,
) {
    let mark = Arc::new(Mark::default());
    let other = thread::spawn({
        let mark = Arc::clone(&mark);
        move || program(theirs, &mark)
    });
    next(&mut mine);
    assert!(mark.is_set());
    other.join().expect("the panic of a task is the model's");
}

/// Each of two tasks observes what the other did.
fn marks<P: Phaser>() {
    let [mut mine, mut theirs] = apart::<P>();
    let both: Arc<[Mark; 2]> = Arc::default();
    let other = thread::spawn({
        let both = Arc::clone(&both);
        move || {
            both[1].set();
            next(&mut theirs);
            assert!(both[0].is_set());
        }
    });
    both[0].set();
    next(&mut mine);
    assert!(both[1].is_set());
    other.join().expect("the panic of a task is the model's");
}

/// The writes of a task before it deregistered are visible.
fn leaves<P: Phaser>() {
    play(apart::<P>(), |theirs, mark| {
        mark.set();
        drop(theirs);
    });
}

/// A newcomer whose parent is a newcomer itself is waited for: no task that signalled before the
/// gatherer read the list knows of it.
fn newcomers<P: Phaser>() {
    let mut mine = P::create();
    let theirs = child(&mut mine);
    play([mine, theirs], |mut theirs, mark| {
        let mut first = child(&mut theirs);
        signal(&mut theirs);
        let mut second = child(&mut first);
        signal(&mut first);
        mark.set();
        signal(&mut second);
    });
}

/// The writes of a task before it deregistered are also visible to a task that finds its seat
/// reused, by a task that owes nothing yet.
fn reuse<P: Phaser>() {
    let mut mine = P::create();
    let theirs = child(&mut mine);
    let mut third = child(&mut mine);
    signal(&mut third);
    let third = thread::spawn(move || drop(child(&mut third)));
    play([mine, theirs], |theirs, mark| {
        mark.set();
        drop(theirs);
    });
    third.join().expect("the panic of a task is the model's");
}

/// A task that owes nothing yet registers a child while the preceding seats are read.
fn seats<P: Phaser>() {
    let mut mine = P::create();
    let mut theirs = child(&mut mine);
    signal(&mut theirs);
    let other = thread::spawn(move || drop(child(&mut theirs)));
    next(&mut mine);
    other.join().expect("the panic of a task is the model's");
}

#[test]
fn flat_marks() {
    Model::new("flat_marks").floor(350).check(marks::<OnFlat>);
}

#[test]
fn flat_newcomers() {
    let model = Model::new("flat_newcomers").bound(3).floor(7_500);
    model.check(newcomers::<OnFlat>);
}

#[test]
fn flat_reuse() {
    let model = Model::new("flat_reuse").bound(2).floor(1_000);
    model.check(reuse::<OnFlat>);
}

#[test]
fn tiered_marks() {
    let model = Model::new("tiered_marks").floor(12_000);
    model.check(marks::<OnTiers<2>>);
}

#[test]
fn tiered_leaves() {
    Model::new("tiered_leaves")
        .floor(13)
        .check(leaves::<OnTiers<2>>);
}

// One leaf, with the newcomers in its second block: here, and below.

#[test]
fn tiered_seats() {
    let model = Model::new("tiered_seats").floor(1_200);
    model.check(seats::<OnTiers<1>>);
}

#[test]
fn tiered_newcomers() {
    let model = Model::new("tiered_newcomers").bound(3).floor(4_000);
    model.check(newcomers::<OnTiers<1>>);
}
