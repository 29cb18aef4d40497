//! What [`Plain`](super::Plain) links share: queues by rank.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use tautline_core::Rank;
use tautline_core::comm::{Body, News, Packet, Recipient};

pub(super) struct World {
    ranks: Mutex<Vec<State>>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) mail: VecDeque<(Rank, Vec<u8>)>,
    pub(super) inbox: Inbox,
    /// Losses to be reported to it.
    pub(super) losses: Vec<Rank>,
    pub(super) is_rung: bool,
    pub(super) is_gone: bool,
}

impl World {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            ranks: Mutex::new((0..ranks).map(|_| State::default()).collect()),
            changed: Condvar::new(),
        }
    }

    pub(super) fn ranks(&self) -> MutexGuard<'_, Vec<State>> {
        self.ranks.lock().expect("held for moves of queues only")
    }
}

/// The packets of one rank.
#[derive(Default)]
pub(super) struct Inbox {
    /// What the next poll passes on, by the number of the packets.
    pub(super) sent: VecDeque<(u32, Sent)>,
    pub(super) receivers: BTreeMap<u32, Receiver>,
    /// Memory for bodies: by number, sender and offer.
    pub(super) provided: BTreeMap<(u32, Rank, u64), Body>,
}

/// What was sent to a rank.
pub(super) enum Sent {
    News(News),
    /// A body that its sender wants back.
    Body(Rank, u64, Body),
}

pub(super) enum Receiver {
    /// What has arrived before it was opened.
    Early(Vec<News>),
    Open(Arc<dyn Recipient>),
    Closed,
}

impl Inbox {
    /// Whether a poll has nothing to pass on.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    fn pass_on(&mut self, number: u32, news: News) {
        let receiver = self.receivers.entry(number);
        match receiver.or_insert_with(|| Receiver::Early(Vec::new())) {
            Receiver::Early(early) => early.push(news),
            Receiver::Open(recipient) => recipient.take(news),
            Receiver::Closed => {}
        }
    }

    /// Returns the packet with a body, in the memory that was provided for it.
    fn receive(&mut self, number: u32, from: Rank, offer: u64, body: &Body) -> News {
        let provided = self.provided.remove(&(number, from, offer));
        let body = match provided {
            Some(mut memory) => {
                memory.bytes_mut()[..body.len()].copy_from_slice(body);
                memory
            }
            None => body.clone(),
        };
        News::Packet(from, Packet::Body { offer, body })
    }
}

/// Passes on the packets that were sent to rank `here`. Returns whether there was anything.
pub(super) fn pass_packets(ranks: &mut [State], here: Rank) -> bool {
    let sent = std::mem::take(&mut ranks[here.index()].inbox.sent);
    let moved = !sent.is_empty();
    for (number, sent) in sent {
        let news = match sent {
            Sent::News(news) => news,
            Sent::Body(from, offer, body) => {
                let inbox = &mut ranks[here.index()].inbox;
                let news = inbox.receive(number, from, offer, &body);
                let to = here;
                let back = Sent::News(News::Sent { to, offer, body });
                ranks[from.index()].inbox.sent.push_back((number, back));
                news
            }
        };
        ranks[here.index()].inbox.pass_on(number, news);
    }
    moved
}
