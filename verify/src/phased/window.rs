//! Programs for barrier lines: some phases without events first, so that a line can take over.

use super::scenario::{Habit, Scenario, Step, barrier, phases};
use std::sync::Arc;
use tautline_core::phaser::Mode;

/// Phases without events, in which a line takes over.
pub(super) const LEAD: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Event {
    Early,
    Drop,
    Spawn(Mode),
}

use Event::{Drop, Early, Spawn};
const JOINS: Event = Spawn(Mode::SignalWait);

/// The events in the phases after the lead.
type Events = &'static [(usize, Event)];

fn task(count: usize, events: Events) -> Arc<[Step]> {
    let mut steps = vec![Step::Next(0); LEAD];
    for phase in 0..count {
        match events.iter().find(|(at, _)| *at == phase) {
            Some((_, Drop)) => {
                steps.push(Step::Drop(0));
                break;
            }
            Some((_, Early)) => steps.push(Step::Early(0)),
            Some((_, Spawn(mode))) => {
                let child = phases(count - phase, Habit::default());
                steps.push(Step::Spawn(0, *mode, child));
            }
            None => {}
        }
        steps.push(Step::Next(0));
    }
    steps.into()
}

fn of(name: &'static str, count: usize, tasks: &[Events]) -> Scenario {
    barrier(name, tasks.iter().map(|events| task(count, events)))
}

/// Returns eight programs of three or four tasks.
pub fn windows() -> Vec<Scenario> {
    vec![
        of("window_steady", 5, &[&[], &[], &[]]),
        of(
            "window_spawn_signal",
            6,
            &[&[(1, Spawn(Mode::Signal))], &[], &[]],
        ),
        of("window_spawn", 8, &[&[(1, JOINS)], &[], &[]]),
        of("window_two_spawn", 8, &[&[(0, JOINS)], &[(0, JOINS)], &[]]),
        of(
            "window_early",
            8,
            &[&[(1, Early), (2, Early)], &[(2, Early)], &[(4, Early)]],
        ),
        of("window_drops", 6, &[&[(2, Drop)], &[(3, Drop)], &[]]),
        of(
            "window_mix_1",
            9,
            &[
                &[(1, Early), (4, Drop)],
                &[(2, JOINS)],
                &[(3, Early)],
                &[(5, JOINS)],
            ],
        ),
        of(
            "window_mix_2",
            10,
            &[
                &[(1, JOINS), (3, JOINS)],
                &[(2, Early), (4, Drop)],
                &[(5, Early), (6, Early)],
            ],
        ),
    ]
}
