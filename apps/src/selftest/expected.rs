//! The sequential interpreter: what must happen, and what may.

use super::log::Event;
use super::mixed;
use super::program::{
    Circumstances, Failure, Program, Single, Statement, TEAMED_DEPTH, Teamed, beside, rank_of,
};
use std::collections::BTreeMap;

/// Events with their ranks, and how often.
pub(super) type Events = BTreeMap<(Event, u32), usize>;

/// The events, outcomes and values of a program over a number of ranks.
#[derive(Default)]
pub(super) struct Expected {
    pub(super) certain: Events,
    /// Inside finishes that fail.
    pub(super) possible: Events,
    /// The outcomes of finishes at the ranks that wait for them, without those in finishes that
    /// fail.
    pub(super) ends: BTreeMap<(u64, u32), Option<Failure>>,
    /// The ranks and the value of calls that synchronise.
    pub(super) calls: BTreeMap<u64, (Vec<u32>, u64)>,
}

/// The place of a statement.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The ranks of the team.
    team: &'a [u32],
    /// A position among them.
    at: u32,
    finish: u64,
    how: Circumstances,
}

impl Place<'_> {
    fn at(self, at: u32) -> Self {
        Self { at, ..self }
    }

    fn rank(self) -> u32 {
        self.team[self.at as usize]
    }

    fn ranks(self) -> u32 {
        self.team.len() as u32
    }
}

impl Expected {
    pub(super) fn of(program: &Program, ranks: u32) -> Self {
        let mut expected = Self::default();
        let all: Vec<_> = (0..ranks).collect();
        expected.teamed(program, program.first(), TEAMED_DEPTH, &all);
        expected
    }

    fn teamed(&mut self, program: &Program, of: u64, depth: u32, team: &[u32]) {
        let depth_inside = depth.saturating_sub(1);
        for Statement { number, what } in program.teamed(of, depth) {
            let sum = |number| {
                let values = team.iter().map(|rank| mixed(number, (*rank).into()));
                values.fold(0, u64::wrapping_add)
            };
            let mut call = |number, value| _ = self.calls.insert(number, (team.to_vec(), value));
            match what {
                Teamed::Barrier => call(number, 0),
                Teamed::AllReduce => call(number, sum(number)),
                Teamed::Part => {
                    let half = &team[..team.len().div_ceil(2)];
                    self.teamed(program, number, depth_inside, half);
                }
                Teamed::Beside(calls) => {
                    call(number, 0);
                    for number in (0..calls).map(|i| beside(number, i)) {
                        call(number, sum(number));
                    }
                }
                Teamed::Finish {
                    failure,
                    has_region,
                } => {
                    call(number, 0);
                    let ends = team.iter().map(|rank| ((number, *rank), failure));
                    self.ends.extend(ends);
                    let place = Place {
                        team,
                        at: 0,
                        finish: number,
                        how: program.circumstances(failure, has_region),
                    };
                    for body in program.bodies(number) {
                        let all = program.singles(body, place.how);
                        self.singles(program, &all, place.at(rank_of(body, place.ranks())));
                    }
                    if has_region {
                        self.teamed(program, number, depth_inside, team);
                    }
                }
            }
        }
    }

    fn singles(&mut self, program: &Program, all: &[Statement<Single>], place: Place<'_>) {
        for statement in all {
            let number = statement.number;
            let at = statement.rank(place.ranks());
            match &statement.what {
                Single::Event => self.event(number, place),
                Single::Call => self.event(number, place.at(at)),
                Single::Batch(events) => events
                    .iter()
                    .for_each(|event| self.event(*event, place.at(rank_of(*event, place.ranks())))),
                Single::Spawn { .. } => {
                    let how = place.how.below();
                    let all = program.singles(number, how);
                    self.singles(program, &all, Place { how, at, ..place });
                }
                Single::Finish(failure) => {
                    if place.how.is_certain {
                        self.ends.insert((number, place.rank()), *failure);
                    }
                    let how = place.how.inside(*failure);
                    let all = program.inside(number, *failure, how);
                    let inner = Place {
                        finish: number,
                        how,
                        ..place
                    };
                    self.singles(program, &all, inner);
                }
                Single::Fail(_) => {}
            }
        }
    }

    fn event(&mut self, number: u64, place: Place<'_>) {
        let finish = place.finish;
        let events = match place.how.is_certain {
            true => &mut self.certain,
            false => &mut self.possible,
        };
        let event = (Event { number, finish }, place.rank());
        *events.entry(event).or_default() += 1;
    }

    /// Returns the number of certain events, and a hash of them, which does not depend on ranks.
    pub(super) fn certain(&self) -> (u64, u64) {
        let hash = |(event, _): &(Event, u32)| mixed(event.number, event.finish);
        let all = self.certain.iter();
        all.fold((0, 0), |(events, sum), (event, count)| {
            let count = *count as u64;
            (
                events + count,
                hash(event).wrapping_mul(count).wrapping_add(sum),
            )
        })
    }

    /// Returns the numbers of finishes that fail by a panic, and by a cancellation.
    pub(super) fn failures(&self) -> (u64, u64) {
        let of = |kind| {
            let failures = self.ends.values().filter(|failure| **failure == Some(kind));
            failures.count() as u64
        };
        (of(Failure::Panic), of(Failure::Cancel))
    }

    /// Returns the number of calls that synchronise.
    pub(super) fn synchronising(&self) -> u64 {
        self.calls.len() as u64
    }
}
