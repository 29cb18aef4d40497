//! The calls of a rank as one machine: the sequences of its groups, and the operations that use
//! them.

use std::collections::BTreeMap;
use tautline_core::Rank;
use tautline_core::collective::sequence::{
    Call, Effect as Delivers, Event as Of, Refusal, Sequence, Sequenced, Weight,
};
use tautline_core::collective::{
    Branch, Broadcast, Combine, Copies, ForAll, InForAll, Message, Reduce, Stray,
};
use tautline_core::group::Group;
use tautline_core::machine::{Action, Machine, Step, Tolerance};

/// The values of ranks, one after the other.
pub(crate) type Text = Vec<u8>;
type Concat = fn(Text, Text) -> Text;

fn concat(mut a: Text, b: Text) -> Text {
    a.extend(b);
    a
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// All ranks end with the values of all.
    All,
    /// Rank 0 ends with the values of all.
    First,
    /// All ranks end with the value of rank 0.
    Spread,
}

/// A call of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Made {
    pub(crate) kind: Kind,
    /// The length of the value of each rank.
    pub(crate) bytes: u8,
}

impl Call for Made {
    type Terms = Self;

    fn check(&self) -> u32 {
        u32::from(self.bytes) << 8 | self.kind as u32
    }

    fn terms(&self) -> Self {
        *self
    }
}

/// The message of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Body {
    All(InForAll<Text>),
    Wave(Message<Text, Text>),
}

impl Weight for Body {
    fn weight(&self) -> usize {
        1
    }
}

/// An operation at a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Op {
    All(ForAll<Text, Concat>),
    First(Reduce<Text, Concat>),
    Spread(Broadcast<Text>),
}

/// Its messages, and its result.
type Done = (Vec<(Rank, Body)>, Option<Text>);

/// Lets an operation take a step.
fn stepped<M: Machine<Peer = Rank, Calls = (), Refusal = Stray>>(
    machine: &mut M,
    body: impl Fn(M::Message) -> Body,
    text: impl Fn(M::Effect) -> Text,
    take: impl FnOnce(&mut M, &mut Step<'_, M>) -> Result<(), Stray>,
) -> Result<Done, Stray> {
    let mut done = Done::default();
    let mut act = |action| match action {
        Action::Send(to, message) => done.0.push((to, body(message))),
        Action::Effect(output) => done.1 = Some(text(output)),
    };
    take(machine, &mut Step::new(&mut (), &mut act))?;
    Ok(done)
}

impl Op {
    fn new(kind: Kind, here: Rank, ranks: u32) -> Self {
        let branch = Branch::of(here, ranks);
        match kind {
            Kind::All => Self::All(ForAll::new(here, ranks, concat)),
            Kind::First => Self::First(Reduce::new(branch, Combine::by(concat))),
            Kind::Spread => Self::Spread(Broadcast::new(branch, Copies::default())),
        }
    }

    /// Begins with the value of this rank, which only rank 0 has if the operation spreads that.
    fn begin(&mut self, here: Rank, own: Text) -> Done {
        let done = match self {
            Self::All(all) => stepped(
                all,
                Body::All,
                |text| text,
                |all, step| {
                    all.event(own, step);
                    Ok(())
                },
            ),
            Self::First(wave) => {
                stepped(wave, Body::Wave, Option::unwrap_or_default, |wave, step| {
                    wave.event(own, step);
                    Ok(())
                })
            }
            Self::Spread(_) if here != Rank(0) => return Done::default(),
            Self::Spread(wave) => stepped(
                wave,
                Body::Wave,
                |text| text,
                |wave, step| {
                    wave.event(own, step);
                    Ok(())
                },
            ),
        };
        done.expect("events are not refused")
    }

    fn receive(&mut self, from: Rank, body: Body) -> Result<Done, Stray> {
        match (self, body) {
            (Self::All(all), Body::All(message)) => stepped(
                all,
                Body::All,
                |text| text,
                |all, step| all.receive(from, message, step),
            ),
            (Self::First(wave), Body::Wave(message)) => {
                stepped(wave, Body::Wave, Option::unwrap_or_default, |wave, step| {
                    wave.receive(from, message, step)
                })
            }
            (Self::Spread(wave), Body::Wave(message)) => stepped(
                wave,
                Body::Wave,
                |text| text,
                |wave, step| wave.receive(from, message, step),
            ),
            _ => Err(Stray),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Self::All(all) => all.has_ended(),
            Self::First(wave) => wave.has_ended(),
            Self::Spread(wave) => wave.has_ended(),
        }
    }
}

/// An input of an operation.
enum Input {
    /// The value of this rank.
    Own(Text),
    Message(Rank, Body),
}

/// A call: its group, and its number there.
pub(crate) type Name = (usize, u64);

/// The reason why the calls of all ranks have ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Why {
    /// Two ranks have made other calls.
    Differs {
        name: Name,
        ranks: [Rank; 2],
        calls: [Option<Made>; 2],
    },
    /// The first rank waits in a call that the second one has not made.
    Absent { name: Name, ranks: [Rank; 2] },
    /// A call needs this rank.
    Lost(Rank),
}

/// A message between ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sent {
    Call(usize, Sequenced<Made, Body>),
    /// The sender makes no further call.
    Left,
    /// The calls have ended at the sender.
    Failed(Why),
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The program makes a call, with this value.
    Begin(usize, Made, Text),
    /// A call takes no message any more.
    End(Name),
    Wait,
    Leave,
}

#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Ended(Name, Text),
    Failed(Why),
    /// An operation has refused a message.
    Stray,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Joined {
    group: Group,
    sequence: Sequence<Made, Body>,
    ops: BTreeMap<u64, Op>,
}

/// The calls of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    here: Rank,
    ranks: u32,
    /// `None` if this rank is no member.
    groups: Vec<Option<Joined>>,
    lost: Vec<Rank>,
    has_failed: bool,
}

impl Caller {
    pub(crate) fn new(here: Rank, ranks: u32, groups: &[&[u32]], limit: usize) -> Self {
        let joined = |members: &&[u32]| {
            let group = Group::of(here, members.iter().copied().map(Rank))?;
            let sequence = Sequence::new(group.here(), group.ranks(), limit);
            let ops = BTreeMap::new();
            Some(Joined {
                group,
                sequence,
                ops,
            })
        };
        Self {
            here,
            ranks,
            groups: groups.iter().map(joined).collect(),
            lost: Vec::new(),
            has_failed: false,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Joined> {
        self.groups.iter().flatten()
    }

    /// Whether nothing is held back for other ranks.
    pub(crate) fn is_sent(&self) -> bool {
        self.all().all(|joined| joined.sequence.is_sent())
    }

    /// The messages kept for calls to come.
    pub(crate) fn kept(&self) -> usize {
        self.all().map(|joined| joined.sequence.kept()).sum()
    }

    /// Whether all memory of calls, and of messages for them, is released.
    pub(crate) fn is_empty(&self) -> bool {
        let is_empty = |joined: &Joined| !joined.sequence.is_busy() && joined.ops.is_empty();
        self.kept() == 0 && self.is_sent() && self.all().all(is_empty)
    }

    /// Ends all calls, at all ranks.
    fn fail(&mut self, why: Why, step: &mut Step<'_, Self>) {
        if std::mem::replace(&mut self.has_failed, true) {
            return;
        }
        let others = (0..self.ranks).map(Rank).filter(|rank| *rank != self.here);
        others.for_each(|rank| step.send(rank, Sent::Failed(why.clone())));
        step.effect(Effect::Failed(why));
    }

    /// Lets the sequence of a group take a step, and delivers its messages.
    fn step<R>(
        &mut self,
        at: usize,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Sequence<Made, Body>, &mut Step<'_, Sequence<Made, Body>>) -> R,
    ) -> R {
        let joined = self.groups[at].as_mut().expect("a member");
        let Joined {
            group, sequence, ..
        } = joined;
        let (mut delivered, mut ends) = (Vec::new(), Vec::new());
        let act = |action, act: &mut dyn FnMut(Action<Self>)| match action {
            Action::Send(to, message) => {
                act(Action::Send(group.member(to), Sent::Call(at, message)));
            }
            Action::Effect(Delivers::Deliver { number, from, body }) => {
                delivered.push((number, from, body));
            }
            Action::Effect(Delivers::Differs {
                rank,
                number,
                here,
                there,
            }) => ends.push(Why::Differs {
                name: (at, number),
                ranks: [group.here(), rank].map(|rank| group.member(rank)),
                calls: [here, there],
            }),
            Action::Effect(Delivers::Absent { rank, number }) => ends.push(Why::Absent {
                name: (at, number),
                ranks: [group.here(), rank].map(|rank| group.member(rank)),
            }),
        };
        let taken = step.within(act, |step| take(sequence, step));
        for (number, from, body) in delivered {
            self.operate((at, number), Input::Message(from, body), step);
        }
        for why in ends {
            self.fail(why, step);
        }
        taken
    }

    /// Lets an operation take a step.
    fn operate(&mut self, name: Name, input: Input, step: &mut Step<'_, Self>) {
        let (at, number) = name;
        let joined = self.groups[at].as_mut().expect("a member");
        let here = joined.group.here();
        let Some(op) = joined.ops.get_mut(&number) else {
            return step.effect(Effect::Stray);
        };
        let taken = match input {
            Input::Own(text) => Ok(op.begin(here, text)),
            Input::Message(from, body) => op.receive(from, body),
        };
        match taken {
            Err(Stray) => step.effect(Effect::Stray),
            Ok((messages, result)) => {
                for (to, body) in messages {
                    let event = Of::Send { number, to, body };
                    self.step(at, step, |sequence, step| sequence.event(event, step));
                }
                if let Some(text) = result {
                    step.effect(Effect::Ended(name, text));
                }
            }
        }
    }

    fn begin(&mut self, at: usize, made: Made, own: Text, step: &mut Step<'_, Self>) {
        let joined = self.groups[at].as_mut().expect("a member");
        let (here, ranks) = (joined.group.here(), joined.group.ranks());
        let number = joined.sequence.next();
        joined.ops.insert(number, Op::new(made.kind, here, ranks));
        let members = joined.group.clone();
        self.step(at, step, |sequence, step| {
            sequence.event(Of::Begin(made), step);
        });
        self.operate((at, number), Input::Own(own), step);
        let is_over = self.groups[at]
            .as_ref()
            .is_none_or(|joined| joined.ops[&number].has_ended());
        let lost = self
            .lost
            .iter()
            .copied()
            .find(|rank| members.rank_of(*rank).is_some());
        if let (Some(rank), false) = (lost, is_over) {
            self.fail(Why::Lost(rank), step);
        }
    }

    /// Lets the sequences of all groups process an event.
    fn of_all(&mut self, step: &mut Step<'_, Self>, of: impl Fn(&Group) -> Option<Of<Made, Body>>) {
        for at in 0..self.groups.len() {
            let event = self.groups[at]
                .as_ref()
                .and_then(|joined| of(&joined.group));
            if let Some(event) = event {
                self.step(at, step, |sequence, step| sequence.event(event, step));
            }
        }
    }
}

impl Machine for Caller {
    type Peer = Rank;
    type Message = Sent;
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin(at, made, own) => self.begin(at, made, own, step),
            Event::End((at, number)) => {
                let joined = self.groups[at].as_mut().expect("a member");
                joined.ops.remove(&number);
                self.step(at, step, |sequence, step| {
                    sequence.event(Of::End(number), step);
                });
            }
            Event::Wait => self.of_all(step, |_| Some(Of::Wait)),
            Event::Leave => {
                self.of_all(step, |_| Some(Of::Leave));
                let others = (0..self.ranks).map(Rank).filter(|rank| *rank != self.here);
                others.for_each(|rank| step.send(rank, Sent::Left));
            }
        }
    }

    /// After a failure, nothing is received any more.
    fn receive(
        &mut self,
        from: Rank,
        message: Sent,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            _ if self.has_failed => {}
            Sent::Failed(why) => self.fail(why, step),
            Sent::Left => self.of_all(step, |group| group.rank_of(from).map(Of::Left)),
            Sent::Call(at, message) => {
                let joined = self.groups.get(at).and_then(Option::as_ref);
                let from = joined.and_then(|joined| joined.group.rank_of(from));
                let from = from.ok_or(Refusal::NoMember)?;
                return self.step(at, step, |sequence, step| {
                    sequence.receive(from, message, step)
                });
            }
        }
        Ok(())
    }

    /// A call that has not ended does not tolerate the loss of a member.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        self.lost.push(rank);
        for at in 0..self.groups.len() {
            let Some(joined) = &self.groups[at] else {
                continue;
            };
            let Some(member) = joined.group.rank_of(rank) else {
                continue;
            };
            let is_needed = joined.ops.values().any(|op| !op.has_ended());
            self.step(at, step, |sequence, step| sequence.lost(member, step));
            if is_needed {
                self.fail(Why::Lost(rank), step);
            }
        }
        Tolerance::Tolerated
    }
}
