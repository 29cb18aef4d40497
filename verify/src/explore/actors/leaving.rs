//! Ranks whose programs end while messages between them are on their way.

use crate::explore::{Actors, Flaw, Out, View};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use tautline_core::comm::{
    Body, CommId, Limits, Mail, Messenger, News, Operation, Outcome, Packet, Pattern, Tag,
    Unreceived, Worker,
};
use tautline_core::{PlaceId, Rank};

/// Ranks that send each other messages, receive some of them, close and leave, each at any time.
///
/// A messenger cannot be copied: a site is the history of its rank, and is repeated for each step. So two sites are equal only if
/// all that ever happened to them is.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    /// The programs of the ranks.
    pub programs: &'static [Program],
    /// Bytes of room for each sender: a message takes 68.
    pub room: usize,
    /// What is wrong.
    pub slip: Option<LeavingSlip>,
}

/// What a rank does.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The messages that it sends, in turn to each other rank; one alone to itself.
    pub sends: u32,
    /// Its receives.
    pub receives: u32,
    /// Whether it ends after all others have left.
    pub is_last: bool,
}

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavingSlip {
    /// A rank leaves although messages are on their way.
    Hurry,
    /// No arrival is acknowledged.
    Silent,
    /// A rank that closes states that nothing has arrived.
    Deny,
    /// A rank does not count what it drops.
    Forget,
}

/// A packet, compared by all of its fields.
#[derive(Clone, Debug)]
pub struct Sent(Packet, String);

impl Sent {
    fn new(packet: Packet) -> Self {
        let text = format!("{packet:?}");
        Self(packet, text)
    }
}

impl PartialEq for Sent {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl Eq for Sent {}

impl Hash for Sent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.1.hash(state);
    }
}

/// What a rank does on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// It sends its next message.
    Send,
    /// It posts a receive from any rank.
    Receive,
    /// Its program ends.
    Close,
    /// It sends nothing any more.
    Leave,
}

/// Something that happened to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Event {
    Act(Act),
    Take(Rank, Sent),
    Lose(Rank),
}

/// One rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    history: Vec<Event>,
    seen: Seen,
}

/// What the program of a rank has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Seen {
    /// By receiver, how many sends have ended without an error.
    sent: Vec<u64>,
    /// Sends and receives that have not ended.
    pending: usize,
    /// The messages received: their senders and their numbers there.
    received: Vec<(Rank, u32)>,
    is_settled: bool,
    /// What is counted: the sender, the receiver and the number.
    unreceived: Vec<(Rank, Rank, u64)>,
}

impl Site {
    fn times(&self, act: Act) -> u32 {
        let acts = self.history.iter().filter(|e| **e == Event::Act(act));
        acts.count() as u32
    }

    fn has(&self, act: Act) -> bool {
        self.times(act) > 0
    }
}

/// The mail of one rank.
#[derive(Clone)]
struct Post {
    here: Rank,
    ranks: u32,
    arrived: Rc<RefCell<VecDeque<News>>>,
    sent: Rc<RefCell<Vec<(Rank, Packet)>>>,
}

impl Mail for Post {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn send(&mut self, to: Rank, packet: Packet) {
        self.sent.borrow_mut().push((to, packet));
    }

    fn poll(&mut self) -> Option<News> {
        self.arrived.borrow_mut().pop_front()
    }
}

/// An operation of the program: its receiver, unless it is a receive; and its end.
type Started = (Option<Rank>, Arc<Mutex<Option<Outcome>>>);

/// A rank that repeats its history.
struct Replay {
    leaving: Leaving,
    post: Post,
    worker: Worker<Messenger<Post>>,
    started: Vec<Started>,
}

impl Replay {
    fn new(leaving: Leaving, here: PlaceId) -> Self {
        let post = Post {
            here: Rank(here.0),
            ranks: leaving.places(),
            arrived: Rc::default(),
            sent: Rc::default(),
        };
        let limits = Limits {
            eager: leaving.room,
        };
        Self {
            leaving,
            worker: Worker::new(Messenger::new(post.clone(), limits), Arc::new(|| ())),
            post,
            started: Vec::new(),
        }
    }

    fn apply(&mut self, event: &Event) {
        let arrives = |news| self.post.arrived.borrow_mut().push_back(news);
        match event {
            Event::Take(from, packet) => arrives(News::Packet(*from, packet.0.clone())),
            Event::Lose(rank) => arrives(News::Lost(*rank, "exploring")),
            Event::Act(Act::Send) => self.send(),
            Event::Act(Act::Receive) => self.start(
                None,
                Operation::Receive {
                    pattern: Pattern::any(CommId(0)),
                    limit: 4,
                    into: Body::default(),
                },
            ),
            Event::Act(Act::Close) => self.worker.carrier().close(),
            Event::Act(Act::Leave) => {}
        }
        while self.worker.step() {}
    }

    /// Sends the number of the message among those of this rank.
    fn send(&mut self) {
        let number = self.started.iter().filter(|(to, _)| to.is_some()).count() as u32;
        let Post { here, ranks, .. } = self.post;
        let to = Rank((here.0 + 1 + number % (ranks - 1).max(1)) % ranks);
        let operation = Operation::Send {
            comm: CommId(0),
            to,
            tag: Tag(number),
            body: number.to_le_bytes().to_vec().into(),
        };
        self.start(Some(to), operation);
    }

    fn start(&mut self, to: Option<Rank>, operation: Operation) {
        let ended = Arc::<Mutex<Option<Outcome>>>::default();
        let put = Arc::clone(&ended);
        let done = move |outcome| {
            *put.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        };
        self.worker.tasks().submit(operation, Arc::new(done));
        self.started.push((to, ended));
    }

    fn seen(&mut self) -> Seen {
        let mut seen = Seen {
            sent: vec![0; self.post.ranks as usize],
            is_settled: self.worker.carrier().is_settled(),
            ..Seen::default()
        };
        for (to, ended) in &self.started {
            let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
            match (to, &*ended) {
                (_, None) => seen.pending += 1,
                (_, Some(Err(_))) => {}
                (Some(to), Some(Ok(_))) => seen.sent[to.index()] += 1,
                (None, Some(Ok(done))) => {
                    let from = done.status.source.expect("a message");
                    let body = <[u8; 4]>::try_from(&*done.body).expect("as it was sent");
                    seen.received.push((from, u32::from_le_bytes(body)));
                }
            }
        }
        let here = self.post.here;
        let counted = self.worker.carrier().unreceived();
        let counted = counted.filter(|unreceived| {
            self.leaving.slip != Some(LeavingSlip::Forget) || unreceived.from == here
        });
        seen.unreceived = counted
            .map(
                |Unreceived {
                     from, to, messages, ..
                 }| (from, to, messages),
            )
            .collect();
        seen
    }
}

impl Leaving {
    /// Whether all other ranks have left or are lost.
    fn is_alone(&self, site: &Site) -> bool {
        let left = Sent::new(Packet::Left);
        let is_end = |event: &&Event| match event {
            Event::Take(_, packet) => *packet == left,
            Event::Lose(_) => true,
            Event::Act(_) => false,
        };
        let ends = site.history.iter().filter(is_end).count();
        ends + 1 >= self.programs.len()
    }

    /// Lets `event` happen to a rank.
    fn happen(&self, here: PlaceId, site: &mut Site, event: Event, out: &mut Out<Self>) {
        if site.has(Act::Leave) {
            return;
        }
        let mut replay = Replay::new(*self, here);
        site.history.iter().for_each(|event| replay.apply(event));
        replay.post.sent.borrow_mut().clear();
        replay.apply(&event);
        site.history.push(event);
        site.seen = replay.seen();
        for (to, packet) in replay.post.sent.take() {
            let packet = match (packet, self.slip) {
                (Packet::Arrived { .. }, Some(LeavingSlip::Silent)) => continue,
                (Packet::Closed { .. }, Some(LeavingSlip::Deny)) => Packet::Closed { messages: 0 },
                (packet, _) => packet,
            };
            out.sent.push((PlaceId(to.0), Sent::new(packet)));
        }
    }
}

impl Actors for Leaving {
    type Site = Site;
    type Message = Sent;
    type Act = Act;
    /// Lost ranks, as bits.
    type Ghost = u32;

    fn places(&self) -> u32 {
        self.programs.len() as u32
    }

    fn start(&self, _: PlaceId, _: &mut Out<Self>) -> Site {
        Site::default()
    }

    /// Sends also after its program has ended, as its worker may start an operation late; leaves once it waits for nothing.
    fn acts(&self, here: PlaceId, site: &Site, _: &u32) -> Vec<Act> {
        let Program {
            sends,
            receives,
            is_last,
        } = self.programs[here.index()];
        let (is_closed, has_left) = (site.has(Act::Close), site.has(Act::Leave));
        let is_settled = site.seen.is_settled || self.slip == Some(LeavingSlip::Hurry);
        let may = |act| match act {
            Act::Send => site.times(Act::Send) < sends,
            Act::Receive => !is_closed && site.times(Act::Receive) < receives,
            Act::Close => !is_closed && (!is_last || self.is_alone(site)),
            Act::Leave => is_closed && site.seen.pending == 0 && is_settled,
        };
        let all = [Act::Send, Act::Receive, Act::Close, Act::Leave].into_iter();
        all.filter(|act| !has_left && may(*act)).collect()
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        self.happen(here, site, Event::Act(act), out);
        if act == Act::Leave {
            let others = (0..self.places()).map(PlaceId).filter(|at| *at != here);
            out.sent
                .extend(others.map(|at| (at, Sent::new(Packet::Left))));
        }
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        packet: Sent,
        out: &mut Out<Self>,
    ) {
        self.happen(here, site, Event::Take(Rank(from.0), packet), out);
    }

    fn lost(&self, here: PlaceId, site: &mut Site, place: PlaceId, out: &mut Out<Self>) {
        out.ghost |= 1 << place.0;
        self.happen(here, site, Event::Lose(Rank(place.0)), out);
    }

    /// Messages of one rank are received in their order, each once; and in the end each that its sender takes for sent was received or
    /// is counted at one of the two ranks.
    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let sites: Vec<_> = view.living().collect();
        let is_ordered = |site: &Site| {
            let of = |rank| {
                site.seen
                    .received
                    .iter()
                    .filter(move |(from, _)| *from == rank)
            };
            let ranks = (0..self.places()).map(Rank);
            ranks
                .into_iter()
                .all(|rank| of(rank).is_sorted_by(|a, b| a.1 < b.1))
        };
        if !sites.iter().all(|(_, site)| is_ordered(site)) {
            return Some(Flaw::Repeated);
        }
        if !self.is_final(view) {
            return None;
        }
        let mut pairs = sites.iter().flat_map(|a| sites.iter().map(move |b| (a, b)));
        let is_exact =
            |((from, sender), (to, receiver)): (&(PlaceId, &Site), &(PlaceId, &Site))| {
                let (from, to) = (Rank(from.0), Rank(to.0));
                let sent = sender.seen.sent.get(to.index()).copied().unwrap_or(0);
                let received = receiver.seen.received.iter().filter(|(of, _)| *of == from);
                let counted = sites.iter().flat_map(|(_, site)| &site.seen.unreceived);
                let counted = counted.filter(|(a, b, _)| (*a, *b) == (from, to));
                let counted: u64 = counted.map(|(_, _, messages)| messages).sum();
                sent == received.count() as u64 + counted
            };
        (!pairs.all(is_exact)).then_some(Flaw::Count)
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.living().all(|(_, site)| site.has(Act::Leave))
    }
}
