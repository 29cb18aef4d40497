//! A token that circulates in a ring of tasks: each waits for its left neighbour alone, and signals
//! its right one alone.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline::phaser::PhaserError;
use tautline::prelude::*;

const TASKS: usize = 500;
const ROUNDS: usize = 20;

fn main() -> tautline::Result<()> {
    let token = &AtomicUsize::new(0);
    Runtime::new()?.run(|cx| {
        let phasers = (0..TASKS).map(|_| cx.phaser(Mode::SignalWait));
        let mut phasers = phasers.collect::<Result<Vec<_>, _>>()?;
        for me in 0..TASKS {
            // The last one's right neighbour is the first.
            phasers.rotate_left(1);
            let [.., left, own] = &mut phasers[..] else {
                unreachable!("a ring has two tasks");
            };
            let on = [left.wait_only(), own.signal_only()];
            cx.spawn_phased(on, move |mut task| async move {
                let [left, own] = task.members() else {
                    unreachable!("as many as it was spawned on");
                };
                for round in 0..ROUNDS {
                    if me > 0 {
                        left.next().await.expect("phases to come");
                    }
                    // No other task has the token.
                    assert_eq!(token.load(Relaxed), round * TASKS + me);
                    token.store(round * TASKS + me + 1, Relaxed);
                    own.signal().expect("phases to come");
                    if me == 0 {
                        left.next().await.expect("phases to come");
                    }
                }
            })?;
        }
        Ok::<(), PhaserError>(())
    })?;
    assert_eq!(token.load(Relaxed), TASKS * ROUNDS);
    println!("{ROUNDS} times round a ring of {TASKS} tasks");
    Ok(())
}
