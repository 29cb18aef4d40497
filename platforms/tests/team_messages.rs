//! Messages of teams, counted at the links.
//!
//! A rank that waits for long sends a question, also because its thread has no processor; of two
//! messages that wait together one parcel is made. So the ranks are few, and one of several runs
//! must have the count of the algorithm.
//! `core/tests/collective.rs` counts those of many ranks.

mod ranks;

use ranks::{mixed, runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};
use tautline::phaser::{Mode, Op};
use tautline::prelude::*;
use tautline::team::{Team, handler};
use tautline::world::{Rank, World};
use tautline_core::port::{Bell, Link, Lost};
use tautline_node::Loopback;

/// Runs until one of few and one of many calls differ as expected: others send questions and
/// answers, too, where a rank waits for long.
const RUNS: u32 = 100;

/// A link that counts the parcels of its rank.
struct Counted {
    link: Loopback,
    parcels: Arc<AtomicU64>,
}

impl Link for Counted {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.parcels.fetch_add(1, SeqCst);
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.link.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// Returns the parcels that each rank has sent while all run `program`.
fn parcels(ranks: u32, program: impl Fn(&mut Cx<'_, '_>, &mut Team) + Sync) -> Vec<u64> {
    parcels_of(ranks, |world| {
        runtime(world, 1).run(|cx| program(cx, &mut world.team()));
    })
}

/// As [`parcels`], without a runtime.
fn parcels_of(ranks: u32, program: impl Fn(&World) + Sync) -> Vec<u64> {
    let counts: Vec<_> = (0..ranks).map(|_| Arc::<AtomicU64>::default()).collect();
    let links = Loopback::new(ranks).into_iter().zip(&counts);
    let links = links.map(|(link, parcels)| Counted {
        link,
        parcels: Arc::clone(parcels),
    });
    World::builder().links(links.collect::<Vec<_>>(), |world| program(world));
    counts.iter().map(|count| count.load(SeqCst)).collect()
}

/// Checks the parcels of all ranks for one more of `times`.
fn assert_parcels(
    ranks: u32,
    expected: u32,
    program: impl Fn(&mut Cx<'_, '_>, &mut Team, u64) + Sync,
) {
    assert_parcels_of(ranks, expected, |world, times| {
        runtime(world, 1).run(|cx| program(cx, &mut world.team(), times));
    });
}

/// As [`assert_parcels`], without a runtime.
fn assert_parcels_of(ranks: u32, expected: u32, program: impl Fn(&World, u64) + Sync) {
    const FEW: u64 = 2;
    const MANY: u64 = 12;
    let total = |times| {
        let parcels = parcels_of(ranks, |world| program(world, times));
        parcels.iter().sum::<u64>()
    };
    let more = (MANY - FEW) * u64::from(expected);
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        few.push(total(FEW));
        many.push(total(MANY));
        let mut pairs = few
            .iter()
            .flat_map(|few| many.iter().map(move |many| (few, many)));
        if pairs.any(|(few, many)| few + more == *many) {
            return;
        }
    }
    panic!("{ranks} ranks, {expected} each: {few:?}, {many:?}");
}

/// Messages of an exchange in pairs, to which the ranks beyond a power of two are added.
fn in_pairs(ranks: u32) -> u32 {
    let paired = 1 << ranks.ilog2();
    paired * ranks.ilog2() + 2 * (ranks - paired)
}

#[test]
fn few_ranks_exchange_in_pairs() {
    for ranks in [2, 3, 4] {
        let expected = in_pairs(ranks);
        assert_parcels(ranks, expected, |cx, team, times| {
            (0..times).for_each(|_| team.barrier().wait(cx).expect("all live"));
        });
        assert_parcels(ranks, expected, |cx, team, times| {
            for _ in 0..times {
                let sum = team.all_reduce(1u32, |a, b| a + b).wait(cx);
                assert_eq!(sum.expect("all live"), team.ranks());
            }
        });
        assert!(expected <= ranks * ranks.next_power_of_two().ilog2());
    }
}

/// Chatterjee, acceptance fact 53: exactly one exchange a phase and rank, for any number of tasks.
#[test]
fn one_exchange_a_phase() {
    for (ranks, tasks) in [(2, 1), (2, 4), (3, 2)] {
        assert_parcels(ranks, in_pairs(ranks), |cx, team, times| {
            cx.scope(|cx| {
                let (sum, mut member) = team.accumulator::<u32>(cx, Op::Sum).expect("all live");
                for _ in 0..tasks {
                    let sum = sum.clone();
                    let spawned = cx.spawn_phased(member.signal_wait(), async move |mut task| {
                        for _ in 0..times {
                            sum.put(&mut task, 1).expect("registered");
                            task.next().await.expect("a phase");
                            assert_eq!(sum.get(), ranks * tasks);
                        }
                    });
                    spawned.expect("in the scope");
                }
            });
        });
    }
}

/// The same, for any number of threads.
#[test]
fn one_exchange_a_phase_of_threads() {
    for (ranks, threads) in [(2, 1), (2, 4), (3, 2), (4, 1)] {
        assert_parcels_of(ranks, in_pairs(ranks), |world, times| {
            let made = world
                .team()
                .accumulator_for_threads::<u32>(threads as usize, Op::Sum);
            let (sum, mut first) = made.expect("all live");
            thread::scope(|scope| {
                for number in 0..threads {
                    let mut own = first.register(Mode::SignalWait).expect("signal-wait");
                    let sum = sum.clone();
                    scope.spawn(move || {
                        for phase in 0..times {
                            sum.put(&mut own, 1 + number).expect("registered");
                            own.next_blocking().expect("a phase");
                            let of_rank = threads * (threads + 1) / 2;
                            assert_eq!(sum.get(), ranks * of_rank, "phase {phase}");
                        }
                    });
                }
                drop(first);
            });
        });
    }
}

/// A finish in which nothing is spawned: reports up the tree, and its end down.
#[test]
fn an_empty_finish() {
    for ranks in [2, 3] {
        assert_parcels(ranks, 2 * (ranks - 1), |cx, team, times| {
            let nothing = handler(|_, _, (): ()| ());
            for _ in 0..times {
                team.finish(cx, &nothing, |_, _| ()).expect("all live");
            }
        });
    }
}

/// Saraswat, acceptance fact 7: a rank reports when it becomes quiet, not for each activity.
#[test]
fn reports_are_bounded_by_quiet_periods() {
    const ALL: u64 = 500;
    let reports = (0..8_u32).map(|run| {
        let (sent, ran) = (AtomicU64::new(0), AtomicU64::new(0));
        let of_ranks = parcels(2, |cx, team| {
            let add = handler(|_, _, n: u64| _ = ran.fetch_add(n, SeqCst));
            let ended = team.finish(cx, &add, |cx, at| {
                if at.rank() == Rank(0) {
                    for n in 0..ALL {
                        at.spawn(cx, Rank(1), &add, mixed(n, run.into()) % 8);
                        sent.fetch_add(1, SeqCst);
                    }
                } else {
                    // Its only worker serves no activity until all have come.
                    let begun = Instant::now();
                    while sent.load(SeqCst) < ALL {
                        assert!(begun.elapsed() < Duration::from_secs(60), "none is sent");
                        thread::yield_now();
                    }
                }
            });
            ended.expect("all live");
        });
        let expected = (0..ALL).map(|n| mixed(n, run.into()) % 8).sum::<u64>();
        assert_eq!(ran.into_inner(), expected);
        of_ranks[1]
    });
    let least = reports.min().expect("a run");
    // Besides: those of the channel's begin and end, and the report of its body.
    let others = parcels(2, |cx, team| {
        let nothing = handler(|_, _, (): ()| ());
        team.finish(cx, &nothing, |_, _| ()).expect("all live");
    })[1];
    assert!(
        least <= others + 2,
        "{least} parcels, {others} without activities"
    );
}
