//! Random programs over ranks, each compared with a sequential interpreter: whether a transport, a
//! machine or a change of the runtime keeps the promises of [teams](tautline::team).
//!
//! A program is drawn from a seed. All ranks of a team make calls and finishes, in parts and copies
//! of the team and in regions inside regions; in a finish, activities at random ranks start others
//! anywhere, call, send batches, and open finishes of their own, some of which fail by a panic or a
//! cancellation somewhere inside. Ranks record what happens, by the clock of their machine.
//!
//! # Compared
//! - events, with their finishes and ranks: each exactly once; of a finish that fails, at most
//!   once;
//! - the outcome of each finish, at each rank that waits for it;
//! - order: a finish returns after all events inside, and a call that synchronises after all ranks
//!   have entered it;
//! - values of calls and reductions.
//!
//! The clocks of several machines differ, so there the order is compared within each machine only.
//!
//! # A program that fails
//! Its statements are left out, one after the other, while it still fails; [`Program`] lists the
//! rest.
#![forbid(unsafe_code)]

mod compare;
mod expected;
mod log;
mod program;
mod run;
mod shrink;

pub use program::Program;
pub use shrink::shrink;

use crate::random::SplitMix;
use compare::compare;
use expected::Expected;
use log::{Log, Recorded};
use tautline::runtime::Cx;
use tautline::team::Team;
use tautline::world::{Rank, World};
use tautline::{Result, Runtime};

/// Programs to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selftest {
    /// The first is drawn from this number.
    pub seed: u64,
    /// The number of programs.
    pub programs: u64,
    /// Activities that start each other.
    pub depth: u32,
}

impl Selftest {
    /// The greatest depth: there, programs have thousands of events.
    pub const DEPTH_MAX: u32 = 8;

    /// Returns the programs.
    pub fn programs(&self) -> impl Iterator<Item = Program> + use<> {
        let depth = self.depth;
        let seeds = self.seed..self.seed.saturating_add(self.programs);
        seeds.map(move |seed| Program::new(seed, depth))
    }
}

/// The outcome of programs.
#[derive(Clone, Debug, Default)]
pub struct Tested {
    /// Programs that were run.
    pub programs: u64,
    /// Events that the interpreter finds certain: the same on every number of ranks.
    pub events: u64,
    /// A hash of them.
    pub checksum: u64,
    /// Events at other ranks than 0.
    pub elsewhere: u64,
    /// Finishes that failed by a panic.
    pub panics: u64,
    /// Finishes that were cancelled.
    pub cancellations: u64,
    /// Calls of all ranks of a team, and finishes of teams.
    pub teamed: u64,
    /// Events whose times were compared with the return of their finish at a rank.
    pub ordered: u64,
    /// Activities that began while the one before, of another rank, ran.
    pub overlaps: u64,
    /// The first program that fails, and how; the last one that was run.
    pub failed: Option<String>,
}

/// Equal if they are of the same programs and had the same certain events.
impl PartialEq for Tested {
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.programs, it.events, it.checksum, it.failed.is_some());
        of(self) == of(other)
    }
}

/// Runs the programs as a rank of `world`, and returns the outcome at rank 0. Calls `running` with
/// each program before it runs.
///
/// # Errors
/// Those of calls of a team that a program does not expect: they end the test.
pub fn across(
    selftest: &Selftest,
    world: &World,
    runtime: &Runtime,
    running: impl Fn(&Program) + Sync,
) -> Result<Option<Tested>> {
    runtime.run(|cx| {
        let mut team = world.team();
        let mut tested = Tested::default();
        for program in selftest.programs() {
            running(&program);
            if let Some(failure) = attempt(cx, &mut team, &program, &mut tested)? {
                let fails = |program: &Program| {
                    // It may fail in some runs only.
                    for _ in 0..10 {
                        let failure = attempt(cx, &mut team, program, &mut Tested::default())?;
                        if failure.is_some() {
                            return Ok(true);
                        }
                    }
                    Ok(false)
                };
                let least = shrink(&program, fails)?;
                tested.failed = Some(format!("{failure}\n{least}"));
                break;
            }
        }
        Ok(world.is_home().then_some(tested))
    })
}

/// Returns the outcome that [`across`] has if no program fails.
pub fn sequential(selftest: &Selftest) -> Tested {
    let mut tested = Tested::default();
    for program in selftest.programs() {
        tested.count(&Expected::of(&program, 1));
    }
    tested
}

/// Runs a program, and returns at each rank how it fails: in full at rank 0.
fn attempt(
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
    program: &Program,
    tested: &mut Tested,
) -> Result<Option<String>> {
    let log = Log::default();
    run::run(cx, team, program, &log);
    let all = team.gather(Rank(0), log.recorded()).wait(cx)?;
    let failure = all.and_then(|all: Vec<Recorded>| {
        let expected = Expected::of(program, team.ranks());
        tested.count(&expected);
        tested.elsewhere += all[1..].iter().map(Recorded::events).sum::<u64>();
        tested.overlaps += log::overlaps(&all);
        match compare(&all, &expected) {
            Ok(ordered) => {
                tested.ordered += ordered;
                None
            }
            Err(line) => Some(format!("{line}; selftest {}", program.options())),
        }
    });
    team.broadcast(Rank(0), failure).wait(cx)
}

impl Tested {
    fn count(&mut self, expected: &Expected) {
        self.programs += 1;
        let (events, checksum) = expected.certain();
        self.events += events;
        self.checksum = self.checksum.wrapping_add(checksum);
        let (panics, cancellations) = expected.failures();
        self.panics += panics;
        self.cancellations += cancellations;
        self.teamed += expected.synchronising();
    }
}

/// Returns a number that looks random, the same for the same arguments.
fn mixed(a: u64, b: u64) -> u64 {
    SplitMix::new(a ^ b.wrapping_mul(0x2545_f491_4f6c_dd1d)).next()
}
