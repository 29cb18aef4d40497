//! The ports and the barrier lines on a board whose harts are threads.

mod board;
#[path = "board/pool.rs"]
mod pool;
#[path = "../../../core/tests/phaser/program.rs"]
mod program;

use board::{Threads, be};
use pool::on_pool;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use tautline_core::WorkerId;
use tautline_core::port::{Barrier, Line, Park, Relax, Thread, Unpark};
use tautline_core::task::Cx;
use tautline_manycore::{Board, LINES, Manycore};

type Chip = Manycore<Threads>;

const HARTS: usize = 4;

fn chip() -> Chip {
    Manycore::new(Threads::new(HARTS), HARTS, HARTS)
}

/// Runs `body` on all harts, each the worker of its number.
fn on_all(chip: &Chip, body: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for hart in 0..chip.harts() {
            let body = &body;
            scope.spawn(move || {
                be(hart);
                // SAFETY: there is no pool.
                unsafe { chip.set_current(Some(WorkerId(hart as u32))) };
                body(hart);
                // SAFETY: there is no pool.
                unsafe { chip.set_current(None) };
            });
        }
    });
}

fn suspend(chip: &Chip, hart: usize) {
    chip.park(WorkerId(hart as u32));
}

fn awake(chip: &Chip, hart: usize) {
    chip.unpark(WorkerId((hart % HARTS) as u32));
}

/// Waits for a wake-up by the line only: the clock ends no rest.
fn pass(chip: &Chip, line: Line) {
    chip.arrive(line);
    while !chip.is_done(line) {
        chip.board().rest(None);
    }
}

#[test]
fn an_awake_before_the_suspend_makes_it_return() {
    let chip = chip();
    be(0);
    // Before another hart is that worker, too.
    awake(&chip, 0);
    // SAFETY: there is no pool.
    unsafe { chip.set_current(Some(WorkerId(0))) };
    for _ in 0..100 {
        suspend(&chip, 0);
        awake(&chip, 0);
        awake(&chip, 0);
    }
    suspend(&chip, 0);
}

#[test]
fn a_suspend_lasts_until_the_awake() {
    let (chip, turn) = (chip(), AtomicUsize::new(0));
    on_all(&chip, |me| {
        for round in 0..500 {
            let mine = round * HARTS + me;
            if mine > 0 {
                suspend(&chip, me);
            }
            assert_eq!(turn.fetch_add(1, Ordering::Relaxed), mine);
            awake(&chip, me + 1);
        }
    });
}

#[test]
fn five_lines_can_be_claimed() {
    let chip = chip();
    let lines: Vec<_> = (0..LINES).map(|_| chip.claim()).collect();
    assert_eq!(lines.len(), chip.lines());
    assert!(lines.iter().all(Option::is_some));
    assert_eq!(chip.claim(), None);
    chip.give_back(Line(3));
    chip.give_back(Line(1));
    assert_eq!(
        (chip.claim(), chip.claim(), chip.claim()),
        (Some(Line(1)), Some(Line(3)), None)
    );
}

#[test]
fn a_line_waits_for_those_included_only() {
    let chip = chip();
    let line = chip.claim().unwrap();
    let at = |hart| be(hart);
    at(0);
    chip.include(line);
    at(1);
    chip.include(line);
    at(0);
    chip.arrive(line);
    assert!(!chip.is_done(line));
    at(1);
    chip.arrive(line);
    assert!(chip.is_done(line));
    at(0);
    assert!(chip.is_done(line));
    chip.arrive(line);
    at(2);
    chip.include(line);
    at(1);
    chip.exclude(line);
    at(0);
    assert!(
        !chip.is_done(line),
        "it waits for the hart that was included late"
    );
    at(2);
    chip.exclude(line);
    at(0);
    assert!(chip.is_done(line), "the last one missing has left");
}

/// Both wake by the same bit: neither may lose the other's wake-up.
#[test]
fn awakes_and_lines_share_a_bit() {
    let (chip, met) = (chip(), AtomicUsize::new(0));
    let marks = [const { AtomicUsize::new(0) }; HARTS];
    let lines: Vec<_> = (0..LINES).map(|_| chip.claim().unwrap()).collect();
    on_all(&chip, |me| {
        lines.iter().for_each(|&line| chip.include(line));
        met.fetch_add(1, Ordering::AcqRel);
        for turn in 0.. {
            if met.load(Ordering::Acquire) == HARTS {
                break;
            }
            chip.relax(turn);
        }
        for episode in 1..=400 {
            let line = lines[episode % LINES];
            marks[me].store(episode, Ordering::Relaxed);
            awake(&chip, me + 1);
            pass(&chip, line);
            assert!(marks.iter().all(|m| m.load(Ordering::Relaxed) == episode));
            suspend(&chip, me);
            pass(&chip, line);
        }
        lines.iter().for_each(|&line| chip.exclude(line));
    });
}

/// Each hart joins and leaves at random; each meets all harts that are included.
#[test]
fn harts_come_and_go() {
    let chip = chip();
    let line = chip.claim().unwrap();
    let episodes = AtomicU64::new(0);
    on_all(&chip, |me| {
        let mut dice = me as u64 + 1;
        for _ in 0..300 {
            chip.include(line);
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            for _ in 0..dice >> 61 {
                pass(&chip, line);
                episodes.fetch_add(1, Ordering::Relaxed);
            }
            chip.exclude(line);
        }
    });
    assert!(episodes.into_inner() > 0);
    be(0);
    chip.include(line);
    chip.arrive(line);
    assert!(chip.is_done(line), "no other hart is included");
}

/// Fact 52, with the lines of the board.
#[test]
fn the_program_of_all_pools_has_the_same_results() {
    for harts in [1, 2, HARTS] {
        assert_eq!(on_pool(harts, program::program), program::RESULTS);
    }
}

fn fib(cx: &mut Cx<'_, '_, Chip>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

#[test]
fn tasks_run_on_it() {
    let (sum, fibonacci) = on_pool(HARTS, |cx| {
        let sum = AtomicU64::new(0);
        let ended = cx.finish(|cx| {
            for task in 0..20_000 {
                let sum = &sum;
                cx.spawn(move |_| _ = sum.fetch_add(task, Ordering::Relaxed));
            }
        });
        assert!(ended.is_ok());
        (sum.into_inner(), fib(cx, 20))
    });
    assert_eq!((sum, fibonacci), (19_999 * 10_000, 6765));
}
