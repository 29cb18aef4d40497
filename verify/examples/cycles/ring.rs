//! A signal that circulates in a ring of tasks: one phaser from each to the next.

use super::phasers::{NEVER, sleep};
use std::sync::{Arc, Mutex};
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::Clock;
use tautline_verify::virtual_time::{Port, Virtual};

/// Rounds before the first that counts, and in all.
const ROUNDS: [usize; 2] = [3, 23];

/// The registrations of a task of the ring: it waits on one phaser, and signals on the next.
struct Place {
    before: Registration<Port>,
    after: Registration<Port>,
}

fn places(port: &Port, tasks: usize) -> Vec<Option<Place>> {
    let config = Config {
        degree: 2,
        help_after: NEVER,
        ..Config::default()
    };
    let links = (0..tasks).map(|_| {
        let create = Registration::create(port.clone(), Mode::SignalWait, config);
        let mut link = create.expect("a degree that is allowed");
        let [signals, waits] = [Mode::Signal, Mode::Wait].map(|mode| link.register(mode));
        (signals.ok(), waits.ok())
    });
    let (after, mut before): (Vec<_>, Vec<_>) = links.unzip();
    before.rotate_right(1);
    let both = |(before, after): (Option<_>, Option<_>)| {
        Some(Place {
            before: before?,
            after: after?,
        })
    };
    before.into_iter().zip(after).map(both).collect()
}

/// Cycles from one task to the next, if tasks poll until the signal is there, or suspend themselves
/// until they are called.
pub(crate) fn hop(machine: &Virtual, tasks: usize, interrupts: bool) -> u64 {
    let seats = Mutex::new(Vec::new());
    let marks = Arc::new(Mutex::new([0; 2]));
    let kept = Arc::clone(&marks);
    machine.run(tasks, move |port| {
        let me = port.thread();
        if me == 0 {
            let all = places(port, tasks);
            *seats.lock().unwrap() = all;
            (1..tasks).for_each(|thread| port.awake(thread));
        } else {
            port.suspend();
        }
        let place = seats.lock().unwrap()[me].take();
        let Place {
            mut before,
            mut after,
        } = place.expect("every thread has a place");
        for round in 0..ROUNDS[1] {
            if me == 0 {
                if round == ROUNDS[0] {
                    kept.lock().unwrap()[0] = port.now();
                }
                after.signal().expect("few phases");
            }
            if interrupts {
                sleep(&mut before, port);
            } else {
                before.wait_blocking().expect("few phases");
            }
            if me > 0 {
                after.signal().expect("few phases");
            }
        }
        if me == 0 {
            kept.lock().unwrap()[1] = port.now();
        }
    });
    let [from, to] = *marks.lock().unwrap();
    (to - from) / (tasks * (ROUNDS[1] - ROUNDS[0])) as u64
}
