//! Phasers under random schedules: phase order and progress, for up to a dozen tasks.
#![cfg(tautline_shuttle)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use tautline_core::phaser::{Config, Mode, Phaser, Registration};
use tautline_core::port::Spin;
use tautline_exhibits::phaser::{Flat, Tiered, Tiers};
use tautline_exhibits::printed::Printed;
use tautline_verify::phased::{
    Blocking, Lines, Real, Scenario, Subject, Violations, Way, all, run, windows,
};
use tautline_verify::schedules::Schedules;

/// More steps than any schedule without a deadlock takes.
const STEPS: usize = 50_000;

fn schedules(way: &str, scenario: &Scenario, count: u64) -> Schedules {
    let name = format!("{way}_{}", scenario.name);
    Schedules::new(name.leak()).count(count).steps(STEPS)
}

/// Checks each of them, two concurrently.
fn each(scenarios: Vec<Scenario>, check: impl Fn(Scenario) + Sync) {
    let left = Mutex::new(scenarios);
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let work = || {
        while let Some(scenario) = next() {
            check(scenario);
        }
    };
    thread::scope(|s| {
        s.spawn(work);
        work();
    });
}

fn check<S: Subject>(
    way: &str,
    scenario: Scenario,
    count: u64,
    create: impl Fn(usize, Mode) -> S + Send + Sync + 'static,
) {
    let violations = Violations::default();
    schedules(way, &scenario, count).check(move || run(&scenario, &violations, &create));
}

fn real(scenario: Scenario, name: &str, way: Way) {
    check(name, scenario, 20_000, move |degree, mode| {
        Real::create(Spin, degree, mode, way)
    });
}

#[test]
fn a_waiting_task_helps_immediately() {
    let way = Way::Spinning { help_after: 0 };
    each(all(), |scenario| real(scenario, "helping", way));
}

#[test]
fn masters_gather() {
    each(all(), |scenario| {
        let help_after = if scenario.needs_help { 50 } else { u32::MAX };
        real(scenario, "masters", Way::Spinning { help_after });
    });
}

#[test]
fn a_parked_task_is_woken() {
    each(all(), |scenario| real(scenario, "parked", Way::Parked));
}

#[test]
fn a_task_that_parks_later_is_woken() {
    each(all(), |scenario| {
        real(scenario, "tiring", Way::Tiring { polls: 3 });
    });
}

/// A line carries phases, and regardless of later events no task resumes too early or waits for
/// ever.
#[test]
fn lines_carry_phases() {
    each(windows(), |scenario| {
        let phases = Arc::new(AtomicUsize::new(0));
        let (sum, name, violations) = (phases.clone(), scenario.name, Violations::default());
        let count = 20_000;
        schedules("lines", &scenario, count).check(move || {
            let phaser: Mutex<Option<Phaser<Lines>>> = Mutex::default();
            run(&scenario, &violations, |degree, mode| {
                let way = Way::Spinning { help_after: 0 };
                let task = Real::create(Lines::default(), degree, mode, way);
                *phaser.lock().unwrap() = Some(task.task().phaser());
                task
            });
            let phaser = phaser.into_inner().unwrap().expect("one was made");
            let carried = phaser.census().in_hardware;
            sum.fetch_add(carried, Ordering::Relaxed);
        });
        let mean = phases.load(Ordering::Relaxed) as f64 / count as f64;
        println!("{name}: {mean:.2} phases in hardware a schedule");
        // Not in every schedule: a task that opens the window too late withdraws it.
        assert!(mean > 1.0, "{name}: {mean} phases in hardware");
    });
}

#[test]
fn the_flat_phaser() {
    each(all(), |scenario| {
        check("flat", scenario, 2_000, |_, mode| {
            Blocking(Flat::create(Spin, mode))
        });
    });
}

#[test]
fn the_tiered_phaser() {
    let mut scenarios = all();
    scenarios.retain(|s| !s.has_mode(Mode::Signal));
    each(scenarios, |scenario| {
        for tiers in [1, 2, 3] {
            let name = format!("tiered_{tiers}");
            check(&name, scenario.clone(), 2_000, move |degree, mode| {
                let help_after = 0;
                Blocking(
                    Tiered::create(
                        Spin,
                        mode,
                        Tiers {
                            tiers,
                            degree,
                            help_after,
                        },
                    )
                    .unwrap(),
                )
            });
        }
    });
}

/// Finds a schedule in which a phaser fails in this scenario, by tasks that resume too early or by
/// tasks that never do.
fn fails(way: &str, name: &str, early: bool, create: fn(usize, Mode) -> Printed) {
    let scenario = all().into_iter().find(|s| s.name == name);
    let scenario = scenario.expect("there is such a scenario");
    let violations = Violations::default();
    let counted = violations.clone();
    let found = schedules(way, &scenario, 20_000).find(move || run(&scenario, &counted, create));
    found.expect("the printed phaser has this bug");
    assert_eq!(violations.count() > 0, early, "it fails otherwise");
}

#[test]
fn printed_forgets_a_newcomer() {
    fails("printed", "spawn_into_a_leaf", true, Printed::create);
    fails("mended", "spawn_into_a_leaf", true, Printed::mended);
}

#[test]
fn printed_counts_twice() {
    fails("printed", "drop_masters_5", true, Printed::create);
}

#[test]
fn printed_crosses() {
    fails("printed", "crossed", false, Printed::create);
    fails("mended", "crossed", false, Printed::mended);
}

#[test]
fn printed_has_no_split_phase() {
    fails("printed", "split_phase", false, Printed::create);
    fails("mended", "split_phase", false, Printed::mended);
}

/// With the increments corrected, it does not count twice: nothing else is wrong.
#[test]
fn mended_counts_once() {
    let mut scenarios = all();
    scenarios.retain(|s| s.name.starts_with("drop") || s.name.starts_with("steady"));
    each(scenarios, |scenario| {
        check("mended", scenario, 2_000, Printed::mended)
    });
}

/// The number of successive newcomers.
const NEWCOMERS: usize = 3;
/// The rate at which one of them yields to others.
const DELAY: usize = 30;
const QUESTIONS: usize = 40;

/// A thread queries the phase while a slot of the only leaf passes from a task that has left to a
/// newcomer, and the others continue.
#[test]
fn a_question_ends_no_phase_that_a_newcomer_owes() {
    let next = |task: &mut Registration<Spin>| task.next_blocking().expect("the phases are few");
    let program = move || {
        let first = Registration::create(Spin, Mode::SignalWait, Config::default());
        let mut first = first.expect("the configuration is allowed");
        let mut parent = first.register(Mode::SignalWait).expect("allowed");
        let mut other = first.register(Mode::SignalWait).expect("allowed");
        let (phaser, came) = (parent.phaser(), Arc::new(AtomicUsize::new(0)));
        let (sight, seen) = (Arc::clone(&came), Arc::clone(&came));
        let check = move |came: &AtomicUsize, newcomer| {
            let came = came.load(Ordering::Relaxed);
            assert!(came > newcomer, "newcomer {newcomer} is not waited for");
        };
        let other = shuttle::thread::spawn(move || {
            next(&mut other);
            for newcomer in 0..NEWCOMERS {
                next(&mut other);
                next(&mut other);
                check(&sight, newcomer);
            }
        });
        let parent = shuttle::thread::spawn(move || {
            next(&mut parent);
            for newcomer in 0..NEWCOMERS {
                let mut child = parent.register(Mode::SignalWait).expect("allowed");
                let came = Arc::clone(&came);
                let child = shuttle::thread::spawn(move || {
                    next(&mut child);
                    (0..DELAY).for_each(|_| shuttle::thread::yield_now());
                    came.fetch_add(1, Ordering::Relaxed);
                    next(&mut child);
                });
                next(&mut parent);
                next(&mut parent);
                check(&seen, newcomer);
                child.join().expect("no panic");
            }
        });
        drop(first);
        for _ in 0..QUESTIONS {
            _ = phaser.phase();
        }
        for thread in [parent, other] {
            thread.join().expect("no panic");
        }
    };
    Schedules::new("question_newcomer")
        .count(20_000)
        .steps(STEPS)
        .check(program);
}
