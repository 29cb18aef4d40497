//! Phasers under random schedules: order of phases and progress, for up to a dozen tasks.
#![cfg(tautline_shuttle)]

use tautline_core::port::Spin;
use tautline_verify::phased::{Real, Violations, Way, all, run};
use tautline_verify::schedules::Schedules;

fn check(name: &'static str, count: u64, way: Way) {
    for scenario in all() {
        let violations = Violations::default();
        let label = format!("{name}_{}", scenario.name).leak();
        let start = std::time::Instant::now();
        Schedules::new(label).count(count).check(move || {
            run(&scenario, &violations, |degree, mode| {
                Real::create(Spin, degree, mode, way)
            });
        });
        _ = start;
    }
}

#[test]
fn helping() {
    check("helping", 20_000, Way::Spinning { help_after: 0 });
}

#[test]
fn parked() {
    check("parked", 20_000, Way::Parked);
}

#[test]
fn masters() {
    check("masters", 20_000, Way::Spinning { help_after: 50 });
}
