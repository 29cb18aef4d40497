//! Failures of the tree phaser as printed, which loom must find; and models of the reference
//! phasers.
//!
//! A forgotten newcomer requires more threads than loom can explore: random schedules find it
//! (`phased.rs`).
#![cfg(tautline_loom)]

#[path = "phaser/mark.rs"]
mod mark;
#[path = "exhibits/phasers.rs"]
mod phasers;

use std::sync::Arc;
use std::time::Instant;
use tautline_core::phaser::Mode::{self, SignalWait};
use tautline_exhibits::phaser::{Flat, Tiered, Tiers};
use tautline_exhibits::printed::Printed;
use tautline_verify::model::{Model, Turns};
use tautline_verify::phased::Step::{self, Drop, Next, Signal, Spawn, Wait};
use tautline_verify::phased::{Blocking, Scenario, Subject, Violations, run};

fn scenario(name: &'static str, phasers: usize, tasks: &[&[Step]]) -> Scenario {
    Scenario {
        name,
        degree: 2,
        phasers,
        tasks: tasks.iter().map(|t| (SignalWait, Arc::from(*t))).collect(),
        needs_help: false,
    }
}

/// Three tasks in two leaves; the first one, which gathers one of them, deregisters.
fn master_drops() -> Scenario {
    scenario(
        "master_drops",
        1,
        &[&[], &[Next(0), Next(0)], &[Next(0), Next(0)]],
    )
}

/// Two tasks that wait on two phasers in opposite orders; each gathers one of the trees that the
/// other waits for.
fn crossed() -> Scenario {
    let task = |[a, b]: [usize; 2]| [Signal(a), Signal(b), Wait(a), Wait(b)];
    scenario("crossed", 2, &[&task([0, 1]), &task([1, 0])])
}

/// A task whose leaf has lost its master.
fn second_of_two(degree: usize, mode: Mode) -> Printed {
    Printed::create(degree, mode).register(mode)
}

/// Checks that the printed phaser fails, by a task that resumes too early or by tasks that never
/// do.
fn fails(scenario: Scenario, bound: usize, early: bool, create: fn(usize, Mode) -> Printed) {
    let (name, start) = (scenario.name, Instant::now());
    let violations = Violations::default();
    let counted = violations.clone();
    let found = Model::new(name)
        .bound(bound)
        .find(move || run(&scenario, &counted, create));
    let executions = found.expect("the printed phaser has this bug");
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "MODEL printed_{name} executions={executions} floor=1 bound={bound} seconds={seconds:.2}"
    );
    assert_eq!(violations.count() > 0, early, "it fails otherwise");
}

#[test]
fn printed_master_drops() {
    fails(master_drops(), 2, true, Printed::create);
}

#[test]
fn printed_crossed() {
    fails(crossed(), 1, false, second_of_two);
}

fn holds<S: Subject>(
    model: Model,
    scenario: Scenario,
    create: impl Fn(usize, Mode) -> S + Send + Sync + 'static,
) {
    let violations = Violations::default();
    model.check(move || run(&scenario, &violations, &create));
}

fn flat(_: usize, mode: Mode) -> Blocking<Flat<Turns>> {
    Blocking(Flat::create(Turns(2), mode))
}

fn tiered(degree: usize, mode: Mode) -> Blocking<Tiered<Turns>> {
    let shape = Tiers {
        tiers: 2,
        degree,
        help_after: 0,
    };
    Blocking(Tiered::create(Turns(2), mode, shape).expect("the shape is allowed"))
}

fn steady() -> Scenario {
    let phases: &[Step] = &[Next(0)];
    scenario("steady", 1, &[phases; 3])
}

fn drops() -> Scenario {
    scenario(
        "drops",
        1,
        &[&[Next(0), Drop(0)], &[Next(0), Next(0)], &[Drop(0)]],
    )
}

fn registers() -> Scenario {
    let child = Spawn(0, SignalWait, Arc::from([Next(0)]));
    scenario("registers", 1, &[&[child, Next(0)], &[Next(0)]])
}

#[test]
fn flat_barrier() {
    holds(
        Model::new("flat_barrier").bound(2).floor(20_000),
        steady(),
        flat,
    );
}

#[test]
fn flat_registers() {
    holds(
        Model::new("flat_registers").bound(2).floor(15_000),
        registers(),
        flat,
    );
}

#[test]
fn tiered_barrier() {
    holds(
        Model::new("tiered_barrier").bound(1).floor(5_000),
        steady(),
        tiered,
    );
}

#[test]
fn tiered_drops() {
    holds(
        Model::new("tiered_drops").bound(2).floor(15_000),
        drops(),
        tiered,
    );
}

#[test]
fn tiered_registers() {
    holds(
        Model::new("tiered_registers").bound(1).floor(5_000),
        registers(),
        tiered,
    );
}
