//! Collective operations: any rank may begin at any time.

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use std::convert::identity;
use tautline_core::Rank;
use tautline_core::collective::{
    AllReduce, AllToAll, Barrier, Branch, CombineBefore, CombineForAll, Deal, Meet, Message,
    Paired, Pairs, Scan, Scatter, Stray,
};
use tautline_core::machine::{Action, Machine, Step, no_calls};

/// The operation explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A barrier.
    Barrier,
    /// A reduction whose result all ranks get; the operator is not commutative.
    AllReduce,
    /// The same without a tree.
    Pairs,
    /// A reduction of the ranks before.
    Scan,
    /// Values of rank 0, one for each.
    Scatter,
    /// Values of each, one for each.
    AllToAll,
}

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveFault {
    /// A rank ends when it has sent its value.
    EndWhenSent,
    /// Values are combined in the order of their arrival.
    OrderOfArrival,
    /// Values for a subtree are sent in reverse.
    DealInReverse,
    /// A rank sends the values of its blocks in reverse.
    RoundsInReverse,
    /// A rank takes its own value for those that are missing when the first arrives.
    EndWithFirst,
}

/// The ranks of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// The operation.
    pub kind: Kind,
    /// The number of ranks.
    pub ranks: u32,
    /// Children of a rank, at most.
    pub radix: u32,
    /// The injected fault, if any.
    pub fault: Option<CollectiveFault>,
}

type Concat = fn(Text, Text) -> Text;
/// The ranks whose values are combined, in order.
type Text = Vec<u8>;

/// One operation at a rank, which ends with a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum One {
    /// See [`Kind`].
    Barrier(Barrier),
    /// See [`Kind`].
    AllReduce(AllReduce<Text, Concat>),
    /// See [`Kind`].
    Pairs(Pairs<Text, Concat>),
    /// See [`Kind`].
    Scan(Scan<Text, Concat>),
    /// See [`Kind`].
    Scatter(Scatter<u8>),
    /// See [`Kind`].
    AllToAll(AllToAll<Text>),
}

/// Messages between ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Of a barrier.
    Barrier(Message<(), ()>),
    /// Of a reduction, or values dealt.
    Text(Message<Text, Text>),
    /// Of a reduction without a tree.
    Paired(Paired<Text>),
    /// Of a scan.
    Scan(Message<Text, Option<Text>>),
    /// A value.
    Value(Text),
}

/// Lets a machine take a step whose messages and output are wrapped.
fn within<M: Machine<Peer = Rank, Calls = ()>, T>(
    machine: &mut M,
    step: &mut Step<'_, One>,
    sent: impl Fn(M::Message) -> Sent,
    text: impl Fn(M::Effect) -> Text,
    take: impl FnOnce(&mut M, &mut Step<'_, M>) -> T,
) -> T {
    let mut act = |action: Action<M>| match action {
        Action::Send(to, message) => step.send(to, sent(message)),
        Action::Effect(output) => step.effect(text(output)),
    };
    take(machine, &mut Step::new(&mut (), &mut act))
}

/// The event is the rank, and the number of ranks.
impl Machine for One {
    type Peer = Rank;
    type Message = Sent;
    type Event = (Rank, u32);
    type Effect = Text;
    type Calls = ();
    type Refusal = Stray;

    fn event(&mut self, (here, ranks): (Rank, u32), step: &mut Step<'_, Self>) {
        let own = here.0 as u8;
        let all = || 0..ranks as u8;
        match self {
            Self::Barrier(wave) => within(wave, step, Sent::Barrier, no_text, |wave, step| {
                wave.event((), step)
            }),
            Self::AllReduce(wave) => within(wave, step, Sent::Text, identity, |wave, step| {
                wave.event(vec![own], step)
            }),
            Self::Pairs(pairs) => within(pairs, step, Sent::Paired, identity, |pairs, step| {
                pairs.event(vec![own], step)
            }),
            Self::Scan(wave) => within(
                wave,
                step,
                Sent::Scan,
                Option::unwrap_or_default,
                |wave, step| wave.event(vec![own], step),
            ),
            Self::Scatter(wave) => within(
                wave,
                step,
                Sent::Text,
                |value| vec![value],
                |wave, step| wave.event(all().collect(), step),
            ),
            Self::AllToAll(machine) => {
                let values = all().map(|to| vec![own, to]).collect();
                let concat = |all: Vec<Text>| all.concat();
                within(machine, step, Sent::Value, concat, |machine, step| {
                    machine.event(values, step)
                })
            }
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Sent,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match (self, message) {
            (Self::Barrier(wave), Sent::Barrier(message)) => {
                within(wave, step, Sent::Barrier, no_text, |wave, step| {
                    wave.receive(from, message, step)
                })
            }
            (Self::AllReduce(wave), Sent::Text(message)) => {
                within(wave, step, Sent::Text, identity, |wave, step| {
                    wave.receive(from, message, step)
                })
            }
            (Self::Pairs(pairs), Sent::Paired(message)) => {
                within(pairs, step, Sent::Paired, identity, |pairs, step| {
                    pairs.receive(from, message, step)
                })
            }
            (Self::Scan(wave), Sent::Scan(message)) => within(
                wave,
                step,
                Sent::Scan,
                Option::unwrap_or_default,
                |wave, step| wave.receive(from, message, step),
            ),
            (Self::Scatter(wave), Sent::Text(message)) => within(
                wave,
                step,
                Sent::Text,
                |value| vec![value],
                |wave, step| wave.receive(from, message, step),
            ),
            (Self::AllToAll(machine), Sent::Value(value)) => {
                let concat = |all: Vec<Text>| all.concat();
                within(machine, step, Sent::Value, concat, |machine, step| {
                    machine.receive(from, value, step)
                })
            }
            _ => Err(Stray),
        }
    }
}

fn no_text((): ()) -> Text {
    Text::new()
}

/// An act of a rank.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Begins.
    Begin,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ends {
    has_begun: bool,
    output: Option<Text>,
    /// The children whose values have arrived.
    arrived: Vec<Rank>,
}

fn concat(mut a: Text, b: Text) -> Text {
    a.extend(b);
    a
}

impl Collective {
    fn branch(&self, here: Rank) -> Branch {
        Branch::new(here, self.ranks, self.radix)
    }

    /// Returns the result with which a rank must end.
    fn expected(&self, here: u8) -> Text {
        let all = 0..self.ranks as u8;
        match self.kind {
            Kind::Barrier => Text::new(),
            Kind::AllReduce | Kind::Pairs => all.collect(),
            Kind::Scan => (0..here).collect(),
            Kind::Scatter => vec![here],
            Kind::AllToAll => all.flat_map(|from| [from, here]).collect(),
        }
    }

    /// Whether a rank that has ended implies that all have begun.
    fn joins(&self) -> bool {
        matches!(
            self.kind,
            Kind::Barrier | Kind::AllReduce | Kind::Pairs | Kind::AllToAll
        )
    }
}

impl Checked for Collective {
    type Machine = One;
    type Driver = Ends;
    type Act = Act;
    /// The number of ranks that have begun.
    type Ghost = u32;

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        let branch = self.branch(here);
        let machine = match self.kind {
            Kind::Barrier => One::Barrier(Barrier::new(branch, Meet)),
            Kind::AllReduce => {
                One::AllReduce(AllReduce::new(branch, CombineForAll::by(concat as Concat)))
            }
            Kind::Pairs => One::Pairs(Pairs::new(here, self.ranks, concat as Concat)),
            Kind::Scan => One::Scan(Scan::new(branch, CombineBefore::by(concat as Concat))),
            Kind::Scatter => One::Scatter(Scatter::new(branch, Deal::default())),
            Kind::AllToAll => One::AllToAll(AllToAll::new(here, self.ranks)),
        };
        let driver = Ends {
            // The others receive without beginning.
            has_begun: self.kind == Kind::Scatter && here != Rank(0),
            output: None,
            arrived: Vec::new(),
        };
        Part { machine, driver }
    }

    fn acts(&self, _: Rank, Part { driver, .. }: &PartOf<Self>, _: &u32) -> Vec<Act> {
        vec![Act::Begin; usize::from(!driver.has_begun)]
    }

    fn event(&self, at: &mut At<'_, Self>, Act::Begin: Act) -> Option<(Rank, u32)> {
        at.driver.has_begun = true;
        *at.ghost += 1;
        if self.fault == Some(CollectiveFault::EndWhenSent) {
            at.driver.output = Some(self.expected(at.here.0 as u8));
        }
        Some((at.here, self.ranks))
    }

    fn calls(_: &mut Ends) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &One, output: Text) -> Option<(Rank, u32)> {
        let ended = at.driver.output.replace(output);
        if ended.is_some() && self.fault.is_none() {
            at.find(Flaw::Repeated);
        }
        None
    }

    fn send(&self, _: &mut At<'_, Self>, _: Rank, mut message: Sent) -> Option<Sent> {
        if let (Some(CollectiveFault::DealInReverse), Sent::Text(Message::Down(values))) =
            (self.fault, &mut message)
        {
            values.reverse();
        }
        if let (Some(CollectiveFault::RoundsInReverse), Sent::Paired(Paired::Round(_, values))) =
            (self.fault, &mut message)
        {
            values.reverse();
        }
        Some(message)
    }

    fn receive(
        &self,
        at: &mut At<'_, Self>,
        mut from: Rank,
        message: Sent,
    ) -> Option<(Rank, Sent)> {
        let is_up = matches!(
            message,
            Sent::Text(Message::Up(_)) | Sent::Scan(Message::Up(_))
        );
        if self.fault == Some(CollectiveFault::OrderOfArrival) && is_up {
            // The first to arrive is taken for the first child, and so on.
            at.driver.arrived.push(from);
            let child = at.driver.arrived.len() - 1;
            let child = self.branch(at.here).children().nth(child);
            from = child.expect("as many values as children");
        }
        if self.fault == Some(CollectiveFault::EndWithFirst) {
            at.driver.output = Some(self.expected(at.here.0 as u8));
        }
        Some((from, message))
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let mut ended = (0..)
            .zip(&view.sites)
            .filter_map(|(here, part)| Some((here, part.driver.output.as_ref()?)));
        ended.find_map(|(here, output)| {
            if self.joins() && view.ghost.ghost < self.ranks {
                return Some(Flaw::Early);
            }
            (*output != self.expected(here)).then_some(Flaw::Count)
        })
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.sites.iter().all(|part| part.driver.output.is_some())
    }
}
