//! Models of the barrier lines and the wake-ups of `tautline_manycore`, on a board whose harts are
//! loom's threads.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::thread;
use std::sync::Arc;
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Line, Park, Relax, Thread, Unpark};
use tautline_core::sync::Permit;
use tautline_manycore::{Board, Lines, Manycore};
use tautline_verify::model::{Model, Turns};

/// The wake-up bit of a hart.
#[derive(Default)]
struct Bit(Permit, Notify);

/// A board whose clock stands still: nothing but a ring ends a rest.
struct Harts(Vec<Bit>);

loom::thread_local! {
    static HART: std::cell::Cell<usize> = std::cell::Cell::new(0);
}

/// The calling thread is that hart from now on.
fn be(hart: usize) {
    HART.with(|h| h.set(hart));
}

impl Harts {
    fn new(harts: usize) -> Self {
        Self((0..harts).map(|_| Bit::default()).collect())
    }
}

impl Clock for Harts {
    fn now(&self) -> u64 {
        0
    }
}

impl Relax for Harts {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

// SAFETY: each thread of a model has its own number; no stack is requested.
unsafe impl Board for Harts {
    const REST_TICKS: u64 = 1;
    const WAKE_TICKS: u64 = 1;

    fn hart(&self) -> usize {
        HART.with(std::cell::Cell::get)
    }

    fn ring(&self, hart: usize) {
        self.0[hart].0.give();
        self.0[hart].1.notify();
    }

    fn rest(&self, _: Option<u64>) {
        let bit = &self.0[self.hart()];
        while !bit.0.try_take() {
            bit.1.wait();
        }
    }
}

/// A word that one hart writes and others read.
#[derive(Default)]
struct Mark(UnsafeCell<usize>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Mark {}
// SAFETY: loom reports accesses that race.
unsafe impl Send for Mark {}

impl Mark {
    fn set(&self, value: usize) {
        // SAFETY: loom reports accesses that race.
        self.0.with_mut(|v| unsafe { *v = value });
    }

    fn get(&self) -> usize {
        // SAFETY: loom reports accesses that race.
        self.0.with(|v| unsafe { *v })
    }
}

struct Scene {
    board: Harts,
    lines: Lines,
    marks: [Mark; 3],
}

const LINE: Line = Line(0);

impl Scene {
    /// A claimed line that includes the first `included` of `harts` harts.
    fn new(harts: usize, included: usize) -> Self {
        let lines = Lines::new(harts);
        assert_eq!(lines.claim(), Some(LINE));
        (0..included).for_each(|me| lines.include(me, LINE));
        Self {
            board: Harts::new(harts),
            lines,
            marks: Default::default(),
        }
    }

    /// Waits for the line by polling it.
    fn spin(&self, me: usize) {
        let mut turn = 0;
        while !self.lines.is_done(me, LINE) {
            self.board.relax(turn);
            turn += 1;
        }
    }

    /// Waits for the line's ring.
    fn rest(&self, me: usize) {
        while !self.lines.is_done(me, LINE) {
            self.board.rest(None);
        }
    }

    fn arrive(&self, me: usize) {
        self.lines.arrive(me, LINE, &self.board);
    }
}

/// Runs `body` as harts 0 to `harts` - 1.
fn on_all(scene: Scene, harts: usize, body: fn(&Scene, usize)) {
    let scene = Arc::new(scene);
    let others: Vec<_> = (1..harts)
        .map(|me| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                be(me);
                body(&scene, me);
            })
        })
        .collect();
    be(0);
    body(&scene, 0);
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// B1: the writes of each hart before it arrived are visible after the line.
#[test]
fn line_marks() {
    Model::new("line_marks").bound(3).floor(2_500).check(|| {
        on_all(Scene::new(3, 3), 3, |scene, me| {
            scene.marks[me].set(1);
            scene.arrive(me);
            scene.spin(me);
            assert!(scene.marks.iter().all(|mark| mark.get() == 1));
        });
    });
}

/// Two episodes, at rest: each ring comes, and none is taken for that of another episode.
#[test]
fn line_again() {
    Model::new("line_again").bound(2).floor(25_000).check(|| {
        on_all(Scene::new(2, 2), 2, |scene, me| {
            for episode in 1..=2 {
                scene.marks[me].set(episode);
                scene.arrive(me);
                scene.rest(me);
                assert_eq!(scene.marks[1 - me].get(), episode);
                scene.arrive(me);
                scene.rest(me);
            }
        });
    });
}

/// B1: the writes of a hart before it left are visible after the line.
#[test]
fn line_leaver() {
    Model::new("line_leaver").floor(6).check(|| {
        on_all(Scene::new(2, 2), 2, |scene, me| {
            if me == 0 {
                scene.marks[0].set(1);
                scene.lines.exclude(0, LINE, &scene.board);
            } else {
                scene.arrive(1);
                scene.spin(1);
                assert_eq!(scene.marks[0].get(), 1);
            }
        });
    });
}

/// B2: the last to arrive rings a hart that was included concurrently.
#[test]
fn line_rings() {
    Model::new("line_rings").floor(500).check(|| {
        on_all(Scene::new(2, 1), 2, |scene, me| {
            if me == 1 {
                scene.lines.include(1, LINE);
                scene.arrive(1);
                scene.rest(1);
                scene.lines.exclude(1, LINE, &scene.board);
            } else {
                scene.lines.exclude(0, LINE, &scene.board);
            }
        });
    });
}

/// B3: what the last holder of a line did is seen by the next.
#[test]
fn line_claim() {
    Model::new("line_claim").floor(3).check(|| {
        let scene = Scene::new(2, 0);
        // The others are taken.
        while scene.lines.claim().is_some() {}
        on_all(scene, 2, |scene, me| {
            if me == 0 {
                scene.marks[0].set(1);
                scene.lines.give_back(LINE);
            } else if scene.lines.claim().is_some() {
                assert_eq!(scene.marks[0].get(), 1);
            }
        });
    });
}

/// P1: a hart that becomes a worker while that is awoken does not sleep through it.
#[test]
fn awake_early() {
    const WORKER: WorkerId = WorkerId(0);
    Model::new("awake_early").floor(90).check(|| {
        let chip = Arc::new(Manycore::new(Harts::new(2), 2, 1));
        let mark = Arc::new(Mark::default());
        let (theirs, marked) = (Arc::clone(&chip), Arc::clone(&mark));
        let other = thread::spawn(move || {
            be(1);
            // SAFETY: no other hart is this worker.
            unsafe { theirs.set_current(Some(WORKER)) };
            theirs.park(WORKER);
            assert_eq!(marked.get(), 1, "awake without the cause");
            // SAFETY: the hart stops acting as a worker here.
            unsafe { theirs.set_current(None) };
        });
        be(0);
        mark.set(1);
        chip.unpark(WORKER);
        other.join().unwrap();
    });
}
