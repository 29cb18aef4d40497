//! The calls: as tasks of real ranks make them, and as programs of the simulator.

use std::time::Instant;
use tautline::Result;
use tautline::phaser::PhaserError;
use tautline::runtime::Cx;
use tautline::team::Team;
use tautline::world::Rank;
use tautline_sim::memory::XEON;
use tautline_sim::teams::{Hybrid, TeamCosts, TeamOp, Teamed};

/// A call.
pub(super) struct Call {
    pub(super) name: &'static str,
    /// The costs that it gives at a number of ranks, for which it is not predicted.
    gives: Option<(u32, &'static str)>,
    /// The programs of the simulator that take its time together.
    programs: &'static [Simulated],
    /// Returns the nanoseconds of each of a number of calls at this rank.
    pub(super) measure: fn(&mut Cx<'_, '_>, &mut Team, u64) -> Result<f64>,
}

/// A program of the simulator.
pub(super) enum Simulated {
    Call(TeamOp),
    /// A phase of a task of each rank, on a described node.
    Phase,
}

use Simulated::Phase;
/// The services in an all-to-all of the ranks that give them.
pub(super) const SERVICES: u32 = super::RANKS[1] - 1;

/// As the library does, ranks meet in pairs where they are few, and all calls with a root go up and
/// down the tree of ranks: their time is that of an all-reduce along the tree.
#[rustfmt::skip] // A table.
pub(super) const CALLS: [Call; 8] = [
    Call { name: "barrier", gives: Some((super::RANKS[0], "latency + serve")), programs: &[Simulated::Call(TeamOp::AllReducePairs)], measure: barrier },
    Call { name: "all-reduce", gives: None, programs: &[Simulated::Call(TeamOp::AllReducePairs)], measure: all_reduce },
    Call { name: "broadcast", gives: None, programs: &[Simulated::Call(TeamOp::AllReduce)], measure: broadcast },
    Call { name: "all-gather", gives: None, programs: &[Simulated::Call(TeamOp::AllGather)], measure: all_gather },
    Call { name: "scan", gives: None, programs: &[Simulated::Call(TeamOp::Scan)], measure: scan },
    Call { name: "gather, then scatter", gives: None, programs: &[Simulated::Call(TeamOp::AllReduce), Simulated::Call(TeamOp::AllReduce)], measure: gather_scatter },
    Call { name: "all-to-all", gives: Some((super::RANKS[1], "latency + 3 serve")), programs: &[Simulated::Call(TeamOp::AllToAll)], measure: all_to_all },
    Call { name: "phase of a task a rank", gives: None, programs: &[Phase], measure: phase },
];

impl Call {
    /// Returns the costs that it gives at this number of ranks.
    pub(super) fn gives(&self, ranks: u32) -> Option<&'static str> {
        let (of, costs) = self.gives?;
        (of == ranks).then_some(costs)
    }

    /// Returns the simulated nanoseconds.
    pub(super) fn predicted_ns(&self, costs: TeamCosts) -> u64 {
        let ns = |program: &Simulated| match program {
            Simulated::Call(call) => Teamed::of(costs).run(*call).ns,
            Phase => {
                let hybrid = Hybrid {
                    costs,
                    tasks: 1,
                    machine: XEON,
                    radix: None,
                    skew_ns: 0,
                };
                hybrid.run().ns()
            }
        };
        self.programs.iter().map(ns).sum()
    }
}

/// Calls that are not measured, of this number of measured ones.
fn warm_up(calls: u64) -> u64 {
    calls.div_ceil(10)
}

/// Makes numbered calls; returns nanoseconds of each.
fn each(calls: u64, mut call: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let before = warm_up(calls);
    (0..before).try_for_each(&mut call)?;
    let begun = Instant::now();
    (before..before + calls).try_for_each(&mut call)?;
    Ok(begun.elapsed().as_nanos() as f64 / calls as f64)
}

/// Returns the sum of `number + rank` over the first `ranks` ranks.
fn sum(number: u64, ranks: u32) -> u64 {
    (0..u64::from(ranks)).map(|rank| number + rank).sum()
}

fn barrier(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    each(calls, |_| team.barrier().wait(cx))
}

/// Broadcasts of all ranks in turn.
fn broadcast(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let ranks = u64::from(team.ranks());
    each(calls, |number| {
        let root = Rank((number % ranks) as u32);
        let own = if team.rank() == root { number } else { 0 };
        assert_eq!(team.broadcast(root, own).wait(cx)?, number);
        Ok(())
    })
}

fn all_reduce(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let (here, ranks) = (team.rank().0, team.ranks());
    each(calls, |number| {
        let own = number + u64::from(here);
        let all = team.all_reduce(own, |a, b| a + b).wait(cx)?;
        assert_eq!(all, sum(number, ranks));
        Ok(())
    })
}

fn all_gather(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let (here, ranks) = (team.rank().0, team.ranks());
    each(calls, |number| {
        let all = team.all_gather(number + u64::from(here)).wait(cx)?;
        assert_eq!(all.iter().sum::<u64>(), sum(number, ranks));
        Ok(())
    })
}

fn scan(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let here = team.rank().0;
    each(calls, |number| {
        let own = number + u64::from(here);
        let before = team.scan(own, |a, b| a + b).wait(cx)?;
        assert_eq!(before, (here > 0).then(|| sum(number, here)));
        Ok(())
    })
}

fn gather_scatter(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let (here, ranks) = (team.rank().0, team.ranks());
    each(calls, |number| {
        let own = number + u64::from(here);
        let all = team.gather(Rank(0), own).wait(cx)?.unwrap_or_default();
        if here == 0 {
            assert_eq!(all.iter().sum::<u64>(), sum(number, ranks));
        }
        assert_eq!(team.scatter(Rank(0), all).wait(cx)?, own);
        Ok(())
    })
}

fn all_to_all(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let (here, ranks) = (u64::from(team.rank().0), u64::from(team.ranks()));
    each(calls, |number| {
        let own = (0..ranks).map(|to| number + to).collect();
        let all = team.all_to_all(own).wait(cx)?;
        assert_eq!(all.iter().sum::<u64>(), ranks * (number + here));
        Ok(())
    })
}

fn phase(cx: &mut Cx<'_, '_>, team: &mut Team, calls: u64) -> Result<f64> {
    let ended = cx.scope(|cx| {
        let mut barrier = team.phaser(cx)?;
        let spawned = cx.spawn_phased_value(barrier.signal_wait(), async move |mut task| {
            for _ in 0..warm_up(calls) {
                task.next().await?;
            }
            let begun = Instant::now();
            for _ in 0..calls {
                task.next().await?;
            }
            Ok::<_, PhaserError>(begun.elapsed().as_nanos() as f64 / calls as f64)
        })?;
        drop(barrier);
        Ok::<_, tautline::Error>(spawned.join(cx))
    });
    Ok(ended?.expect("the task does not panic")?)
}
