//! State shared by [`Plain`](super::Plain) links: queues by rank.

use super::collectives::{End, Queue, Started, carry_out};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use tautline_core::Rank;
use tautline_core::comm::{Body, Error, News, Packet, Recipient};

pub(super) struct World {
    ranks: Mutex<Vec<State>>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) mail: VecDeque<(Rank, Vec<u8>)>,
    pub(super) inbox: Inbox,
    /// The collective operations of each number.
    pub(super) started: BTreeMap<u32, Queue>,
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
    /// The packets that the next poll passes on, by their number.
    pub(super) sent: VecDeque<(u32, Sent)>,
    pub(super) receivers: BTreeMap<u32, Receiver>,
    /// Memory for bodies: by number, sender and offer.
    pub(super) provided: BTreeMap<(u32, Rank, u64), Body>,
}

/// The parcels sent to a rank.
pub(super) enum Sent {
    News(News),
    /// A body that its sender wants back.
    Body(Rank, u64, Body),
}

pub(super) enum Receiver {
    /// The packets that arrived before it was opened.
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

/// Starts a collective operation of a number at a rank. Returns the operations that end.
pub(super) fn start(ranks: &mut [State], number: u32, here: Rank, operation: Started) -> Vec<End> {
    let gone = ranks.iter().position(|state| state.is_gone);
    let Some(queue) = ranks[here.index()].started.get_mut(&number) else {
        return vec![(operation.done, Err(Error::Closed))];
    };
    if let Some(rank) = gone {
        return vec![(operation.done, Err(lost(Rank(rank as u32))))];
    }
    queue.push_back(operation);
    let queues = ranks.iter_mut().map(|state| state.started.get_mut(&number));
    let queues: Option<Vec<_>> = queues.collect();
    match queues {
        Some(queues) if queues.iter().all(|queue| !queue.is_empty()) => {
            carry_out(queues.into_iter().flat_map(VecDeque::pop_front).collect())
        }
        _ => Vec::new(),
    }
}

/// Ends the operations that a rank has started and that cannot be carried out any more.
pub(super) fn end(queue: &mut Queue, error: Error) -> Vec<End> {
    let ends = queue.drain(..).map(|one| (one.done, Err(error)));
    ends.collect()
}

/// Returns the error of operations in which `rank` takes no part any more.
pub(super) fn lost(rank: Rank) -> Error {
    let doing = "receiving from it";
    Error::Lost { rank, doing }
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
