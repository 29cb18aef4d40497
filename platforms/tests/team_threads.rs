//! Phasers and accumulators of the threads of all ranks.

mod ranks;

use ranks::mixed;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use tautline::phaser::Mode;
use tautline::world;

#[test]
fn no_thread_leaves_early() {
    const PHASES: usize = 12;
    for (ranks, threads) in [(2, 1), (2, 2)] {
        let signalled: [AtomicU32; PHASES] = [const { AtomicU32::new(0) }; PHASES];
        let all = ranks * threads;
        world::loopback(ranks, |world| {
            let mut team = world.team();
            let mut first = team.phaser_for_threads(threads as usize).expect("all make it");
            thread::scope(|scope| {
                for number in 0..threads {
                    let mut own = first.register(Mode::SignalWait).expect("a child");
                    let signalled = &signalled;
                    scope.spawn(move || {
                        for (phase, count) in signalled.iter().enumerate() {
                            count.fetch_add(1, Relaxed);
                            own.next_blocking().expect("a phase");
                            assert_eq!(count.load(Relaxed), all, "phase {phase} {number}");
                        }
                    });
                }
                drop(first);
            });
        });
    }
    _ = mixed(1, 2);
}
