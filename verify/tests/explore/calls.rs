//! Several calls of groups open at a time, in every order of deliveries: each ends with the values
//! of its own ranks, and if the programs differ, each rank that has not left learns both calls.

#[path = "calls/rank.rs"]
mod rank;

use super::{LIMIT, flawless, report};
use rank::{Body, Caller, Effect, Event, Kind, Made, Name, Sent, Text, Why};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use tautline_core::collective::sequence::{Call, Sequenced};
use tautline_core::machine::no_calls;
use tautline_core::{PlaceId, Rank};
use tautline_verify::explore::{
    At, Checked, Delivery, Flaw, Network, NetworkFaults, Part, PartOf, Parts, View, check, explore,
};

/// A call of a program.
#[derive(Clone, Copy, Debug)]
struct Line {
    group: usize,
    made: Made,
    /// Whether its request may be dropped before it has ended. It sends nothing then that others
    /// need.
    is_dropped: bool,
}

/// The programs of all ranks.
#[derive(Clone, Copy, Debug)]
struct Programs {
    groups: &'static [&'static [u32]],
    programs: &'static [&'static [Line]],
    /// Calls of a rank that are open, at most.
    open: usize,
    /// Messages kept of each other rank for calls to come, in addition to one.
    limit: usize,
    /// The number of times that time passes at a rank while it waits.
    waits: u8,
    fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Messages of the first two calls are exchanged.
    Crossed,
    /// All checks are the same.
    Unchecked,
    /// No question is sent.
    Silent,
    /// The first call is not ended at the sequence.
    Kept,
    /// A failure is not passed on.
    Alone,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    /// The calls that have begun.
    begun: usize,
    /// The calls that have not ended, and whether their result is here.
    open: BTreeMap<Name, bool>,
    waits: u8,
    has_left: bool,
    failed: Option<Why>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Begin,
    /// Takes the result of this call.
    End(Name),
    /// Drops the request of this call.
    Drop(Name),
    Wait,
    Leave,
}

impl Programs {
    fn program(&self, rank: Rank) -> &'static [Line] {
        self.programs[rank.index()]
    }

    /// Returns the call with this name at a rank, if its program makes it.
    fn line(&self, rank: Rank, (group, number): Name) -> Option<Line> {
        let of = self.program(rank).iter().filter(|line| line.group == group);
        of.copied().nth(number as usize)
    }

    fn made(&self, rank: Rank, name: Name) -> Option<Made> {
        self.line(rank, name).map(|line| line.made)
    }

    /// Returns the name of the call at this place of a program.
    fn name(&self, rank: Rank, at: usize) -> Name {
        let program = self.program(rank);
        let group = program[at].group;
        let of = program[..at].iter().filter(|line| line.group == group);
        (group, of.count() as u64)
    }

    fn members(&self, group: usize) -> impl Iterator<Item = Rank> + use<> {
        self.groups[group].iter().copied().map(Rank)
    }

    /// Returns the value of a rank in a call: others differ in each byte.
    fn own(rank: Rank, (group, number): Name, made: Made) -> Text {
        let value = 64 * group as u8 + 8 * number as u8 + 1 + rank.0 as u8;
        vec![value; usize::from(made.bytes)]
    }

    /// Returns the result of a call at a rank.
    fn result(&self, rank: Rank, name: Name, made: Made) -> Text {
        let mut all = self.members(name.0).map(|of| Self::own(of, name, made));
        let is_first = self.members(name.0).next() == Some(rank);
        match made.kind {
            Kind::First if !is_first => Text::new(),
            Kind::All | Kind::First => all.flatten().collect(),
            Kind::Spread => all.next().expect("the first rank"),
        }
    }

    fn is_agreed(&self) -> bool {
        let mut groups = 0..self.groups.len();
        groups.all(|group| {
            let calls = |rank| {
                let of = self.program(rank).iter();
                let of = of.filter(|line| line.group == group);
                of.map(|line| line.made).collect::<Vec<_>>()
            };
            let mut members = self.members(group).map(calls);
            let first = members.next();
            members.all(|calls| Some(calls) == first)
        })
    }

    /// Whether this may be the end of the calls: what it states is so.
    fn is_true(&self, why: &Why, view: &View<Parts<Self>>) -> bool {
        match why {
            Why::Differs { name, ranks, calls } => {
                let made = ranks.map(|rank| self.made(rank, *name));
                // One that has left cannot show its call any more.
                let has_left = view.sites[ranks[1].index()].driver.has_left;
                let is_shown = *calls == made || has_left && *calls == [made[0], None];
                is_shown && made[0] != made[1] && made[0].is_some()
            }
            Why::Absent { name, ranks } => {
                let made = ranks.map(|rank| self.made(rank, *name));
                made[0].is_some() && made[1].is_none()
            }
            Why::Lost(rank) => view.is_lost(PlaceId(rank.0)),
        }
    }

    /// Returns what is wrong with a rank once nothing can happen any more. If the programs differ,
    /// one that has left may not know it.
    fn wrong_end(&self, here: Rank, part: &PartOf<Self>, is_whole: bool) -> Option<Flaw> {
        let state = &part.driver;
        let is_agreed = self.is_agreed();
        if is_agreed && is_whole && state.failed.is_some() {
            return Some(Flaw::Refused);
        }
        let all = self.program(here).len();
        let is_done = state.begun == all && state.open.is_empty() && state.has_left;
        // Messages of calls that it never makes remain.
        let is_empty = !is_agreed || part.machine.is_empty();
        let is_kept = state.failed.is_none() && !(is_done && is_empty);
        is_kept.then_some(Flaw::Requests)
    }
}

impl Checked for Programs {
    type Machine = Caller;
    type Driver = State;
    type Act = Act;
    type Ghost = ();

    fn peers(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        Part {
            machine: Caller::new(here, self.peers(), self.groups, self.limit),
            driver: State::default(),
        }
    }

    fn acts(&self, here: Rank, Part { machine, driver }: &PartOf<Self>, (): &()) -> Vec<Act> {
        let State {
            begun,
            open,
            waits,
            has_left,
            failed,
        } = driver;
        if *has_left || failed.is_some() {
            return Vec::new();
        }
        let is_begun = *begun == self.program(here).len();
        let mut acts = Vec::new();
        for (&name, &has_result) in open {
            let is_dropped = self.line(here, name).is_some_and(|line| line.is_dropped);
            match has_result {
                true => acts.push(Act::End(name)),
                false if is_dropped => acts.push(Act::Drop(name)),
                false => {}
            }
        }
        if !is_begun && open.len() < self.open {
            acts.push(Act::Begin);
        }
        let is_waiting = open.values().any(|has_result| !has_result);
        if *waits < self.waits && is_waiting {
            acts.push(Act::Wait);
        }
        if is_begun && open.is_empty() && machine.is_sent() {
            acts.push(Act::Leave);
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event> {
        let here = at.here;
        Some(match act {
            Act::Begin => {
                let name = self.name(here, at.driver.begun);
                let Line { group, made, .. } = self.program(here)[at.driver.begun];
                at.driver.begun += 1;
                at.driver.waits = 0;
                at.driver.open.insert(name, false);
                Event::Begin(group, made, Self::own(here, name, made))
            }
            Act::End(name) | Act::Drop(name) => {
                at.driver.open.remove(&name);
                if self.fault == Some(Fault::Kept) && name == (0, 0) {
                    return None;
                }
                Event::End(name)
            }
            Act::Wait => {
                at.driver.waits += 1;
                Event::Wait
            }
            Act::Leave => {
                at.driver.has_left = true;
                Event::Leave
            }
        })
    }

    fn calls(_: &mut State) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Caller, effect: Effect) -> Option<Event> {
        let here = at.here;
        match effect {
            Effect::Ended(name, text) => {
                let made = self.made(here, name).expect("a call of the program");
                if text != self.result(here, name, made) {
                    at.find(Flaw::Count);
                }
                match at.driver.open.insert(name, true) {
                    Some(false) => {}
                    Some(true) | None => at.find(Flaw::Repeated),
                }
            }
            Effect::Failed(why) => at.driver.failed = Some(why),
            Effect::Stray => at.find(Flaw::Refused),
        }
        None
    }

    fn send(&self, _: &mut At<'_, Self>, to: Rank, message: Sent) -> Option<Sent> {
        let Sent::Call(group, sequenced) = message else {
            let is_lost = self.fault == Some(Fault::Alone) && matches!(message, Sent::Failed(_));
            return (!is_lost).then_some(message);
        };
        let check = |number| {
            self.made(to, (group, number))
                .map_or(0, |made| made.check())
        };
        let sequenced = match (self.fault, sequenced) {
            (Some(Fault::Silent), Sequenced::Ask { .. }) => return None,
            (Some(Fault::Unchecked), Sequenced::Body { number, body, .. }) => Sequenced::Body {
                number,
                check: check(number),
                body,
            },
            (Some(Fault::Crossed), Sequenced::Body { number, body, .. }) if number < 2 => {
                let number = 1 - number;
                Sequenced::Body {
                    number,
                    check: check(number),
                    body,
                }
            }
            (_, sequenced) => sequenced,
        };
        Some(Sent::Call(group, sequenced))
    }

    /// A rank that has left is gone.
    fn receive(&self, at: &mut At<'_, Self>, from: Rank, message: Sent) -> Option<(Rank, Sent)> {
        (!at.driver.has_left).then_some((from, message))
    }

    fn malformed(&self, _: &Caller) -> Vec<Sent> {
        let (check, body) = (
            7,
            Body::Wave(tautline_core::collective::Message::Up(vec![99])),
        );
        let all = [
            Sequenced::Body {
                number: u64::MAX,
                check,
                body,
            },
            Sequenced::Ask {
                number: u64::MAX,
                terms: None,
            },
            Sequenced::Begun { calls: 0 },
            Sequenced::Differs {
                number: u64::MAX,
                terms: None,
            },
        ];
        let last = self.groups.len();
        let of = |group| all.clone().map(|message| Sent::Call(group, message));
        (0..=last).flat_map(of).collect()
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        // Of each rank, one message more than the limit is kept, in each group.
        let most = (self.limit + 1) * (self.programs.len() - 1) * self.groups.len();
        for (_, part) in view.living() {
            if part.machine.kept() > most {
                return Some(Flaw::Requests);
            }
            let failed = part.driver.failed.as_ref();
            if failed.is_some_and(|why| !self.is_true(why, view)) {
                return Some(Flaw::Outcome);
            }
        }
        let is_over = view.parcels.is_empty() && self.is_final(view);
        let knows = |part: &PartOf<Self>| part.driver.failed.is_some();
        if is_over && !self.is_agreed() && !view.living().any(|(_, part)| knows(part)) {
            return Some(Flaw::Untold);
        }
        let mut living = view.living().filter(|_| is_over);
        living.find_map(|(place, part)| self.wrong_end(Rank(place.0), part, view.lost == 0))
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let is_over = |state: &State| state.has_left || state.failed.is_some();
        view.living().all(|(_, part)| is_over(&part.driver))
    }
}

const fn line(kind: Kind, bytes: u8) -> Line {
    Line {
        group: 0,
        made: Made { kind, bytes },
        is_dropped: false,
    }
}

const fn within(group: usize, line: Line) -> Line {
    Line { group, ..line }
}

const ALL: Line = line(Kind::All, 1);
const LONG: Line = line(Kind::All, 2);
const FIRST: Line = line(Kind::First, 1);
const SPREAD: Line = line(Kind::Spread, 1);
/// Of a rank that may drop it: the last of a spread, or rank 0 of a gather.
const DROPPED: Line = Line {
    is_dropped: true,
    ..SPREAD
};
const FORGOTTEN: Line = Line {
    is_dropped: true,
    ..FIRST
};

const TWO: &[&[u32]] = &[&[0, 1]];
const THREE: &[&[u32]] = &[&[0, 1, 2]];
/// All ranks, and some.
const SOME: &[&[u32]] = &[&[0, 1, 2], &[0, 2]];

const LOSS: NetworkFaults = NetworkFaults {
    lose: 0,
    double: 0,
    overtake: 0,
    crash: 1,
    spared: 0,
};

fn programs(groups: &'static [&'static [u32]], programs: &'static [&'static [Line]]) -> Programs {
    Programs {
        groups,
        programs,
        open: 2,
        limit: 1,
        waits: 2,
        fault: None,
    }
}

fn states(name: &str, programs: Programs, faults: NetworkFaults, floor: usize) {
    let began = Instant::now();
    let mut system = Network::of(programs, Delivery::Channels).with_faults(faults);
    report(name, flawless(name, &mut system), floor, began);
}

fn whole(name: &str, programs: Programs, floor: usize) {
    states(name, programs, NetworkFaults::default(), floor);
}

/// Calls that are open together end with their own values, in any order, also if a request is
/// dropped; then nothing is left.
#[test]
fn open_calls_end_with_their_values() {
    const PAIR: &[Line] = &[ALL, ALL];
    const MIXED: &[Line] = &[SPREAD, FIRST, ALL];
    const AHEAD: &[Line] = &[SPREAD, SPREAD, SPREAD];
    whole("calls-p2", programs(TWO, &[PAIR, PAIR]), 17_901);
    whole("calls-p2-mixed", programs(TWO, &[MIXED, MIXED]), 93_252);
    let three = Programs {
        open: 3,
        waits: 0,
        ..programs(TWO, &[MIXED, MIXED])
    };
    whole("calls-p2-three", three, 1_752);
    whole("calls-p2-ahead", programs(TWO, &[AHEAD, AHEAD]), 17_572);
    let more = Programs {
        limit: 2,
        open: 3,
        ..programs(TWO, &[AHEAD, AHEAD])
    };
    whole("calls-p2-ahead-2", more, 27_162);
    const DROPS: &[Line] = &[FORGOTTEN, SPREAD, ALL];
    const OTHERS: &[Line] = &[FIRST, DROPPED, ALL];
    whole("calls-p2-dropped", programs(TWO, &[DROPS, OTHERS]), 139_323);
    let quick = |programs| Programs {
        waits: 0,
        ..programs
    };
    whole(
        "calls-p3",
        quick(programs(THREE, &[PAIR, PAIR, PAIR])),
        26_317,
    );
    const SHORT: &[Line] = &[SPREAD, FIRST];
    whole(
        "calls-p3-mixed",
        quick(programs(THREE, &[SHORT, SHORT, SHORT])),
        19_485,
    );
}

/// The calls of some ranks do not affect those of all.
#[test]
fn calls_of_some_ranks_end_with_their_values() {
    const BOTH: &[Line] = &[ALL, within(1, ALL)];
    const OTHER: &[Line] = &[within(1, ALL), ALL];
    const ONE: &[Line] = &[ALL];
    let quick = |programs| Programs {
        waits: 0,
        ..programs
    };
    whole(
        "calls-some",
        quick(programs(SOME, &[BOTH, ONE, BOTH])),
        13_978,
    );
    whole(
        "calls-some-other",
        quick(programs(SOME, &[BOTH, ONE, OTHER])),
        13_304,
    );
}

/// Each rank that has not left learns both calls that differ, whichever other calls are open.
#[test]
fn calls_that_differ_are_told_to_all() {
    whole(
        "calls-differ-kind",
        programs(TWO, &[&[ALL, FIRST], &[ALL, ALL]]),
        7_286,
    );
    whole(
        "calls-differ-length",
        programs(TWO, &[&[ALL, LONG], &[ALL, ALL]]),
        15_351,
    );
    whole(
        "calls-differ-first",
        programs(TWO, &[&[FIRST, ALL], &[SPREAD, ALL]]),
        2_191,
    );
    whole(
        "calls-differ-order",
        programs(TWO, &[&[SPREAD, FIRST], &[FIRST, SPREAD]]),
        3_104,
    );
    whole(
        "calls-differ-fewer",
        programs(TWO, &[&[ALL, ALL], &[ALL]]),
        2_842,
    );
    let few = |programs| Programs {
        waits: 1,
        ..programs
    };
    let quick = |programs| Programs {
        waits: 0,
        ..programs
    };
    whole(
        "calls-differ-p3",
        few(programs(THREE, &[&[ALL], &[ALL], &[FIRST]])),
        6_113,
    );
    const BOTH: &[Line] = &[ALL, within(1, ALL)];
    const OTHER: &[Line] = &[ALL, within(1, LONG)];
    whole(
        "calls-differ-some",
        quick(programs(SOME, &[BOTH, &[ALL], OTHER])),
        13_037,
    );
}

/// If a rank is lost, each other one has all results, or learns which rank is lost.
#[test]
fn calls_end_if_a_rank_is_lost() {
    const PAIR: &[Line] = &[ALL, ALL];
    const SHORT: &[Line] = &[SPREAD, FIRST];
    let quick = |programs| Programs {
        waits: 0,
        ..programs
    };
    states("calls-lost-p2", programs(TWO, &[PAIR, PAIR]), LOSS, 54_617);
    states(
        "calls-lost-p2-mixed",
        programs(TWO, &[SHORT, SHORT]),
        LOSS,
        24_558,
    );
    let three = programs(THREE, &[SHORT, SHORT, SHORT]);
    states("calls-lost-p3", quick(three), LOSS, 164_513);
    const BOTH: &[Line] = &[SPREAD, within(1, ALL)];
    states(
        "calls-lost-some",
        quick(programs(SOME, &[BOTH, &[SPREAD], BOTH])),
        LOSS,
        123_005,
    );
}

#[test]
fn scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    let calls = programs(TWO, &[&[SPREAD, ALL], &[SPREAD, LONG]]);
    check(calls, &folder.join("calls.txt")).unwrap_or_else(|why| panic!("{why}"));
}

/// The checks notice calls that are confused, kept, or not reported.
#[test]
fn faults_are_found() {
    const PAIR: &[Line] = &[ALL, ALL];
    let same = programs(TWO, &[PAIR, PAIR]);
    let other = programs(TWO, &[&[FIRST, ALL], &[SPREAD, ALL]]);
    let length = programs(TWO, &[&[ALL, LONG], &[ALL, ALL]]);
    for (fault, programs, flaw) in [
        (Fault::Crossed, same, Flaw::Count),
        (Fault::Unchecked, length, Flaw::Count),
        (Fault::Silent, other, Flaw::Stuck),
        (Fault::Kept, same, Flaw::Requests),
        (Fault::Alone, other, Flaw::Stuck),
    ] {
        let faulty = Programs {
            fault: Some(fault),
            ..programs
        };
        let explored = explore(&mut Network::of(faulty, Delivery::Channels), LIMIT);
        let (found, story) = explored.found.expect("the fault must show");
        println!("{fault:?}: {found:?}\n{story}");
        assert_eq!(found, flaw, "{fault:?}");
    }
}
