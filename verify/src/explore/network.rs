//! Actors and the network between them: how messages are delivered, and which faults it has.

use super::{Flaw, Interner, System};
use std::fmt::Debug;
use std::hash::Hash;
use std::rc::Rc;
use tautline_core::PlaceId;

/// A protocol at several places.
pub trait Actors {
    /// The state of one place.
    type Site: Clone + Eq + Hash + Debug;
    /// Messages between places.
    type Message: Clone + Eq + Hash + Debug;
    /// An act of a place on its own.
    type Act: Copy + Debug;
    /// The history, for the checks.
    type Ghost: Clone + Eq + Hash + Debug + Default;

    /// Returns the number of places.
    fn places(&self) -> u32;

    /// Returns the first state of a place.
    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> Self::Site;

    /// Returns the acts that the place may perform next.
    fn acts(&self, here: PlaceId, site: &Self::Site, ghost: &Self::Ghost) -> Vec<Self::Act>;

    /// Performs one of them.
    fn act(&self, here: PlaceId, site: &mut Self::Site, act: Self::Act, out: &mut Out<Self>);

    /// Processes a message.
    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Self::Site,
        from: PlaceId,
        message: Self::Message,
        out: &mut Out<Self>,
    );

    /// Processes the loss of another place.
    fn lost(&self, _here: PlaceId, _site: &mut Self::Site, _place: PlaceId, _out: &mut Out<Self>) {}

    /// Records in the ghost that `site` was lost, or `message` with a lost place.
    fn note_loss(
        &self,
        _site: Option<&Self::Site>,
        _message: Option<&Self::Message>,
        _ghost: &mut Self::Ghost,
    ) {
    }

    /// Whether the network's faults may affect this message.
    fn is_exposed(&self, _message: &Self::Message) -> bool {
        true
    }

    /// Whether the sender of this message does not matter: the receiver is taken for it.
    fn is_anonymous(&self, _message: &Self::Message) -> bool {
        false
    }

    /// Returns the invariant that a state violates, if any.
    fn judge(&self, view: &View<Self>) -> Option<Flaw>;

    /// Whether a state may be the last.
    fn is_final(&self, view: &View<Self>) -> bool;
}

/// The changes of a place outside itself.
#[derive(Debug)]
pub struct Out<A: Actors + ?Sized> {
    /// Messages sent.
    pub sent: Vec<(PlaceId, A::Message)>,
    /// The history, for the checks.
    pub ghost: A::Ghost,
    /// The site before, except at the start.
    pub(super) before: Option<Rc<A::Site>>,
}

/// A message in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parcel<M> {
    /// The sender.
    pub from: PlaceId,
    /// The receiver.
    pub to: PlaceId,
    /// The message; `None` is the news that the sender is lost.
    pub message: Option<M>,
}

/// A state, decoded.
#[derive(Debug)]
pub struct View<A: Actors + ?Sized> {
    /// The sites of all places.
    pub sites: Vec<Rc<A::Site>>,
    /// Messages in flight.
    pub parcels: Vec<Rc<Parcel<A::Message>>>,
    /// The history, for the checks.
    pub ghost: Rc<A::Ghost>,
    /// Lost places, as bits.
    pub lost: u32,
}

impl<A: Actors> View<A> {
    /// Whether `place` is lost.
    pub fn is_lost(&self, place: PlaceId) -> bool {
        self.lost >> place.0 & 1 != 0
    }

    /// Returns the places that are not lost, with their sites.
    pub fn living(&self) -> impl Iterator<Item = (PlaceId, &A::Site)> {
        let all = (0..).map(PlaceId).zip(&self.sites);
        all.filter(|(at, _)| !self.is_lost(*at))
            .map(|(at, site)| (at, &**site))
    }
}

/// The order in which messages are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Any message in flight may be next.
    Multiset,
    /// Messages of one place to another are delivered in the order in which they were sent.
    Channels,
}

/// The number of times that each fault may occur in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkFaults {
    /// A message is lost.
    pub lose: u32,
    /// A message is delivered twice.
    pub double: u32,
    /// A message overtakes others in its channel.
    pub overtake: u32,
    /// A place is lost with the messages to it; any part of what it sent last is lost, and then all
    /// other places are notified.
    pub crash: u32,
    /// Places that are never lost, as bits.
    pub spared: u32,
}

/// `actors` over a network: a [`System`].
#[derive(Debug)]
pub struct Network<A: Actors> {
    actors: A,
    delivery: Delivery,
    faults: NetworkFaults,
    sites: Interner<A::Site>,
    ghosts: Interner<A::Ghost>,
    parcels: Interner<Parcel<A::Message>>,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Step<Act> {
    /// A place does something.
    Act(PlaceId, Act),
    /// A message is delivered.
    Deliver(u32),
    /// A message is lost.
    Lose(u32),
    /// A message is doubled.
    Double(u32),
    /// A message is delivered before others of its channel.
    Overtake(u32),
    /// A place is lost.
    Crash(PlaceId),
}

const GHOST: usize = 0;
const LOST: usize = 1;
const USED: usize = 2;
const LOSE: usize = USED;
const DOUBLE: usize = USED + 1;
const OVERTAKE: usize = USED + 2;
const CRASH: usize = USED + 3;
const SITES: usize = USED + 4;

impl<A: Actors> Network<A> {
    /// Connects `actors` by a network without faults.
    ///
    /// # Panics
    /// More than 32 places.
    pub fn new(actors: A, delivery: Delivery) -> Self {
        assert!(actors.places() <= 32, "places are bits of a word here");
        Self {
            actors,
            delivery,
            faults: NetworkFaults::default(),
            sites: Interner::default(),
            ghosts: Interner::default(),
            parcels: Interner::default(),
        }
    }

    /// Adds faults.
    pub fn with_faults(mut self, faults: NetworkFaults) -> Self {
        self.faults = faults;
        self
    }

    /// Returns the actors, with what they have recorded.
    pub fn actors(&self) -> &A {
        &self.actors
    }

    /// Returns the message in flight with this number.
    pub(super) fn parcel(&self, number: u32) -> Rc<Parcel<A::Message>> {
        self.parcels.value(number)
    }

    fn mail_at(&self) -> usize {
        SITES + self.actors.places() as usize
    }

    fn view(&self, state: &[u32]) -> View<A> {
        let (sites, parcels) = state[SITES..].split_at(self.actors.places() as usize);
        View {
            sites: sites.iter().map(|site| self.sites.value(*site)).collect(),
            parcels: parcels
                .iter()
                .map(|parcel| self.parcels.value(*parcel))
                .collect(),
            ghost: self.ghosts.value(state[GHOST]),
            lost: state[LOST],
        }
    }

    /// Returns the channel of a message.
    fn channel(&self, parcel: u32) -> (PlaceId, PlaceId) {
        let parcel = &self.parcels.values[parcel as usize];
        (parcel.from, parcel.to)
    }

    /// Adds a message to those in flight, unless its receiver is lost.
    fn post(&mut self, state: &mut Vec<u32>, parcel: Parcel<A::Message>) {
        if state[LOST] >> parcel.to.0 & 1 != 0 {
            return;
        }
        let channel = (parcel.from, parcel.to);
        let number = self.parcels.number(parcel).0;
        let mail_at = self.mail_at();
        let at = match self.delivery {
            Delivery::Multiset => state[mail_at..].partition_point(|other| *other < number),
            Delivery::Channels => {
                state[mail_at..].partition_point(|other| self.channel(*other) <= channel)
            }
        };
        state.insert(mail_at + at, number);
    }

    /// Lets something happen at `here`, without the message at `without`.
    fn event(
        &mut self,
        state: &[u32],
        here: PlaceId,
        without: Option<usize>,
        happen: impl FnOnce(&A, &mut A::Site, &mut Out<A>),
    ) -> Vec<u32> {
        let mut next = state.to_vec();
        if let Some(at) = without {
            next.remove(at);
        }
        let at = SITES + here.index();
        let before = self.sites.value(state[at]);
        let mut site = (*before).clone();
        let mut out = Out {
            sent: Vec::new(),
            ghost: (*self.ghosts.value(state[GHOST])).clone(),
            before: Some(before),
        };
        happen(&self.actors, &mut site, &mut out);
        next[at] = self.sites.number(site).0;
        next[GHOST] = self.ghosts.number(out.ghost).0;
        for (to, message) in out.sent {
            let is_anonymous = self.actors.is_anonymous(&message);
            let parcel = Parcel {
                from: if is_anonymous { to } else { here },
                to,
                message: Some(message),
            };
            self.post(&mut next, parcel);
        }
        next
    }

    fn deliver(&mut self, state: &[u32], at: usize) -> Vec<u32> {
        let Parcel { from, to, message } = (*self.parcels.value(state[at])).clone();
        self.event(state, to, Some(at), |actors, site, out| match message {
            Some(message) => actors.deliver(to, site, from, message, out),
            None => actors.lost(to, site, from, out),
        })
    }

    fn crash(&mut self, state: &[u32], place: PlaceId) -> Vec<u32> {
        let mut next = state.to_vec();
        next[LOST] |= 1 << place.0;
        next[CRASH] += 1;
        let mut ghost = (*self.ghosts.value(state[GHOST])).clone();
        let site = self.sites.value(state[SITES + place.index()]);
        self.actors.note_loss(Some(&site), None, &mut ghost);
        let mails = next.split_off(self.mail_at());
        for mail in mails {
            let parcel = self.parcels.value(mail);
            if parcel.to == place {
                self.actors
                    .note_loss(None, parcel.message.as_ref(), &mut ghost);
            } else {
                next.push(mail);
            }
        }
        next[GHOST] = self.ghosts.number(ghost).0;
        for to in (0..self.actors.places())
            .map(PlaceId)
            .filter(|to| *to != place)
        {
            let news = Parcel {
                from: place,
                to,
                message: None,
            };
            self.post(&mut next, news);
        }
        next
    }

    /// The faults that may affect the message at `at`, the first of its channel or not.
    fn disturb(
        &mut self,
        state: &[u32],
        at: usize,
        is_first: bool,
        each: &mut impl FnMut(Step<A::Act>, &[u32]),
    ) {
        let parcel = self.parcels.value(state[at]);
        let Some(message) = &parcel.message else {
            return;
        };
        let exposed = self.actors.is_exposed(message);
        if exposed && state[LOSE] < self.faults.lose {
            let mut next = state.to_vec();
            next.remove(at);
            next[LOSE] += 1;
            each(Step::Lose(state[at]), &next);
        }
        if exposed && state[DOUBLE] < self.faults.double {
            let mut next = state.to_vec();
            next.insert(at, state[at]);
            next[DOUBLE] += 1;
            each(Step::Double(state[at]), &next);
        }
        if exposed && !is_first && state[OVERTAKE] < self.faults.overtake {
            let mut next = self.deliver(state, at);
            next[OVERTAKE] += 1;
            each(Step::Overtake(state[at]), &next);
        }
        // The last message that a lost place sent, before the news.
        let is_lost = state[LOST] >> parcel.from.0 & 1 != 0;
        let news = state.get(at + 1).map(|next| self.parcels.value(*next));
        let is_last = self.delivery == Delivery::Multiset
            || news.is_some_and(|news| {
                news.message.is_none() && news.from == parcel.from && news.to == parcel.to
            });
        if is_lost && is_last {
            let mut next = state.to_vec();
            next.remove(at);
            let mut ghost = (*self.ghosts.value(state[GHOST])).clone();
            self.actors.note_loss(None, Some(message), &mut ghost);
            next[GHOST] = self.ghosts.number(ghost).0;
            each(Step::Lose(state[at]), &next);
        }
    }
}

impl<A: Actors> System for Network<A> {
    type Step = Step<A::Act>;

    fn start(&mut self) -> Vec<u32> {
        let mut state = vec![0; SITES];
        let mut out = Out {
            sent: Vec::new(),
            ghost: A::Ghost::default(),
            before: None,
        };
        let mut sent = Vec::new();
        for here in (0..self.actors.places()).map(PlaceId) {
            let site = self.actors.start(here, &mut out);
            state.push(self.sites.number(site).0);
            sent.extend(out.sent.drain(..).map(|(to, message)| Parcel {
                from: here,
                to,
                message: Some(message),
            }));
        }
        state[GHOST] = self.ghosts.number(out.ghost).0;
        for parcel in sent {
            self.post(&mut state, parcel);
        }
        state
    }

    fn steps(&mut self, state: &[u32], each: &mut impl FnMut(Self::Step, &[u32])) {
        let ghost = self.ghosts.value(state[GHOST]);
        for here in (0..self.actors.places()).map(PlaceId) {
            if state[LOST] >> here.0 & 1 != 0 {
                continue;
            }
            let site = self.sites.value(state[SITES + here.index()]);
            for act in self.actors.acts(here, &site, &ghost) {
                let next = self.event(state, here, None, |actors, site, out| {
                    actors.act(here, site, act, out);
                });
                each(Step::Act(here, act), &next);
            }
            let spared = self.faults.spared >> here.0 & 1 != 0;
            if state[CRASH] < self.faults.crash && !spared {
                let next = self.crash(state, here);
                each(Step::Crash(here), &next);
            }
        }
        for at in self.mail_at()..state.len() {
            let before = (at > self.mail_at()).then(|| state[at - 1]);
            let is_first = match self.delivery {
                Delivery::Multiset => before != Some(state[at]),
                Delivery::Channels => {
                    before.is_none_or(|mail| self.channel(mail) != self.channel(state[at]))
                }
            };
            if is_first {
                let next = self.deliver(state, at);
                each(Step::Deliver(state[at]), &next);
            }
            if is_first || self.delivery == Delivery::Channels {
                self.disturb(state, at, is_first, each);
            }
        }
    }

    fn judge(&self, state: &[u32]) -> Option<Flaw> {
        self.actors.judge(&self.view(state))
    }

    fn is_final(&self, state: &[u32]) -> bool {
        self.actors.is_final(&self.view(state))
    }

    fn show(&self, step: Self::Step) -> String {
        let parcel = |number| {
            let Parcel { from, to, message } = &*self.parcels.value(number);
            match message {
                Some(message) => format!("{from} to {to}: {message:?}"),
                None => format!("{to} learns that {from} is lost"),
            }
        };
        match step {
            Step::Act(here, act) => format!("{here}: {act:?}"),
            Step::Deliver(number) => parcel(number),
            Step::Lose(number) => format!("lost: {}", parcel(number)),
            Step::Double(number) => format!("doubled: {}", parcel(number)),
            Step::Overtake(number) => format!("overtaking: {}", parcel(number)),
            Step::Crash(place) => format!("{place} is lost"),
        }
    }
}
