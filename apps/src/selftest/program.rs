//! Programs, drawn from a seed.

use super::mixed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A program: the statements that its seed gives, without some. Displayed as a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    seed: u64,
    depth: u32,
    /// The numbers of statements that are left out.
    without: BTreeSet<u64>,
}

/// A failure of a finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Failure {
    Panic,
    Cancel,
}

/// The circumstances of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Circumstances {
    /// Activities that may start each other below it.
    pub(super) depth: u32,
    /// Whether all of it happens, since no finish around it fails.
    pub(super) is_certain: bool,
    /// Whether it may wait: not beside bodies that make calls of their own, since a body below it
    /// on the stack of its worker could not continue.
    pub(super) may_wait: bool,
}

impl Circumstances {
    /// Returns those of an activity that it starts.
    pub(super) fn below(self) -> Self {
        let depth = self.depth - 1;
        Self { depth, ..self }
    }

    /// Returns those in a finish that it opens.
    pub(super) fn inside(self, failure: Option<Failure>) -> Self {
        Self {
            is_certain: self.is_certain && failure.is_none(),
            ..self.below()
        }
    }
}

/// A statement, or a body. Its number names it, and is what its parts are drawn from.
#[derive(Clone, Debug)]
pub(super) struct Statement<W> {
    pub(super) number: u64,
    pub(super) what: W,
}

impl<W> Statement<W> {
    /// Returns the rank at which it acts.
    pub(super) fn rank(&self, ranks: u32) -> u32 {
        rank_of(self.number, ranks)
    }
}

/// Returns the rank that a number stands for.
pub(super) fn rank_of(number: u64, ranks: u32) -> u32 {
    (number >> 7) as u32 % ranks
}

/// Returns the number of a reduction beside a barrier.
pub(super) fn beside(barrier: u64, position: u64) -> u64 {
    mixed(barrier, 20 + position)
}

/// Statements of one activity.
#[derive(Clone, Debug)]
pub(super) enum Single {
    Event,
    /// Starts an activity, from a task beside this one or from this one.
    Spawn {
        beside: bool,
    },
    Finish(Option<Failure>),
    /// A call, whose value is compared.
    Call,
    /// Sends events of these numbers to ranks.
    Batch(Vec<u64>),
    /// Starts an activity that fails so.
    Fail(Failure),
}

/// Statements of all ranks of a team.
#[derive(Clone, Debug)]
pub(super) enum Teamed {
    Barrier,
    AllReduce,
    /// Statements of the first half of the ranks.
    Part,
    /// This number of reductions of a copy of the team, in an async task beside a barrier.
    Beside(u64),
    /// A finish, in whose bodies all ranks may execute statements of a copy of the team.
    Finish {
        failure: Option<Failure>,
        has_region: bool,
    },
}

impl Program {
    /// Returns the program of a seed, whose activities start each other to that depth.
    pub fn new(seed: u64, depth: u32) -> Self {
        let without = BTreeSet::new();
        Self {
            seed,
            depth,
            without,
        }
    }

    /// Returns the number that its statements are drawn from.
    pub(super) fn first(&self) -> u64 {
        mixed(self.seed, 0)
    }

    /// Returns the circumstances of the bodies of a finish of all ranks.
    pub(super) fn circumstances(
        &self,
        failure: Option<Failure>,
        has_region: bool,
    ) -> Circumstances {
        Circumstances {
            depth: self.depth,
            is_certain: failure.is_none(),
            may_wait: !has_region,
        }
    }

    /// Returns the options of the command that run it.
    pub fn options(&self) -> String {
        let Self { seed, depth, .. } = self;
        format!("--seed {seed} --programs 1 --depth {depth}")
    }

    /// Returns it without a statement, and without all that the statement has inside.
    pub(super) fn without(&self, number: u64) -> Self {
        let mut less = self.clone();
        less.without.insert(number);
        less
    }

    fn has(&self, number: u64) -> bool {
        !self.without.contains(&number)
    }

    /// Returns the numbers of what is drawn from `of`.
    fn parts(&self, of: u64, count: u64) -> impl Iterator<Item = u64> {
        let all = (0..count).map(move |i| mixed(of, 100 + i));
        all.filter(|number| self.has(*number))
    }

    /// Returns the statements of all ranks that are drawn from `of`.
    pub(super) fn teamed(&self, of: u64, depth: u32) -> Vec<Statement<Teamed>> {
        let parts = self.parts(of, 1 + mixed(of, 1) % 4);
        let what = |number: u64| match number % 8 {
            0 => Teamed::Barrier,
            2 if depth > 0 => Teamed::Part,
            3 => Teamed::Beside(1 + mixed(number, 1) % 3),
            1 | 2 => Teamed::AllReduce,
            _ => {
                let failure = failure_of(number, 4);
                // Calls in a finish that fails may never be entered by all.
                let has_region = depth > 0 && failure.is_none() && number & 64 != 0;
                Teamed::Finish {
                    failure,
                    has_region,
                }
            }
        };
        let statement = |number| Statement {
            number,
            what: what(number),
        };
        parts.map(statement).collect()
    }

    /// Returns the numbers of the bodies of a finish of all ranks: activities at their
    /// [ranks](rank_of).
    pub(super) fn bodies(&self, of: u64) -> impl Iterator<Item = u64> {
        self.parts(mixed(of, 2), 1 + mixed(of, 3) % 4)
    }

    /// Returns the statements of an activity or a finish that are drawn from `of`.
    pub(super) fn singles(&self, of: u64, how: Circumstances) -> Vec<Statement<Single>> {
        let what = |number: u64| match number % 8 {
            0..=2 if how.depth > 0 => Single::Spawn {
                beside: number & 64 != 0,
            },
            3 | 4 if how.depth > 0 && how.may_wait => Single::Finish(failure_of(number, 12)),
            5 if how.may_wait => Single::Call,
            6 => Single::Batch((0..number % 5).map(|n| mixed(number, n)).collect()),
            _ => Single::Event,
        };
        let parts = self.parts(of, 1 + mixed(of, 1) % 4).map(|number| {
            let what = what(number);
            Statement { number, what }
        });
        let first = Statement {
            number: of,
            what: Single::Event,
        };
        [first].into_iter().chain(parts).collect()
    }

    /// Returns the statements in a finish: those that are drawn from `of`, and one by which it
    /// fails, somewhere.
    pub(super) fn inside(
        &self,
        of: u64,
        failure: Option<Failure>,
        how: Circumstances,
    ) -> Vec<Statement<Single>> {
        let mut all = self.singles(of, how);
        all.extend(failure.map(|failure| Statement {
            number: mixed(of, 4),
            what: Single::Fail(failure),
        }));
        all
    }

    /// Returns the numbers of all statements and bodies that can be left out, outer ones first.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.walk(&mut |line| all.extend(line.number));
        all
    }

    /// Visits all statements, outer ones before those inside.
    fn walk(&self, see: &mut dyn FnMut(Line)) {
        self.walk_teamed(self.first(), TEAMED_DEPTH, 0, see);
    }

    fn walk_teamed(&self, of: u64, depth: u32, indent: usize, see: &mut dyn FnMut(Line)) {
        for Statement { number, what } in self.teamed(of, depth) {
            see(Line::new(number, indent, format!("all ranks: {what:?}")));
            match what {
                Teamed::Barrier | Teamed::AllReduce | Teamed::Beside(_) => {}
                Teamed::Part => self.walk_teamed(number, depth - 1, indent + 1, see),
                Teamed::Finish {
                    failure,
                    has_region,
                } => {
                    let how = self.circumstances(failure, has_region);
                    for body in self.bodies(number) {
                        let text = "body at".to_owned();
                        see(Line::new(body, indent + 1, text));
                        let inside = self.singles(body, how);
                        self.walk_singles(&inside, how, indent + 2, see);
                    }
                    if has_region {
                        self.walk_teamed(number, depth - 1, indent + 1, see);
                    }
                }
            }
        }
    }

    fn walk_singles(
        &self,
        all: &[Statement<Single>],
        how: Circumstances,
        indent: usize,
        see: &mut dyn FnMut(Line),
    ) {
        for (at, Statement { number, what }) in all.iter().enumerate() {
            let mut line = Line::new(*number, indent, format!("{what:?}"));
            // The first event has the number of what is around it, and a failure is its finish's.
            let is_bound = at == 0 || matches!(what, Single::Fail(_));
            line.number = line.number.filter(|_| !is_bound);
            see(line);
            match what {
                Single::Spawn { .. } => {
                    let inside = self.singles(*number, how.below());
                    self.walk_singles(&inside, how.below(), indent + 1, see);
                }
                Single::Finish(failure) => {
                    let inner = how.inside(*failure);
                    let inside = self.inside(*number, *failure, inner);
                    self.walk_singles(&inside, inner, indent + 1, see);
                }
                _ => {}
            }
        }
    }
}

/// Levels of statements of all ranks inside others.
pub(super) const TEAMED_DEPTH: u32 = 2;

/// Returns how the finish of a number fails: one of `of` by a panic, one by a cancellation.
fn failure_of(number: u64, of: u64) -> Option<Failure> {
    match mixed(number, 9) % of {
        0 => Some(Failure::Panic),
        1 => Some(Failure::Cancel),
        _ => None,
    }
}

/// A line of a listing.
struct Line {
    /// The number of the statement, if it can be left out by itself.
    number: Option<u64>,
    text: String,
}

impl Line {
    fn new(number: u64, indent: usize, text: String) -> Self {
        let text = format!("{:1$}{text} {number:016x}", "", 2 * indent);
        let number = Some(number);
        Self { number, text }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.walk(&mut |line| lines.push(line.text));
        f.write_str(&lines.join("\n"))
    }
}
