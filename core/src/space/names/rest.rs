//! The machine of a space at one rank, with the detection of quiescence.

use super::machine::{Effect, Event, Names};
use super::memory::Memory;
use super::message::{Message, Refusal};
use crate::collective::{Branch, InRound, Quiesce, Verdict};
use crate::id::Rank;
use crate::machine::{Action, Machine, Step, Tolerance};
use crate::space::Misuse;

/// A message between the ranks of a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum SpaceMessage<K, V> {
    /// About a key.
    Of(Message<K, V>),
    /// Of a round that counts messages.
    Round(InRound),
}

/// An event at a rank of a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SpaceEvent<K, V> {
    /// About a key.
    Of(Event<K, V>),
    /// No task of this rank runs, and none will without a message: the rank counts its messages, if
    /// it has not done so in this round. An idle rank that has fetches to send is not at rest.
    Rest,
    /// As [`Rest`](Self::Rest), and the program reads and puts nothing here any more.
    Close,
}

/// A request to the driver of a space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SpaceEffect<K> {
    /// About a key.
    Of(Effect<K>),
    /// A message may be in flight. The rank counts again once it is at rest, best after it has
    /// processed what has arrived.
    Busy,
    /// No message is in flight, and all ranks are at rest. If reads [wait](Names::waiting), no rank
    /// will put their keys; else, if all ranks have closed the space, it can be dropped.
    Quiet,
    /// Quiescence cannot be detected, since this rank was lost.
    Unknown(Rank),
}

/// A space at one rank: its [`Names`], and rounds of [`Quiesce`].
///
/// Closing a space and reporting keys that are never put are one problem: all ranks are at rest and
/// no message is in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Space<M: Memory> {
    names: Names<M>,
    branch: Branch,
    quiesce: Quiesce,
    /// Whether this rank has counted in the present round.
    has_counted: bool,
    is_closed: bool,
    /// The first rank that was lost.
    lost: Option<Rank>,
}

impl<M: Memory> Space<M> {
    /// Creates the machine of the rank at `branch`, which has these names.
    pub fn new(names: Names<M>, branch: Branch) -> Self {
        Self {
            names,
            quiesce: Quiesce::new(branch.clone()),
            branch,
            has_counted: false,
            is_closed: false,
            lost: None,
        }
    }

    /// Returns the names.
    pub fn names(&self) -> &Names<M> {
        &self.names
    }

    /// Lets the names take a step.
    fn names_step<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Names<M>, &mut Step<'_, Names<M>>) -> T,
    ) -> T {
        let names = &mut self.names;
        step.within(
            |action, act| {
                act(match action {
                    Action::Send(to, message) => Action::Send(to, SpaceMessage::Of(message)),
                    Action::Effect(effect) => Action::Effect(SpaceEffect::Of(effect)),
                });
            },
            |step| take(names, step),
        )
    }

    /// Lets a round take a step.
    fn round<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Quiesce, &mut Step<'_, Quiesce>) -> T,
    ) -> T {
        let mut verdict = None;
        let mut act = |action: Action<Quiesce>| match action {
            Action::Send(to, message) => step.send(to, SpaceMessage::Round(message)),
            Action::Effect(found) => verdict = Some(found),
        };
        let taken = take(&mut self.quiesce, &mut Step::new(&mut (), &mut act));
        if let Some(verdict) = verdict {
            self.has_counted = false;
            step.effect(match verdict {
                Verdict::Busy => SpaceEffect::Busy,
                Verdict::Quiet => {
                    // The program may cancel the reads that wait, and close the space.
                    self.quiesce = Quiesce::new(self.branch.clone());
                    SpaceEffect::Quiet
                }
            });
        }
        taken
    }

    /// Counts the messages of this rank, which is at rest.
    fn rest(&mut self, step: &mut Step<'_, Self>) {
        if self.names.ended().is_some() || self.has_counted {
            return;
        }
        if let Some(rank) = self.lost {
            return step.effect(SpaceEffect::Unknown(rank));
        }
        self.has_counted = true;
        let counts = self.names.counts();
        self.round(step, |quiesce, step| quiesce.event(counts, step));
    }

    /// Refuses a read or a put after the close. Returns any other event.
    fn refuse(
        event: Event<M::Key, M::Value>,
        step: &mut Step<'_, Self>,
    ) -> Option<Event<M::Key, M::Value>> {
        let key = match event {
            Event::Get(key) | Event::Take(key) => key,
            Event::Put(key, value) => {
                step.calls().give_back(&key, value);
                key
            }
            event => return Some(event),
        };
        step.effect(SpaceEffect::Of(Effect::Refused(key, Misuse::Closed)));
        None
    }
}

/// Its calls are made to the memory of the space.
impl<M: Memory> Machine for Space<M> {
    type Peer = Rank;
    type Message = SpaceMessage<M::Key, M::Value>;
    type Event = SpaceEvent<M::Key, M::Value>;
    type Effect = SpaceEffect<M::Key>;
    type Calls = M;
    type Refusal = Refusal;

    fn event(&mut self, event: Self::Event, step: &mut Step<'_, Self>) {
        let event = match event {
            SpaceEvent::Of(event) if self.is_closed => Self::refuse(event, step),
            SpaceEvent::Of(event) => Some(event),
            SpaceEvent::Rest => return self.rest(step),
            SpaceEvent::Close => {
                self.is_closed = true;
                return self.rest(step);
            }
        };
        if let Some(event) = event {
            self.names_step(step, |names, step| names.event(event, step));
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            SpaceMessage::Of(message) => {
                self.names_step(step, |names, step| names.receive(from, message, step))
            }
            // No round ends any more.
            SpaceMessage::Round(_) if self.names.ended().is_some() || self.lost.is_some() => Ok(()),
            SpaceMessage::Round(message) => self
                .round(step, |quiesce, step| quiesce.receive(from, message, step))
                .map_err(|_| Refusal::Round),
        }
    }

    /// The names of which the rank is not the home are not affected; a round does not end.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        let is_first = self.lost.is_none();
        self.lost.get_or_insert(rank);
        let tolerance = self.names_step(step, |names, step| names.lost(rank, step));
        if self.has_counted && is_first {
            self.has_counted = false;
            step.effect(SpaceEffect::Unknown(rank));
        }
        tolerance
    }
}
