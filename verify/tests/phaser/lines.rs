//! Phases that a barrier line carries: the window opens and closes for all tasks at once.

use super::scene::{HELP, Mark, all_set, config, joined, marks, rest};
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::thread;
use std::cell::Cell;
use std::sync::Arc;
use tautline_core::phaser::Mode::{Signal, SignalWait};
use tautline_core::phaser::Registration;
use tautline_core::port::{Barrier, Line, Relax};
use tautline_verify::model::{Model, Turns};

loom::thread_local! {
    /// The number of completions of the line when this thread arrived.
    static ARRIVED: Cell<usize> = Cell::new(0);
}

const INCLUDED: usize = 1;
const COME: usize = 1 << 4;
const DONE: usize = 1 << 8;

/// A machine with one line: the numbers of its completions, of arrived and of included threads;
/// whether it is claimed; and a mark that must be visible to each user.
struct Wire(AtomicUsize, AtomicBool, Mark);

impl Wire {
    fn turn(&self, change: impl Fn(usize) -> usize) -> usize {
        let step = |word| {
            let next = change(word);
            let (included, come) = (next % COME, next % DONE / COME);
            // All have arrived: the line is done, and no thread has arrived at the next episode.
            let done = included > 0 && come == included;
            Some(if done {
                next - come * COME + DONE
            } else {
                next
            })
        };
        self.0.fetch_update(AcqRel, Acquire, step).unwrap()
    }
}

#[derive(Clone)]
struct Machine(Arc<Wire>);

impl Relax for Machine {
    fn relax(&self, turn: u32) {
        if turn >= 1 {
            Turns(0).relax(turn);
        }
    }
}

impl Barrier for Machine {
    fn lines(&self) -> usize {
        1
    }

    fn claim(&self) -> Option<Line> {
        let Wire(_, taken, set_up) = &*self.0;
        (!taken.swap(true, AcqRel)).then(|| {
            set_up.set();
            Line(0)
        })
    }

    fn give_back(&self, _: Line) {
        self.0.1.store(false, Release);
    }

    fn include(&self, _: Line) {
        assert!(self.0.2.is_set());
        self.0.turn(|word| word + INCLUDED);
    }

    fn exclude(&self, _: Line) {
        self.0.turn(|word| word - INCLUDED);
    }

    fn arrive(&self, _: Line) {
        let before = self.0.turn(|word| word + COME);
        ARRIVED.with(|arrived| arrived.set(before / DONE));
    }

    fn is_done(&self, _: Line) -> bool {
        self.0.0.load(Acquire) / DONE > ARRIVED.with(Cell::get)
    }
}

type Task = Registration<Machine>;

/// A single task.
fn create() -> Task {
    let wire = Wire(AtomicUsize::new(0), AtomicBool::new(false), Mark::default());
    Task::create(Machine(Arc::new(wire)), SignalWait, config(HELP)).unwrap()
}

/// Two tasks that are included: in phase 2, which the tree carries; the line carries phase 3.
fn included() -> [Task; 2] {
    let mut tasks = joined([SignalWait; 2], create());
    for _ in 0..2 {
        tasks.iter_mut().for_each(|task| task.signal().unwrap());
        tasks
            .iter_mut()
            .for_each(|task| task.wait_blocking().unwrap());
    }
    tasks
}

/// Two phases, the second on the line.
#[test]
fn window_carries() {
    Model::new("window_carries").floor(27_000).check(|| {
        let [mut a, mut b] = included();
        let marks = marks::<4>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            theirs[1].set();
            b.next_blocking().unwrap();
            all_set(&theirs[..2]);
            b
        });
        a.next_blocking().unwrap();
        marks[0].set();
        a.next_blocking().unwrap();
        all_set(&marks[..2]);
        let b = other.join().unwrap();
        assert_eq!(a.phaser().census().in_hardware, 1);
        drop((a, b));
    });
}

/// V20: two tasks on the line; one registers a child that only signals.
#[test]
fn window_child() {
    Model::new("window_child").bound(3).floor(74_000).check(|| {
        let [mut a, mut b] = included();
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        a.next_blocking().unwrap();
        let mut child = a.register(Signal).unwrap();
        marks[0].set();
        a.signal().unwrap();
        marks[1].set();
        child.signal().unwrap();
        a.wait_blocking().unwrap();
        other.join().unwrap();
    });
}

/// The same, and only the line shows that it registers one.
#[test]
fn window_child_apart() {
    Model::new("window_child_apart")
        .bound(2)
        .floor(70)
        .check(|| {
            let [mut a, mut b] = included();
            let marks = marks::<1>();
            let other = thread::spawn(move || {
                b.next_blocking().unwrap();
                b.next_blocking().unwrap();
            });
            a.next_blocking().unwrap();
            let mut child = a.register(Signal).unwrap();
            let theirs = Arc::clone(&marks);
            let apart = thread::spawn(move || {
                theirs[0].set();
                child.signal().unwrap();
            });
            a.next_blocking().unwrap();
            all_set(&marks[..]);
            other.join().unwrap();
            apart.join().unwrap();
        });
}

/// V21: two tasks on the line; one signals early and excludes itself.
#[test]
fn window_early() {
    Model::new("window_early").bound(3).floor(6_500).check(|| {
        let [mut a, mut b] = included();
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            theirs[1].set();
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        a.next_blocking().unwrap();
        marks[0].set();
        a.signal().unwrap();
        a.wait_blocking().unwrap();
        all_set(&marks[..]);
        other.join().unwrap();
    });
}

/// One of the two tasks on the line leaves.
#[test]
fn window_drop() {
    Model::new("window_drop").bound(2).floor(150).check(|| {
        let [mut a, mut b] = included();
        let marks = marks::<1>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            b.next_blocking().unwrap();
            all_set(&theirs[..]);
        });
        a.next_blocking().unwrap();
        marks[0].set();
        drop(a);
        other.join().unwrap();
    });
}

/// One of the two tasks on the line parks from now on.
#[test]
fn window_parked() {
    Model::new("window_parked").bound(2).floor(440).check(|| {
        let [mut a, mut b] = included();
        let marks = marks::<2>();
        let theirs = Arc::clone(&marks);
        let other = thread::spawn(move || {
            b.next_blocking().unwrap();
            for phase in 0..2 {
                b.next_blocking().unwrap();
                all_set(&theirs[..=phase]);
            }
        });
        a.next_blocking().unwrap();
        for mark in &marks[..] {
            mark.set();
            rest(a.next()).unwrap();
        }
        other.join().unwrap();
    });
}

/// A window that is opened by a thread that is late to end a phase, after the other has left it.
#[test]
fn window_opened_late() {
    Model::new("window_opened_late")
        .bound(3)
        .floor(30_000)
        .check(|| {
            let mut a = create();
            a.next_blocking().unwrap();
            let mut b = a.register(SignalWait).unwrap();
            let left = Arc::new(AtomicUsize::new(0));
            let theirs = Arc::clone(&left);
            let other = thread::spawn(move || {
                for _ in 1..4 {
                    theirs.fetch_add(1, Relaxed);
                    b.next_blocking().unwrap();
                }
            });
            for phase in 1..4 {
                a.next_blocking().unwrap();
                assert!(
                    left.load(Relaxed) >= phase,
                    "a phase ended without its signal"
                );
            }
            other.join().unwrap();
        });
}

/// A task registers a child after its signal, while the window opens, and leaves.
#[test]
fn window_registrar_gone() {
    Model::new("window_registrar_gone")
        .bound(3)
        .floor(110_000)
        .check(|| {
            let [mut a, mut b] = joined([SignalWait; 2], create());
            a.signal().unwrap();
            b.next_blocking().unwrap();
            a.wait_blocking().unwrap();
            let marks = marks::<2>();
            let theirs = Arc::clone(&marks);
            let other = thread::spawn(move || {
                for seen in 0..3 {
                    b.next_blocking().unwrap();
                    all_set(&theirs[..seen]);
                }
            });
            a.signal().unwrap();
            let mut child = a.register(Signal).unwrap();
            drop(a);
            for mark in &marks[..] {
                mark.set();
                child.signal().unwrap();
            }
            other.join().unwrap();
        });
}
