//! The execution of a program by a rank.

use super::log::{Log, now};
use super::mixed;
use super::program::{
    Circumstances, Failure, Program, Single, Statement, TEAMED_DEPTH, Teamed, beside, rank_of,
};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use tautline::balance::Reason;
use tautline::runtime::Cx;
use tautline::team::{At, Handler, Team, handler};
use tautline::world::{Rank, RankErrorKind};
use tautline::{Error, Result};

/// The end of the text of a panic that the program has.
const PLANNED: &str = "as planned";

/// Arguments of an activity: its number, its finish, and its circumstances, or how it fails.
type Activity = (u64, u64, std::result::Result<Circumstances, Failure>);

/// Handlers of activities, of events in batches, and of calls.
type Handlers<'a, N, M, V> = (
    &'a Handler<N, Activity, ()>,
    &'a Handler<M, (u64, u64), ()>,
    &'a Handler<V, (u64, u64), u64>,
);

/// Handlers of events in batches, and of calls.
type Marks<'a, M, V> = (
    &'a Handler<M, (u64, u64), ()>,
    &'a Handler<V, (u64, u64), u64>,
);

/// Runs the part of a program that a rank has.
pub(super) fn run(cx: &mut Cx<'_, '_>, team: &mut Team, program: &Program, log: &Log) {
    let mark = handler(|_, _, (number, finish)| log.event(number, finish)).short();
    let value = handler(|_, _, (number, finish)| {
        log.event(number, finish);
        mixed(number, 5)
    });
    let node = handler(|cx, at, (number, finish, how): Activity| match how {
        Ok(how) => {
            let began = now();
            let single = InFinish {
                program,
                log,
                finish,
                how,
            };
            let all = program.singles(number, how);
            single.run(cx, at, &all, (&mark, &value));
            log.activity(began);
        }
        Err(Failure::Cancel) => _ = cx.cancel(Reason::Found),
        Err(Failure::Panic) => resume_unwind(Box::new(PLANNED)),
    });
    let handlers = (&node, &mark, &value);
    let all = OfAll {
        program,
        log,
        handlers: &handlers,
    };
    if let Err(error) = all.run(cx, team, program.first(), TEAMED_DEPTH) {
        log.broken(format!("an error of a call: {error}"));
    }
}

/// Execution of statements of all ranks.
struct OfAll<'a, N, M, V> {
    program: &'a Program,
    log: &'a Log,
    handlers: &'a Handlers<'a, N, M, V>,
}

impl<N, M, V> OfAll<'_, N, M, V>
where
    N: for<'s, 'e> Fn(&mut Cx<'s, 'e>, At<'s>, Activity) + Sync,
    M: for<'s, 'e> Fn(&mut Cx<'s, 'e>, At<'s>, (u64, u64)) + Sync,
    V: for<'s, 'e> Fn(&mut Cx<'s, 'e>, At<'s>, (u64, u64)) -> u64 + Sync,
{
    fn run(&self, cx: &mut Cx<'_, '_>, team: &mut Team, of: u64, depth: u32) -> Result<()> {
        for Statement { number, what } in self.program.teamed(of, depth) {
            match what {
                Teamed::Barrier => self.barrier(cx, team, number)?,
                Teamed::AllReduce => {
                    let own = mixed(number, team.world_rank(team.rank()).0.into());
                    let entered = now();
                    let sum = team.all_reduce(own, u64::wrapping_add).wait(cx)?;
                    self.log.call(number, entered, sum);
                }
                Teamed::Part => {
                    let is_in = team.rank().0 < team.ranks().div_ceil(2);
                    if let Some(mut part) = team.split(is_in.then_some(0)).wait(cx)? {
                        self.run(cx, &mut part, number, depth - 1)?;
                    }
                }
                Teamed::Beside(calls) => self.beside(cx, team, number, calls)?,
                Teamed::Finish {
                    failure,
                    has_region,
                } => {
                    let mut region = match has_region {
                        true => Some((team.dup().wait(cx)?, depth - 1)),
                        false => None,
                    };
                    self.finish(cx, team, (number, failure), region.as_mut());
                }
            }
        }
        Ok(())
    }

    fn barrier(&self, cx: &mut Cx<'_, '_>, team: &mut Team, number: u64) -> Result<()> {
        let entered = now();
        team.barrier().wait(cx)?;
        self.log.call(number, entered, 0);
        Ok(())
    }

    /// Executes a barrier beside calls of a copy, whose task is an async one: above this one on the
    /// stack of a worker, it would keep the activities below from continuing.
    fn beside(&self, cx: &mut Cx<'_, '_>, team: &mut Team, number: u64, calls: u64) -> Result<()> {
        let (log, rank) = (self.log, team.world_rank(team.rank()).0.into());
        let mut copy = team.dup().wait(cx)?;
        cx.scope(|cx| {
            cx.spawn_async(move |_| async move {
                for number in (0..calls).map(|i| beside(number, i)) {
                    let (own, entered) = (mixed(number, rank), now());
                    match copy.all_reduce(own, u64::wrapping_add).await {
                        Ok(sum) => log.call(number, entered, sum),
                        Err(error) => log.broken(format!("an error in a copy: {error}")),
                    }
                }
            });
            self.barrier(cx, team, number)
        })
    }

    /// Executes a finish, and with it statements of a copy of the team.
    fn finish(
        &self,
        cx: &mut Cx<'_, '_>,
        team: &mut Team,
        (number, failure): (u64, Option<Failure>),
        region: Option<&mut (Team, u32)>,
    ) {
        let (program, log, node) = (self.program, self.log, self.handlers.0);
        let how = program.circumstances(failure, region.is_some());
        let entered = now();
        let finished = || {
            team.finish(cx, self.handlers, |cx, at| {
                let (here, ranks) = (at.rank(), at.ranks());
                for body in program.bodies(number) {
                    if rank_of(body, ranks) == here.0 {
                        at.spawn(cx, here, node, (body, number, Ok(how)));
                    }
                }
                let last = rank_of(mixed(number, 4), ranks);
                if let Some(failure) = failure.filter(|_| here.0 == 0) {
                    at.spawn(cx, Rank(last), node, (0, number, Err(failure)));
                }
                match region {
                    Some((copy, depth)) => self.run(cx, copy, number, *depth),
                    None => Ok(()),
                }
            })
        };
        let ended = match catch_unwind(AssertUnwindSafe(finished)) {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(error))) => return log.broken(format!("an error in a region: {error}")),
            Ok(Err(error)) => match failure_of(&error) {
                Some(failure) => Some(failure),
                None => return log.broken(format!("an error of a finish: {error}")),
            },
            Err(payload) => planned(payload),
        };
        log.call(number, entered, 0);
        log.end(number, ended);
    }
}

/// Returns how a finish of all ranks has failed; `None` if no program does so.
fn failure_of(error: &Error) -> Option<Failure> {
    match error {
        Error::Rank(error) => match error.kind() {
            RankErrorKind::Panicked if error.to_string().ends_with(PLANNED) => Some(Failure::Panic),
            RankErrorKind::Cancelled => Some(Failure::Cancel),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the failure that a planned panic is, at whatever rank; other ones continue.
fn planned(payload: Box<dyn Any + Send>) -> Option<Failure> {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    match text.is_some_and(|text| text.ends_with(PLANNED)) {
        true => Some(Failure::Panic),
        false => resume_unwind(payload),
    }
}

/// Execution of statements in a finish.
#[derive(Clone, Copy)]
struct InFinish<'a> {
    program: &'a Program,
    log: &'a Log,
    finish: u64,
    how: Circumstances,
}

impl InFinish<'_> {
    fn inside(self, finish: u64, failure: Option<Failure>) -> Self {
        let how = self.how.inside(failure);
        Self {
            finish,
            how,
            ..self
        }
    }

    fn run<'s, 'c, M, V>(
        self,
        cx: &mut Cx<'c, '_>,
        at: At<'s>,
        all: &[Statement<Single>],
        (mark, value): Marks<'_, M, V>,
    ) where
        's: 'c,
        M: for<'x, 'e> Fn(&mut Cx<'x, 'e>, At<'x>, (u64, u64)) + Sync,
        V: for<'x, 'e> Fn(&mut Cx<'x, 'e>, At<'x>, (u64, u64)) -> u64 + Sync,
    {
        let finish = self.finish;
        for statement in all {
            let number = statement.number;
            let to = Rank(statement.rank(at.ranks()));
            match &statement.what {
                Single::Event => self.log.event(number, finish),
                Single::Spawn { beside } => {
                    let activity: Activity = (number, finish, Ok(self.how.below()));
                    match beside {
                        true => cx.spawn(move |cx| at.again(cx, to, activity)),
                        false => at.again(cx, to, activity),
                    }
                }
                Single::Batch(events) => {
                    let mut batch = at.batch(cx, mark);
                    for event in events {
                        batch.push(cx, Rank(rank_of(*event, at.ranks())), (*event, finish));
                    }
                }
                Single::Call => match at.call(cx, to, value, (number, finish)).wait(cx) {
                    Ok(result) if result == mixed(number, 5) => {}
                    Ok(result) => self.log.broken(format!("call {number:x} gives {result:x}")),
                    Err(error) if self.how.is_certain => self.log.broken(error.to_string()),
                    Err(_) => {}
                },
                Single::Finish(failure) => {
                    let inner = self.inside(number, *failure);
                    let all = self.program.inside(number, *failure, inner.how);
                    let finished = || cx.finish(|cx| inner.run(cx, at, &all, (mark, value)));
                    let ended = match catch_unwind(AssertUnwindSafe(finished)) {
                        Ok(Ok(())) => None,
                        Ok(Err(_)) => Some(Failure::Cancel),
                        Err(payload) => planned(payload),
                    };
                    self.log.end(number, ended);
                }
                Single::Fail(failure) => {
                    let activity: Activity = (0, finish, Err(*failure));
                    at.again(cx, to, activity);
                }
            }
        }
    }
}
