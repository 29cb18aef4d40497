//! Packets of a [`Plain`](super::Plain) link.

use super::collectives::{End, Started};
use super::world::{self, Receiver, Sent, World};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{
    Body, Collective, Complete, Error, Matched, News, Packet, PacketLink, Recipient,
};

/// The packets of a [`Plain`](super::Plain) link: a body is moved to its receiver, and then back.
pub(super) struct PlainPackets {
    pub(super) here: Rank,
    pub(super) world: Arc<World>,
}

impl PlainPackets {
    fn put(&self, number: u32, to: Rank, sent: Sent) {
        let mut ranks = self.world.ranks();
        let state = &mut ranks[to.index()];
        if !state.is_gone {
            state.inbox.sent.push_back((number, sent));
        }
        drop(ranks);
        self.world.changed.notify_all();
    }
}

impl PacketLink for PlainPackets {
    fn open(&self, number: u32, recipient: Arc<dyn Recipient>) {
        let inbox = &mut self.world.ranks()[self.here.index()].inbox;
        let open = Receiver::Open(Arc::clone(&recipient));
        if let Some(Receiver::Early(early)) = inbox.receivers.insert(number, open) {
            early.into_iter().for_each(|news| recipient.take(news));
        }
    }

    fn close(&self, number: u32) {
        let mut ranks = self.world.ranks();
        let state = &mut ranks[self.here.index()];
        let inbox = &mut state.inbox;
        inbox.receivers.insert(number, Receiver::Closed);
        inbox.provided.retain(|(of, ..), _| *of != number);
        let started = state.started.remove(&number);
        drop(ranks);
        complete(world::end(&mut started.unwrap_or_default(), Error::Closed));
    }

    fn send(&self, number: u32, to: Rank, packet: Packet) {
        let news = News::Packet(self.here, packet);
        self.put(number, to, Sent::News(news));
    }

    fn send_body(&self, number: u32, to: Rank, offer: u64, body: Body) -> Option<Body> {
        self.put(number, to, Sent::Body(self.here, offer, body));
        None
    }

    fn provide(
        &self,
        number: u32,
        (from, offer): (Rank, u64),
        memory: Body,
        _: usize,
    ) -> Option<Body> {
        let inbox = &mut self.world.ranks()[self.here.index()].inbox;
        inbox.provided.insert((number, from, offer), memory);
        None
    }

    fn open_collectives(&self, number: u32) {
        let state = &mut self.world.ranks()[self.here.index()];
        state.started.entry(number).or_default();
    }

    fn collective(
        &self,
        _: Matched,
        number: u32,
        collective: Collective,
        own: Body,
        into: Body,
        done: Arc<dyn Complete>,
    ) {
        let operation = Started {
            collective,
            own,
            into,
            done,
        };
        let mut ranks = self.world.ranks();
        let ends = world::start(&mut ranks, number, self.here, operation);
        drop(ranks);
        complete(ends);
    }
}

/// Completes operations, under no lock.
pub(super) fn complete(ends: Vec<End>) {
    for (done, outcome) in ends {
        done.complete(outcome);
    }
}
