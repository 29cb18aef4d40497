//! Sequences of collective calls: all ranks of a group make them in the same order, over one
//! channel.

mod made;
mod message;
mod numbered;
mod open;
mod peer;

pub use message::{Call, Effect, Event, Refusal, Sequenced, Weight};

use crate::group::neighbours;
use crate::id::Rank;
use crate::machine::{Machine, Step, Tolerance};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use made::{Made, Open};
pub(crate) use numbered::Numbered;
pub use open::OpenCall;
use peer::{Early, Peer};

/// Calls that are remembered, so that a message for one that has ended is compared, too.
const RECENT: usize = 16;

/// The calls of a group at one rank.
///
/// # Algorithm
/// All ranks make the same calls in the same order, so the number of a call names it, and nothing
/// is announced. Each message has the number and a check of its call. A message for a call to come
/// is kept; its sender holds back what would be too much until it hears that the call was made. A
/// rank that waits for some time asks its [neighbours] for the call, and shows its own, so that two
/// ranks that wait for each other in different calls learn it. A rank that notices by the check
/// that another one has made another call shows its own: that rank has both then, and reports the
/// error.
///
/// # Bounds
/// Of each rank, `limit` bytes and one message are kept for calls to come, in addition to one
/// question. Calls that have ended take no memory, but for the last 16. What the others may not
/// keep yet is held back here, without a bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sequence<C: Call, B> {
    here: Rank,
    ranks: u32,
    limit: usize,
    begun: u64,
    /// The calls that have not ended.
    open: Numbered<Open<C>>,
    /// The last calls.
    recent: VecDeque<Made<C>>,
    /// By call to come.
    early: Numbered<Early<B>>,
    /// Boxed, since a map has memory for eleven at least, and most groups have few.
    peers: BTreeMap<Rank, alloc::boxed::Box<Peer<C::Terms, B>>>,
    /// The ranks with a question to be answered.
    asking: BTreeSet<Rank>,
    /// The ranks that make no further call.
    left: BTreeSet<Rank>,
    /// The ranks that are lost, without which this one continues.
    lost: BTreeSet<Rank>,
}

impl<C: Call, B: Weight> Sequence<C, B> {
    /// Creates the sequence of `here` in a group of `ranks`, which keeps `limit` bytes of each
    /// other one for calls to come.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn new(here: Rank, ranks: u32, limit: usize) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks} ranks");
        Self {
            here,
            ranks,
            limit: limit.max(1),
            begun: 0,
            open: Numbered::default(),
            recent: VecDeque::new(),
            early: Numbered::default(),
            peers: BTreeMap::new(),
            asking: BTreeSet::new(),
            left: BTreeSet::new(),
            lost: BTreeSet::new(),
        }
    }

    /// Returns the number of the next call.
    pub fn next(&self) -> u64 {
        self.begun
    }

    /// Whether a call has not ended.
    pub fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Releases memory for further calls: the group lives on to answer other ranks.
    #[cfg(feature = "wire")]
    pub(crate) fn shrink(&mut self) {
        self.open.shrink();
        self.recent.shrink_to_fit();
    }

    /// Whether nothing is held back for a rank that may still make the call.
    pub fn is_sent(&self) -> bool {
        self.peers.values().all(|peer| peer.held.is_empty())
    }

    /// Returns the bytes that are kept of a rank for calls to come.
    pub fn kept_of(&self, rank: Rank) -> usize {
        self.peers.get(&rank).map_or(0, |peer| peer.kept)
    }

    /// Returns the bytes that are kept for calls to come.
    pub fn kept(&self) -> usize {
        self.peers.values().map(|peer| peer.kept).sum()
    }

    /// Returns the first call in which this rank has waited for some time, and the neighbours that
    /// are not known to have made it, if there are any.
    pub fn absent(&self) -> Option<(u64, Vec<Rank>)> {
        self.open_numbers().find_map(|number| {
            let absent = self.asked(number);
            (!absent.is_empty()).then_some((number, absent))
        })
    }

    /// Returns the call with this number, if it is remembered.
    pub fn call(&self, number: u64) -> Option<&C> {
        self.made(number).map(|made| &made.call)
    }

    /// Returns the last call.
    #[cfg(feature = "wire")]
    pub(crate) fn last(&self) -> Option<&C> {
        self.recent.back().map(|made| &made.call)
    }

    fn made(&self, number: u64) -> Option<&Made<C>> {
        let first = self.begun - self.recent.len() as u64;
        let recent = number.checked_sub(first);
        let recent = recent.and_then(|at| self.recent.get(usize::try_from(at).ok()?));
        recent.or_else(|| self.open.get(number).map(|open| &open.made))
    }

    fn terms(&self, number: u64) -> Option<C::Terms> {
        self.call(number).map(Call::terms)
    }

    /// Returns the neighbours that are not known to have made a call, and that may still make it.
    fn missing(&self, number: u64) -> impl Iterator<Item = Rank> {
        neighbours(self.here, self.ranks).filter(move |rank| {
            let begun = self.peers.get(rank).map_or(0, |peer| peer.begun);
            begun <= number && !self.lost.contains(rank)
        })
    }

    fn peer(&mut self, rank: Rank) -> &mut Peer<C::Terms, B> {
        self.peers.entry(rank).or_default()
    }

    /// Returns the neighbours whose call with this number was not compared, and that may still
    /// answer.
    fn uncompared(&self, number: u64) -> impl Iterator<Item = Rank> {
        let same = self.open.get(number).map_or(0, |open| open.same);
        let bits = (0..).map(|at| 1 << at);
        let unknown = bits.zip(neighbours(self.here, self.ranks));
        let unknown = unknown.filter(move |(bit, _)| same & bit == 0);
        let is_here = |rank: &Rank| !self.left.contains(rank) && !self.lost.contains(rank);
        unknown.map(|(_, rank)| rank).filter(is_here)
    }

    fn begin(&mut self, call: C, step: &mut Step<'_, Self>) {
        let number = self.begun;
        self.begun += 1;
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let made = Made {
            check: call.check(),
            call,
        };
        self.recent.push_back(made.clone());
        let open = Open {
            made,
            is_old: false,
            same: 0,
        };
        self.open.insert(number, open);
        while let Some(early) = self.early.pop(number) {
            self.peer(early.from).kept -= early.body.weight();
            self.deliver(early.from, number, early.check, early.body, step);
        }
        self.answer_all(step);
        if !self.left.is_empty() {
            let gone = self.missing(number).find(|rank| self.left.contains(rank));
            if let Some(rank) = gone {
                step.effect(Effect::Absent { rank, number });
            }
        }
    }

    /// Answers the questions about calls that this rank has made.
    fn answer_all(&mut self, step: &mut Step<'_, Self>) {
        for rank in core::mem::take(&mut self.asking) {
            match self.peer(rank).asks.take() {
                Some((of, terms)) if of < self.begun => self.answer(rank, of, terms, step),
                later => {
                    self.peer(rank).asks = later;
                    self.asking.insert(rank);
                    // It may hold back messages of this call.
                    step.send(rank, Sequenced::Begun { calls: self.begun });
                }
            }
        }
    }

    /// Answers a question about a call of this rank.
    fn answer(
        &mut self,
        rank: Rank,
        number: u64,
        there: Option<C::Terms>,
        step: &mut Step<'_, Self>,
    ) {
        let here = self.terms(number);
        match (&here, &there) {
            (Some(own), Some(other)) if own != other => step.effect(Effect::Differs {
                rank,
                number,
                here,
                there,
            }),
            _ => {
                self.compared(rank, number);
                step.send(rank, Sequenced::Begun { calls: self.begun });
            }
        }
    }

    /// Delivers a message for a call that this rank has made.
    fn deliver(&mut self, from: Rank, number: u64, check: u32, body: B, step: &mut Step<'_, Self>) {
        if self.made(number).is_some_and(|made| made.check != check) {
            if self.peer(from).differs.is_some() {
                return;
            }
            self.peer(from).differs = Some(number);
            if self.left.contains(&from) {
                return self.differs(from, number, None, step);
            }
            // That rank compares the terms.
            let terms = self.terms(number);
            step.send(from, Sequenced::Differs { number, terms });
            return;
        }
        self.compared(from, number);
        if self.open.get(number).is_some() {
            step.effect(Effect::Deliver { number, from, body });
        }
    }

    /// Takes note that a call is the same at another rank.
    fn compared(&mut self, rank: Rank, number: u64) {
        let mut neighbours = neighbours(self.here, self.ranks);
        if let Some(open) = self.open.get_mut(number)
            && let Some(at) = neighbours.position(|neighbour| neighbour == rank)
        {
            open.same |= 1 << at;
        }
    }

    /// Takes note that a rank has made this number of calls, and sends what was held back for it.
    fn heard(&mut self, from: Rank, calls: u64, step: &mut Step<'_, Self>) {
        let answered = self.peer(from).asked.take_if(|number| *number < calls);
        if let Some(number) = answered {
            self.compared(from, number);
        }
        let peer = self.peer(from);
        if calls <= peer.begun && answered.is_none() {
            return;
        }
        peer.begun = peer.begun.max(calls);
        while let Some((number, bytes)) = peer.ahead.front().copied()
            && number < calls
        {
            peer.ahead.pop_front();
            peer.ahead_bytes -= bytes;
        }
        self.send_held(from, step);
    }

    /// Sends the messages that were held back for a rank: those of calls that it has made, and
    /// others as far as it may keep them.
    fn send_held(&mut self, to: Rank, step: &mut Step<'_, Self>) {
        let limit = self.limit;
        let peer = self.peer(to);
        let mut rest = VecDeque::new();
        while let Some((number, check, body)) = peer.held.pop_front() {
            let limit = if rest.is_empty() { limit } else { 0 };
            if !peer.admits(number, limit, || body.weight()) {
                rest.push_back((number, check, body));
                continue;
            }
            let message = Sequenced::Body {
                number,
                check,
                body,
            };
            step.send(to, message);
        }
        if let Some(&(number, ..)) = rest.front() {
            peer.held = rest;
            if peer.asked.is_none() {
                peer.asked = Some(number);
                let terms = self.terms(number);
                step.send(to, Sequenced::Ask { number, terms });
            }
        }
    }

    fn send(&mut self, number: u64, to: Rank, body: B, step: &mut Step<'_, Self>) {
        // A call that has ended sends nothing.
        let Some(check) = self.open.get(number).map(|open| open.made.check) else {
            return;
        };
        let (limit, has_left) = (self.limit, self.left.contains(&to));
        let is_lost = self.lost.contains(&to);
        let peer = self.peer(to);
        // Held back for a rank that does not make the call, it would keep this one from leaving.
        if is_lost || has_left && peer.begun <= number {
            return;
        }
        // Of a call that the receiver has made, nothing is held back.
        let is_made = number < peer.begun;
        if is_made || peer.held.is_empty() && peer.admits(number, limit, || body.weight()) {
            let message = Sequenced::Body {
                number,
                check,
                body,
            };
            return step.send(to, message);
        }
        peer.held.push_back((number, check, body));
        if peer.asked.is_none() {
            self.send_held(to, step);
        }
    }

    /// Asks the neighbours about the first call not compared with theirs, if it is an old one.
    fn wait(&mut self, step: &mut Step<'_, Self>) {
        let is_unknown = |(number, _): &(u64, &_)| self.uncompared(*number).next().is_some();
        let first = self.open.iter().find(is_unknown);
        let old = first.filter(|(_, call)| call.is_old);
        let old = old.map(|(number, _)| (number, self.uncompared(number).collect::<Vec<_>>()));
        self.open.values_mut().for_each(|call| call.is_old = true);
        let Some((number, ranks)) = old else {
            return;
        };
        let terms = self.terms(number);
        for rank in ranks {
            let peer = self.peer(rank);
            if peer.asked.is_none() {
                peer.asked = Some(number);
                let terms = terms.clone();
                step.send(rank, Sequenced::Ask { number, terms });
            }
        }
    }

    fn left(&mut self, rank: Rank, step: &mut Step<'_, Self>) {
        self.left.insert(rank);
        let peer = self.peer(rank);
        peer.held.clear();
        if let Some(number) = peer.differs {
            return self.differs(rank, number, None, step);
        }
        let is_missing = |number: &u64| self.missing(*number).any(|missing| missing == rank);
        if let Some(number) = self.open.iter().map(|(number, _)| number).find(is_missing) {
            step.effect(Effect::Absent { rank, number });
        }
    }

    /// A rank shows its call, which differs by the check of a message of this one.
    fn shown(
        &mut self,
        from: Rank,
        number: u64,
        there: Option<C::Terms>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let here = self.terms(number);
        if number >= self.begun || here.is_some() && here == there {
            return Err(Refusal::Contradicts);
        }
        self.heard(from, number + 1, step);
        self.differs(from, number, there, step);
        Ok(())
    }

    /// A rank has made another call.
    fn differs(&self, rank: Rank, number: u64, there: Option<C::Terms>, step: &mut Step<'_, Self>) {
        step.effect(Effect::Differs {
            rank,
            number,
            here: self.terms(number),
            there,
        });
    }
}

/// Delivered in the order in which they were sent, from one rank to another.
impl<C: Call, B: Weight> Machine for Sequence<C, B> {
    type Peer = Rank;
    type Message = Sequenced<C::Terms, B>;
    type Event = Event<C, B>;
    type Effect = Effect<C::Terms, B>;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Self::Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin(call) => self.begin(call, step),
            Event::Send { number, to, body } => self.send(number, to, body, step),
            Event::End(number) => _ = self.open.remove(number),
            Event::Wait => self.wait(step),
            Event::Left(rank) => self.left(rank, step),
            Event::Leave => {
                let calls = self.begun;
                for rank in neighbours(self.here, self.ranks) {
                    step.send(rank, Sequenced::Begun { calls });
                }
            }
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        if from == self.here || from.0 >= self.ranks {
            return Err(Refusal::NoMember);
        }
        match message {
            Sequenced::Body {
                number,
                check,
                body,
            } => {
                if number < self.begun {
                    self.heard(from, number + 1, step);
                    self.deliver(from, number, check, body, step);
                    return Ok(());
                }
                let limit = self.limit;
                let kept = self.peers.get(&from).map_or(0, |peer| peer.kept);
                let count = kept + body.weight();
                if kept >= limit || number == u64::MAX {
                    return Err(Refusal::TooEarly { count, limit });
                }
                self.peer(from).kept = count;
                self.heard(from, number + 1, step);
                let early = Early { from, check, body };
                self.early.insert(number, early);
            }
            Sequenced::Ask { number, terms } if number < self.begun => {
                self.heard(from, number + 1, step);
                self.answer(from, number, terms, step);
            }
            Sequenced::Ask { number, terms } => {
                let asks = &mut self.peer(from).asks;
                if asks.is_some() {
                    return Err(Refusal::Contradicts);
                }
                *asks = Some((number, terms));
                self.asking.insert(from);
                // It may hold back messages of the calls that this rank has made.
                step.send(from, Sequenced::Begun { calls: self.begun });
                self.heard(from, number.saturating_add(1), step);
            }
            Sequenced::Begun { calls } => {
                let peer = self.peer(from);
                if calls < peer.begun {
                    return Err(Refusal::Contradicts);
                }
                self.heard(from, calls, step);
            }
            Sequenced::Differs { number, terms } => return self.shown(from, number, terms, step),
        }
        Ok(())
    }

    /// The driver decides whether the calls that have not ended tolerate the loss.
    fn lost(&mut self, rank: Rank, _: &mut Step<'_, Self>) -> Tolerance {
        self.lost.insert(rank);
        self.peer(rank).held.clear();
        Tolerance::Tolerated
    }
}
