//! Calls of all ranks over one channel, in every order of deliveries: programs that agree end,
//! others learn it.

use super::{LIMIT, flawless, report};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use tautline_core::Rank;
use tautline_core::collective::sequence::{
    Call, Effect, Event, Refusal, Sequence, Sequenced, Weight,
};
use tautline_core::machine::no_calls;
use tautline_verify::explore::{
    At, Checked, Delivery, Flaw, Network, Part, PartOf, Parts, View, check, explore,
};

/// A call: which ranks send to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// Each to each other.
    Meet,
    /// All to rank 0.
    Gather,
    /// Rank 0 to all.
    Spread,
}

impl Call for Kind {
    type Terms = Self;

    fn check(&self) -> u32 {
        *self as u32
    }

    fn terms(&self) -> Self {
        *self
    }
}

impl Kind {
    fn sends(self, from: u32, to: u32) -> bool {
        from != to
            && match self {
                Self::Meet => true,
                Self::Gather => to == 0,
                Self::Spread => from == 0,
            }
    }
}

/// The body of a message: the number of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Body(u64);

impl Weight for Body {
    fn weight(&self) -> usize {
        1
    }
}

/// Ranks with their programs.
#[derive(Clone, Debug)]
struct Calls {
    programs: Vec<Vec<Kind>>,
    /// Messages kept of each other rank for calls to come, in addition to one.
    limit: usize,
    fault: Option<Fault>,
}

/// An error that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// All checks are the same.
    Unchecked,
    /// No question is sent.
    Silent,
    /// Messages for a call are sent under the number of the next.
    Shifted,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Caller {
    calls: u64,
    /// The ranks to which the present call has to send.
    sends: Vec<Rank>,
    /// The ranks of which it lacks the message.
    lacks: Vec<Rank>,
    is_open: bool,
    waits: u8,
    has_left: bool,
    /// The ranks whose end is known here.
    ends: Vec<Rank>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Act {
    Begin,
    Send,
    End,
    Wait,
    Leave,
    Left(Rank),
}

/// The history, as far as the checks need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Past {
    /// Messages in flight, by sender and receiver.
    under_way: BTreeMap<(u32, u32), u32>,
    left: Vec<Rank>,
    /// Whether a rank has reported that the programs differ.
    is_reported: bool,
}

impl Calls {
    fn agree(ranks: usize, program: &[Kind], limit: usize) -> Self {
        let programs = vec![program.to_vec(); ranks];
        let fault = None;
        Self {
            programs,
            limit,
            fault,
        }
    }

    fn differ(programs: &[&[Kind]]) -> Self {
        let programs = programs.iter().map(|program| program.to_vec()).collect();
        let (limit, fault) = (1, None);
        Self {
            programs,
            limit,
            fault,
        }
    }

    fn ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.programs.len() as u32).map(Rank)
    }

    fn is_agreed(&self) -> bool {
        self.programs
            .iter()
            .all(|program| *program == self.programs[0])
    }
}

impl Checked for Calls {
    type Machine = Sequence<Kind, Body>;
    type Driver = Caller;
    type Act = Act;
    type Ghost = Past;

    fn peers(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        Part {
            machine: Sequence::new(here, self.peers(), self.limit),
            driver: Caller::default(),
        }
    }

    fn acts(&self, here: Rank, Part { driver, .. }: &PartOf<Self>, past: &Past) -> Vec<Act> {
        if past.is_reported || driver.has_left {
            return Vec::new();
        }
        let ends = past.left.iter().filter(|rank| {
            let under_way = past.under_way.get(&(rank.0, here.0));
            !driver.ends.contains(rank) && **rank != here && under_way.is_none_or(|n| *n == 0)
        });
        let mut acts: Vec<_> = ends.map(|rank| Act::Left(*rank)).collect();
        if !driver.sends.is_empty() {
            return vec![Act::Send];
        }
        match driver.is_open {
            true if driver.lacks.is_empty() => acts.push(Act::End),
            true if driver.waits < 2 => acts.push(Act::Wait),
            true => {}
            false if driver.calls < self.programs[here.index()].len() as u64 => {
                acts.push(Act::Begin)
            }
            false => acts.push(Act::Leave),
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<Kind, Body>> {
        let here = at.here;
        Some(match act {
            Act::Begin => {
                let kind = self.programs[here.index()][at.driver.calls as usize];
                at.driver.calls += 1;
                at.driver.is_open = true;
                at.driver.waits = 0;
                at.driver.sends = self.ranks().filter(|to| kind.sends(here.0, to.0)).collect();
                at.driver.lacks = self.ranks().filter(|of| kind.sends(of.0, here.0)).collect();
                Event::Begin(kind)
            }
            Act::Send => {
                let (number, to) = (at.driver.calls - 1, at.driver.sends.pop()?);
                let body = Body(number);
                Event::Send { number, to, body }
            }
            Act::End => {
                at.driver.is_open = false;
                Event::End(at.driver.calls - 1)
            }
            Act::Wait => {
                at.driver.waits += 1;
                Event::Wait
            }
            Act::Leave => {
                at.driver.has_left = true;
                at.ghost.left.push(here);
                Event::Leave
            }
            Act::Left(rank) => {
                at.driver.ends.push(rank);
                Event::Left(rank)
            }
        })
    }

    fn calls(_: &mut Caller) -> &mut () {
        no_calls()
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Sequence<Kind, Body>,
        effect: Effect<Kind, Body>,
    ) -> Option<Event<Kind, Body>> {
        match effect {
            Effect::Deliver { number, from, body } => {
                let kinds =
                    [from, at.here].map(|rank| self.programs[rank.index()].get(number as usize));
                let lacked = at.driver.lacks.iter().position(|rank| *rank == from);
                match lacked {
                    Some(lacked) if body.0 == number && number + 1 == at.driver.calls => {
                        at.driver.lacks.swap_remove(lacked);
                    }
                    _ => at.find(Flaw::Count),
                }
                if kinds[0] != kinds[1] {
                    at.find(Flaw::Activity);
                }
            }
            Effect::Differs { .. } | Effect::Absent { .. } if self.is_agreed() => {
                at.find(Flaw::Refused);
            }
            Effect::Differs {
                number,
                here,
                there,
                ..
            } => {
                at.ghost.is_reported = true;
                let own = self.programs[at.here.index()].get(number as usize).copied();
                if here != own || there == here {
                    at.find(Flaw::Outcome);
                }
            }
            Effect::Absent { .. } => at.ghost.is_reported = true,
        }
        None
    }

    fn send(
        &self,
        at: &mut At<'_, Self>,
        to: Rank,
        message: Sequenced<Kind, Body>,
    ) -> Option<Sequenced<Kind, Body>> {
        let sent = match (self.fault, message) {
            (Some(Fault::Silent), Sequenced::Ask { .. }) => return None,
            (Some(Fault::Unchecked), Sequenced::Body { number, body, .. }) => {
                let own = self.programs[to.index()].get(number as usize);
                let check = own.map_or(0, Call::check);
                Sequenced::Body {
                    number,
                    check,
                    body,
                }
            }
            (
                Some(Fault::Shifted),
                Sequenced::Body {
                    number,
                    check,
                    body,
                },
            ) => {
                let number = number + 1;
                Sequenced::Body {
                    number,
                    check,
                    body,
                }
            }
            (_, message) => message,
        };
        *at.ghost.under_way.entry((at.here.0, to.0)).or_default() += 1;
        Some(sent)
    }

    fn receive(
        &self,
        at: &mut At<'_, Self>,
        from: Rank,
        message: Sequenced<Kind, Body>,
    ) -> Option<(Rank, Sequenced<Kind, Body>)> {
        *at.ghost.under_way.entry((from.0, at.here.0)).or_default() -= 1;
        Some((from, message))
    }

    fn malformed(&self, _: &Sequence<Kind, Body>) -> Vec<Sequenced<Kind, Body>> {
        let (check, body) = (7, Body(u64::MAX));
        let far = |number| Sequenced::Body {
            number,
            check,
            body,
        };
        let ask = |number| Sequenced::Ask {
            number,
            terms: Some(Kind::Meet),
        };
        let differs = |number| Sequenced::Differs {
            number,
            terms: Some(Kind::Meet),
        };
        vec![
            far(0),
            far(u64::MAX),
            ask(0),
            ask(u64::MAX),
            differs(0),
            differs(u64::MAX),
            Sequenced::Begun { calls: 0 },
        ]
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        // Of each rank, one message more than the limit is kept.
        let most = (self.limit + 1) * (self.programs.len() - 1);
        let mut parts = view.sites.iter();
        let is_over = parts.any(|part| part.machine.kept() > most);
        is_over.then_some(Flaw::Requests)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let mut callers = view.sites.iter().map(|part| &part.driver);
        view.ghost.ghost.is_reported || callers.all(|caller| caller.has_left)
    }
}

use Kind::{Gather, Meet, Spread};

fn states(name: &str, calls: Calls, floor: usize) {
    let began = Instant::now();
    let mut system = Network::of(calls, Delivery::Channels);
    report(name, flawless(name, &mut system), floor, began);
}

/// Programs that agree end, and each call gets its own messages.
#[test]
fn equal_programs_end() {
    states(
        "sequence-p2-meet",
        Calls::agree(2, &[Meet, Meet, Meet], 1),
        12_323,
    );
    states(
        "sequence-p2-ahead",
        Calls::agree(2, &[Spread, Spread, Spread, Spread], 1),
        10_207,
    );
    states(
        "sequence-p2-ahead-2",
        Calls::agree(2, &[Spread, Spread, Gather, Spread], 2),
        3_387,
    );
    states("sequence-p3-spread", Calls::agree(3, &[Spread], 1), 163_408);
    states("sequence-p3-gather", Calls::agree(3, &[Gather], 1), 25_485);
}

/// Programs that differ never wait for ever, and no call gets a message of another.
#[test]
fn other_programs_are_reported() {
    for (name, floor, programs) in [
        ("receivers", 31, [&[Gather, Meet][..], &[Spread, Meet]]),
        ("kinds", 1_468, [&[Meet, Gather], &[Meet, Meet]]),
        ("first", 3_951, [&[Spread, Meet], &[Gather, Meet]]),
        ("shorter", 1_007, [&[Meet, Spread], &[Meet]]),
        ("waits", 964, [&[Meet], &[Meet, Meet]]),
        (
            "ahead",
            23_305,
            [
                &[Spread, Spread, Spread, Meet],
                &[Spread, Spread, Gather, Meet],
            ],
        ),
    ] {
        states(
            &format!("sequence-differs-{name}"),
            Calls::differ(&programs),
            floor,
        );
    }
    let three: [&[Kind]; 3] = [&[Gather], &[Spread], &[Gather]];
    states("sequence-differs-p3", Calls::differ(&three), 2_294);
}

/// The checks notice a sequence that confuses calls.
#[test]
fn faults_are_found() {
    let found = |calls, fault| {
        let faulty = Calls {
            fault: Some(fault),
            ..calls
        };
        let found = explore(&mut Network::of(faulty, Delivery::Channels), LIMIT).found;
        found.map(|(flaw, _)| flaw)
    };
    let kinds = || Calls::differ(&[&[Meet, Gather], &[Meet, Meet]]);
    assert_eq!(found(kinds(), Fault::Unchecked), Some(Flaw::Activity));
    let receivers = || Calls::differ(&[&[Gather], &[Spread]]);
    assert_eq!(found(receivers(), Fault::Silent), Some(Flaw::Stuck));
    let ahead = || Calls::agree(2, &[Spread, Spread, Spread, Spread], 1);
    assert_eq!(found(ahead(), Fault::Silent), Some(Flaw::Stuck));
    let meet = || Calls::agree(2, &[Meet, Meet], 1);
    assert!(found(meet(), Fault::Shifted).is_some());
    // Without the order of messages, a late answer contradicts a later one.
    let shuffled = explore(&mut Network::of(ahead(), Delivery::Multiset), LIMIT).found;
    assert!(
        matches!(shuffled, Some((Flaw::Refused | Flaw::Count, _))),
        "{shuffled:?}"
    );
}

/// A rank that has begun nothing refuses what no other rank sends.
#[test]
fn what_is_refused() {
    use tautline_core::machine::{Action, Machine, Step};
    let mut sequence = Sequence::<Kind, Body>::new(Rank(0), 2, 1);
    let mut act = |_: Action<Sequence<Kind, Body>>| ();
    let mut receive =
        |from, message| sequence.receive(Rank(from), message, &mut Step::new(&mut (), &mut act));
    let body = |number| Sequenced::Body {
        number,
        check: 0,
        body: Body(number),
    };
    assert_eq!(receive(0, body(0)), Err(Refusal::NoMember));
    assert_eq!(receive(2, body(0)), Err(Refusal::NoMember));
    assert_eq!(receive(1, body(3)), Ok(()));
    assert_eq!(
        receive(1, body(4)),
        Err(Refusal::TooEarly { count: 2, limit: 1 })
    );
    assert_eq!(
        receive(1, Sequenced::Begun { calls: 3 }),
        Err(Refusal::Contradicts)
    );
    assert_eq!(
        receive(
            1,
            Sequenced::Ask {
                number: 5,
                terms: None
            }
        ),
        Ok(())
    );
    assert_eq!(
        receive(
            1,
            Sequenced::Ask {
                number: 5,
                terms: None
            }
        ),
        Err(Refusal::Contradicts)
    );
}

#[test]
fn scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    let calls = Calls::differ(&[&[Gather], &[Spread]]);
    check(calls, &folder.join("sequence.txt")).unwrap_or_else(|why| panic!("{why}"));
}
