//! The shape of the tree, and the masters of its nodes.

use super::ports::{Yield, config, is_released, on_threads, tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use tautline_core::phaser::Mode::{Signal, SignalWait, Wait};
use tautline_core::phaser::Registration;
use tautline_core::port::{Barrier, Relax};

/// Fact 42: ceil(n / D) leaves, and the least number of levels, at least one.
#[test]
fn the_tree_is_as_low_as_it_can_be() {
    for degree in 2..=8 {
        let mut first = Registration::create(Yield, SignalWait, config(degree, 0)).unwrap();
        let phaser = first.phaser();
        let mut rest = Vec::new();
        for n in 1..=200usize {
            let (mut levels, mut reach) = (1, degree);
            while reach < n {
                reach *= degree;
                levels += 1;
            }
            let census = phaser.census();
            assert_eq!(census.leaves, n.div_ceil(degree), "n = {n}, D = {degree}");
            assert_eq!(census.levels, levels, "n = {n}, D = {degree}");
            // Wait-only tasks have no slot in the tree.
            drop(first.register(Wait).unwrap());
            let mode = if n % 3 == 0 { Signal } else { SignalWait };
            rest.push(first.register(mode).unwrap());
        }
    }
}

/// Facts 42 and 43: slots are reused, so the tree does not grow if the number of tasks does not.
#[test]
fn places_are_used_again() {
    for drops_early in [false, true] {
        let mut first = Registration::create(Yield, SignalWait, config(2, 0)).unwrap();
        let phaser = first.phaser();
        for _ in 0..200 {
            for _ in 0..7 {
                let mut child = first.register(SignalWait).unwrap();
                if drops_early {
                    child.signal().unwrap();
                }
            }
            first.next_blocking().unwrap();
        }
        assert_eq!(phaser.census().phases, 200);
        assert_eq!(
            phaser.census().leaves,
            1,
            "one slot is enough for one task at a time"
        );
    }
}

/// Fact 41: any number of producers in trees of any degree; each is waited for.
#[test]
fn any_number_of_producers() {
    for degree in [2, 3, 4, 8, 1024] {
        let mut modes = vec![Signal; 1 + 300];
        modes[0] = SignalWait;
        let mut all = tasks(Yield, config(degree, 0), &modes);
        let mut member = all.remove(0);
        assert!(!all.iter().any(Registration::is_master));
        for round in 0..3 {
            member.signal().unwrap();
            let last = all.len() - 1;
            for (i, producer) in all.iter_mut().enumerate() {
                if i % 37 == 0 || i == last {
                    assert!(
                        !is_released(&mut member),
                        "D = {degree}, round {round}, {i}"
                    );
                }
                producer.signal().unwrap();
            }
            assert!(is_released(&mut member), "D = {degree}, round {round}");
        }
    }
}

/// Fact 44: a task is the master of at most one node, on its path to the root, and only if it
/// signals and waits. Fact 45: a task that signals later replaces a master that deregisters.
#[test]
fn masters_gather_on_their_own_way() {
    let modes = [
        SignalWait, Signal, Signal, Signal, SignalWait, SignalWait, SignalWait,
    ];
    let mut all = tasks(Yield, config(4, 0), &modes);
    let masters = |all: &[Registration<Yield>]| -> Vec<bool> {
        all.iter().map(Registration::is_master).collect()
    };
    let phase = |all: &mut [Registration<Yield>]| {
        all.iter_mut().for_each(|t| t.signal().unwrap());
        assert!(all.iter_mut().all(is_released));
    };
    // The first leaf, the second one, the root; none is left for the last task.
    assert_eq!(
        masters(&all),
        [true, false, false, false, true, true, false]
    );
    drop(all.remove(0));
    for _ in 0..5 {
        phase(&mut all);
        assert_eq!(
            masters(&all),
            [false, false, false, true, true, false],
            "the first leaf is not on its path"
        );
    }
    drop(all.remove(3));
    assert_eq!(masters(&all), [false, false, false, true, false]);
    phase(&mut all);
    assert_eq!(
        masters(&all),
        [false, false, false, true, true],
        "it has the second leaf now"
    );
    // A newcomer in the first leaf.
    let new = all[3].register(SignalWait).unwrap();
    assert!(new.is_master());
}

/// In a barrier whose nodes all have masters, no node is gathered by another task. That masters use
/// plain stores is tested where accesses are counted: `a_steady_tree_updates_one_word` among the
/// tests in virtual time.
#[test]
fn a_steady_barrier_needs_no_help() {
    for (degree, n) in [(2, 4), (3, 9), (4, 4), (8, 2)] {
        let all = tasks(Yield, config(degree, u32::MAX), &vec![SignalWait; n]);
        let phaser = all[0].phaser();
        on_threads(all, |_, mut task| {
            (0..300).for_each(|_| task.next_blocking().unwrap());
        });
        let census = phaser.census();
        assert_eq!((census.phases, census.helped), (300, 0), "D = {degree}");
    }
}

/// Fact 45: masters deregister one after the other, with threads.
#[test]
fn masters_go_one_after_the_other() {
    const N: usize = 8;
    let all = tasks(Yield, config(2, 50), &[SignalWait; N]);
    let come: [AtomicUsize; N] = Default::default();
    on_threads(all, |me, mut task| {
        for phase in 0..50 * (me + 1) {
            come[me].store(phase + 1, SeqCst);
            task.next_blocking().unwrap();
            let there = come
                .iter()
                .enumerate()
                .filter(|(index, _)| phase < 50 * (index + 1));
            there.for_each(|(_, c)| assert!(c.load(SeqCst) > phase));
        }
        assert!(me < N - 1 || task.is_master(), "alone, it has a node");
    });
}

/// Records how the latest turn waited.
#[derive(Clone)]
struct Latest(Arc<AtomicU32>);

const SPUN: u32 = 1;
const YIELDED: u32 = 2;

impl Relax for Latest {
    fn relax(&self, _: u32) {
        self.0.store(SPUN, SeqCst);
    }

    fn yield_now(&self, _: u32) {
        self.0.store(YIELDED, SeqCst);
    }
}

impl Barrier for Latest {}

/// With oversubscribed processors, only a task that lacks a single signal spins.
#[test]
fn a_wait_for_more_than_one_signal_yields_at_once() {
    for (degree, n) in [(2, 2), (2, 7), (4, 4), (8, 20)] {
        let latest = Arc::new(AtomicU32::new(0));
        let port = Latest(Arc::clone(&latest));
        let mut all = tasks(port, config(degree, 0), &vec![SignalWait; n]);
        for phase in 0..3 {
            for (me, task) in all.iter_mut().enumerate() {
                let over = task.next_while(|looks| looks == 0).unwrap();
                assert_eq!(over, me + 1 == n);
                // In the first phase all tasks but the first are newcomers.
                if !over && phase > 0 {
                    let how = if me + 2 < n { YIELDED } else { SPUN };
                    assert_eq!(latest.load(SeqCst), how, "D = {degree}, {me} of {n}");
                }
            }
            all.iter_mut()
                .take(n - 1)
                .for_each(|task| task.wait_blocking().unwrap());
        }
    }
}
