//! Running sums by plain threads, in steps of 1, 2, 4, ...: a phaser is the barrier between two
//! steps. A long wait parks its thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use tautline::phaser::{self, Mode, Waiter};

const THREADS: usize = 4;
const N: usize = 1 << 16;

fn main() -> tautline::Result<()> {
    let numbers = || (0..N).map(|i| AtomicU64::new(i as u64)).collect::<Vec<_>>();
    let sums = &[numbers(), numbers()];
    let mut first = phaser::for_threads(THREADS, Mode::SignalWait)?;
    thread::scope(|scope| {
        for me in 0..THREADS {
            let mut task = first.register(Mode::SignalWait)?;
            scope.spawn(move || {
                let waiter = Waiter::here();
                for step in 0..N.ilog2() {
                    let (old, new) = (&sums[step as usize % 2], &sums[1 - step as usize % 2]);
                    for i in (me..N).step_by(THREADS) {
                        let left = i
                            .checked_sub(1 << step)
                            .map_or(0, |at| old[at].load(Relaxed));
                        new[i].store(old[i].load(Relaxed) + left, Relaxed);
                    }
                    waiter.next(&mut task).expect("phases to come");
                }
            });
        }
        // The threads continue without the one that registered them.
        drop(first);
        Ok::<(), tautline::Error>(())
    })?;
    let sums = &sums[N.ilog2() as usize % 2];
    let expected = |i: usize| (i * (i + 1) / 2) as u64;
    assert!((0..N).all(|i| sums[i].load(Relaxed) == expected(i)));
    println!("{N} running sums by {THREADS} threads");
    Ok(())
}
