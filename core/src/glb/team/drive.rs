//! Steps of the protocol of a place, on the state that its workers share.

use super::{Driver, Victims};
use crate::glb::laws::divide;
use crate::glb::{Bag, Effect, Event, Message, Observer, Protocol, Share};
use crate::id::PlaceId;
use crate::lifeline::Demand;
use crate::machine::{Action, Machine, Step, drive};
use crate::port::Port;
use crate::watch::Passage;

/// The protocol of a place, and the worker that has locked it.
pub(super) struct Turn<'a, B: Bag, P, O> {
    pub(super) protocol: &'a mut Protocol<B>,
    pub(super) victims: &'a mut Victims,
    pub(super) driver: Driver<'a, B, P, O>,
}

impl<B: Bag, P: Port<Message<B>>, O: Observer> Turn<'_, B, P, O> {
    /// Lets the protocol process an event.
    pub(super) fn event(&mut self, event: Event<B>) {
        self.step(|protocol, step| protocol.event(event, step));
    }

    /// Lets the protocol take a step.
    pub(super) fn step<R>(
        &mut self,
        take: impl FnOnce(&mut Protocol<B>, &mut Step<'_, Protocol<B>>) -> R,
    ) -> R {
        let act = |action| self.driver.act(action);
        drive(self.protocol, self.victims, act, take)
    }
}

impl<B: Bag, P: Port<Message<B>>, O: Observer> Driver<'_, B, P, O> {
    /// Reports loot that passes between this place and `other`, if the message carries some.
    pub(super) fn observe(&mut self, message: &Message<B>, other: PlaceId, is_sent: bool) {
        if message.loot().is_none() {
            return;
        }
        let (from, to) = match is_sent {
            true => (self.here, other),
            false => (other, self.here),
        };
        self.meter.loot(Passage {
            from,
            to,
            is_answer: matches!(message, Message::Answer(_)),
            is_sent,
        });
    }

    fn split_own(&mut self, share: Share) -> Option<B> {
        let bag = self.own.as_mut().filter(|bag| bag.is_splittable())?;
        divide(*bag, share)
    }

    /// Carries out an action of the protocol.
    fn act(&mut self, action: Action<Protocol<B>>) -> Option<Event<B>> {
        match action {
            Action::Send(to, message) => {
                self.tally.on_send(&message);
                // Before the receiver can observe the message.
                self.observe(&message, to, true);
                self.port.send(to, message);
            }
            Action::Effect(Effect::Work(loot)) => self.work(loot),
            Action::Effect(Effect::Take(demand)) => {
                return Some(Event::Taken(demand, self.take(demand)));
            }
            Action::Effect(Effect::Improve(bound)) => {
                if let Some(known) = B::bound(&self.team.shared) {
                    known.improve_to(bound);
                }
            }
            Action::Effect(Effect::Done) => self.port.close(),
        }
        None
    }

    fn work(&mut self, loot: B) {
        self.team.intra.feed(loot, B::merge, self.port);
        if let Some(worker) = self.team.crew.claim(self.me) {
            self.team.start(worker, None, self.port);
            self.team.crew_changed(self.port);
        }
    }

    fn take(&mut self, demand: Demand) -> Option<B> {
        // Of what is set aside, a ration leaves the portions of the other thieves.
        let (share, others) = match demand {
            Demand::Request { .. } => (self.team.config.steal.into(), 0),
            Demand::Ration { thieves } => (Share::Ration(thieves), thieves - 1),
        };
        let portion = |pile: &mut B| match others {
            0 => None,
            _ => divide(pile, Share::Ration(others)),
        };
        let lent = if self.team.lender.inter.is_empty() {
            None
        } else {
            self.team.lender.inter.take(portion, self.port)
        };
        lent.or_else(|| self.split_own(share))
    }
}
