//! Point-to-point synchronization, parking, and independence of the port.

use super::lines::Lines;
use super::ports::{Port, Way, Yield, alarm, config, is_released, on_threads, tasks};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{Accumulator, Op, Registration};
use tautline_core::port::Spin;

/// Fact 49: a ring of tasks, each registered as a producer on one phaser and as a consumer on the
/// previous one.
#[test]
fn a_ring_keeps_its_order() {
    for (n, rounds) in [(2, 300), (8, 100), (64, 10)] {
        for way in Way::ALL {
            let (mut sends, mut receives) = (Vec::new(), Vec::new());
            for _ in 0..n {
                let mut maker = Registration::create(Yield, SignalWait, config(2, 1000)).unwrap();
                sends.push(maker.register(Signal).unwrap());
                receives.push(maker.register(Wait).unwrap());
            }
            receives.rotate_right(1);
            let token = AtomicUsize::new(0);
            thread::scope(|s| {
                for (me, (mut send, mut receive)) in sends.into_iter().zip(receives).enumerate() {
                    let token = &token;
                    s.spawn(move || {
                        for round in 0..rounds {
                            if me > 0 || round > 0 {
                                way.wait(&mut receive);
                            }
                            assert_eq!(token.fetch_add(1, SeqCst), round * n + me);
                            send.signal().unwrap();
                        }
                    });
                }
            });
            assert_eq!(token.into_inner(), rounds * n);
        }
    }
}

/// Fact 51: a task that is woken before it parks does not park.
#[test]
fn awake_before_suspend_is_not_lost() {
    let mut all = tasks(Yield, config(2, 0), &[SignalWait, SignalWait, Wait]);
    for phase in 0..100 {
        let (rings, waker) = alarm();
        let consumes = phase % 2 == 1;
        let mut signals = |task: usize| all[task].signal().unwrap();
        signals(0);
        let me = if consumes { 2 } else { 0 };
        assert!(all[me].poll_wait(&waker).is_pending());
        all[1].signal().unwrap();
        assert_eq!(rings.rung.load(SeqCst), 1, "woken once");
        thread::park();
        assert!(all[me].poll_wait(&waker).is_ready());
        let others = (0..3).filter(|&other| other != me);
        for other in others {
            assert!(is_released(&mut all[other]));
        }
        assert_eq!(rings.rung.load(SeqCst), 1);
    }
}

/// Fact 51: the most recent waker is woken; that of a deregistered task is not.
#[test]
fn the_last_waker_is_woken() {
    let mut all = tasks(Yield, config(2, 0), &[SignalWait, SignalWait, Wait, Wait]);
    let (old, old_waker) = alarm();
    let (new, new_waker) = alarm();
    let (gone, gone_waker) = alarm();
    assert!(all[2].poll_wait(&old_waker).is_pending());
    assert!(all[2].poll_wait(&new_waker).is_pending());
    assert!(all[3].poll_wait(&gone_waker).is_pending());
    all.pop();
    all[0].signal().unwrap();
    all[1].signal().unwrap();
    let rung = [old, new, gone].map(|a| a.rung.load(SeqCst));
    assert_eq!(rung, [0, 1, 0]);
    assert!(is_released(&mut all[2]));
}

/// Runs one program with all features; returns its results.
fn program<P: Port + Clone>(port: P) -> (Vec<u64>, usize) {
    let (sum, mut adds) = Accumulator::create(port.clone(), Op::Sum, None, config(2, 10)).unwrap();
    let adding: Vec<_> = (0..2).map(|_| adds.register(SignalWait).unwrap()).collect();
    let modes = [SignalWaitSingle, SignalWait, SignalWait, Signal, Wait];
    let mixed = tasks(port.clone(), config(2, 10), &modes);
    let barrier = tasks(port, config(2, 10), &[SignalWait; 3]);
    let singles = AtomicUsize::new(0);
    on_threads(mixed, |_, mut task| {
        for _ in 0..50 {
            match task.mode() {
                SignalWaitSingle => task
                    .next_single_blocking(|| _ = singles.fetch_add(1, SeqCst))
                    .unwrap(),
                _ => task.next_blocking().unwrap(),
            }
        }
    });
    drop(adds);
    on_threads(adding, |_, mut task| {
        for phase in 0..50u64 {
            sum.put(&mut task, phase).unwrap();
            Way::ALL[phase as usize % 3].next(&mut task);
            assert_eq!(sum.get(), 2 * phase);
        }
    });
    let come = AtomicUsize::new(0);
    let seen = on_threads(barrier, |me, mut task| {
        for phase in 1..=50 {
            come.fetch_add(1, SeqCst);
            task.next_blocking().unwrap();
            assert!(come.load(SeqCst) >= 3 * phase);
        }
        me as u64
    });
    (seen, singles.into_inner())
}

/// Fact 52: one program has the same results on the ports of this test, by calls that block. For
/// tasks of pools: `program.rs`.
#[test]
fn programs_are_the_same_on_all_ports() {
    let expected = (vec![0, 1, 2], 50);
    assert_eq!(program(Yield), expected);
    assert_eq!(program(Lines::default()), expected);
    assert_eq!(program(Spin), expected);
}
