//! The actions of the protocol of a place, applied to the state that its workers share.

use super::{EventActions, mix};
use crate::glb::laws::divide;
use crate::glb::{Actions, Bag, Message, Observer, Share};
use crate::id::PlaceId;
use crate::port::Port;
use crate::watch::Passage;

impl<B: Bag, P: Port<Message<B>>, O: Observer> EventActions<'_, B, P, O> {
    /// Reports loot that passes between this place and `other`, if the message carries some.
    pub(super) fn observe(&mut self, message: &Message<B>, other: PlaceId, is_sent: bool) {
        let is_answer = match message {
            Message::Answer(Some(_)) => true,
            Message::Loot(_) => false,
            _ => return,
        };
        let (from, to) = match is_sent {
            true => (self.here, other),
            false => (other, self.here),
        };
        self.meter.loot(Passage {
            from,
            to,
            is_answer,
            is_sent,
        });
    }

    fn split_own(&mut self, share: Share) -> Option<B> {
        let bag = self.own.as_mut().filter(|bag| bag.is_splittable())?;
        divide(*bag, share)
    }
}

impl<B: Bag, P: Port<Message<B>>, O: Observer> Actions<B> for EventActions<'_, B, P, O> {
    fn send(&mut self, to: PlaceId, message: Message<B>) {
        self.tally.on_send(&message);
        // Before the receiver can observe the message.
        self.observe(&message, to, true);
        self.port.send(to, message);
    }

    fn work(&mut self, loot: B) {
        self.team.intra.feed(loot, B::merge, self.port);
        if let Some(worker) = self.team.crew.claim(self.me) {
            self.team.start(worker, None, self.port);
            self.team.crew_changed(self.port);
        }
    }

    fn steal(&mut self) -> Option<B> {
        let lent = if self.team.lender.inter.is_empty() {
            None
        } else {
            self.team.lender.inter.take(|_| None, self.port)
        };
        lent.or_else(|| self.split_own(self.team.config.steal.into()))
    }

    fn ration(&mut self, thieves: usize) -> Option<B> {
        let portion = |pile: &mut B| {
            if thieves > 1 {
                divide(pile, Share::Ration(thieves - 1))
            } else {
                None
            }
        };
        let lent = if self.team.lender.inter.is_empty() {
            None
        } else {
            self.team.lender.inter.take(portion, self.port)
        };
        lent.or_else(|| self.split_own(Share::Ration(thieves)))
    }

    fn pick(&mut self, n: usize) -> usize {
        // Xorshift (Marsaglia 2003): the choice of victims only has to be uniform, seeded and
        // cheap.
        let mut x = *self.random;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        *self.random = x;
        (mix(x) % n as u64) as usize
    }

    fn improve(&mut self, bound: u128) {
        if let Some(known) = B::bound(&self.team.shared) {
            known.improve_to(bound);
        }
    }

    fn done(&mut self) {
        self.port.close();
    }
}
