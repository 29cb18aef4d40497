//! A better bound on its way to every place, by the protocol that ships.
//!
//! Improvements are found at any place and any time, and sent as the workers do it: a bound better
//! than the last one sent is sent along the lifelines. Meanwhile the home, which has no other work,
//! sends requests along its lifelines and detects the end.

use super::{Flaw, Interner, System, replace_mail};
use tautline_core::PlaceId;
use tautline_core::glb::{Effect, Event, Message, Protocol};
use tautline_core::lifeline::{Graph, Phase};
use tautline_core::machine::{self, Action, Machine, Pick, drive};

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slip {
    /// No error.
    None,
    /// A place applies the bounds that it receives, but sends them to no other place.
    SendNothing,
    /// A place sends on the bounds that it receives, but does not apply them.
    ApplyNothing,
    /// A place sends on every bound that it receives, better or not.
    SendEverything,
    /// A bound is lost on its way.
    Lose,
    /// The home waits for the bounds.
    WaitAtTheEnd,
}

/// Places that send each other bounds.
#[derive(Debug)]
pub struct Gossip {
    graph: Graph,
    places: u32,
    /// The remaining improvements, in any order.
    finds: Vec<u128>,
    slip: Slip,
    sites: Interner<Site>,
    mails: Interner<Mail>,
}

/// The bounds that one place knows, and those that it has sent: bit v is value v.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Site {
    protocol: Protocol<()>,
    known: u128,
    has_sent: u32,
    /// The worker that found the bound has not checked yet whether to send it. Other working workers may
    /// check, but at a place without work no worker does.
    must_look: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mail {
    from: PlaceId,
    to: PlaceId,
    message: Message<()>,
}

impl Mail {
    fn is_bound(&self) -> bool {
        matches!(self.message, Message::Bound(_))
    }
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A task of this place finds this value.
    Find(PlaceId, u128),
    /// A worker of this place checks whether there is a bound to send.
    Look(PlaceId),
    /// The home runs dry.
    Dry,
    /// A message is delivered.
    Deliver(u32),
}

/// The surroundings of one place during one event.
struct Around {
    known: u128,
    takes_in: bool,
    sent: Vec<(PlaceId, Message<()>)>,
    done: u32,
}

/// No place steals at random.
struct Never;

impl Pick for Never {
    fn pick(&mut self, _: u32) -> u32 {
        unreachable!("no place steals at random")
    }
}

impl Around {
    /// Lets a place take a step.
    fn step<R>(
        &mut self,
        protocol: &mut Protocol<()>,
        take: impl FnOnce(&mut Protocol<()>, &mut machine::Step<'_, Protocol<()>>) -> R,
    ) -> R {
        let act = |action| {
            match action {
                Action::Send(to, message) => self.sent.push((to, message)),
                Action::Effect(Effect::Improve(bound)) if self.takes_in => {
                    self.known = self.known.min(bound);
                }
                Action::Effect(Effect::Improve(_)) => {}
                Action::Effect(Effect::Done) => self.done += 1,
                Action::Effect(Effect::Take(demand)) => return Some(Event::Taken(demand, None)),
                Action::Effect(Effect::Work(())) => unreachable!("there is no loot"),
            }
            None
        };
        drive(protocol, &mut Never, act, take)
    }

    fn event(&mut self, protocol: &mut Protocol<()>, event: Event<()>) {
        self.step(protocol, |protocol, step| protocol.event(event, step));
    }
}

const DONE: usize = 0;
/// Bounds sent.
const SENT: usize = 1;
/// The place was sent a bound that it had been sent before, or a worse one.
const AGAIN: usize = 2;
/// Bit i: improvement i has been found.
const FOUND: usize = 3;
const SITES: usize = 4;

impl Gossip {
    /// Creates `places` places that find `finds`, small numbers above 0.
    pub fn new(places: u32, graph: Graph, finds: &[u128]) -> Self {
        Self {
            graph,
            places,
            finds: finds.to_vec(),
            slip: Slip::None,
            sites: Interner::default(),
            mails: Interner::default(),
        }
    }

    /// Adds a deliberate error.
    pub fn with_slip(mut self, slip: Slip) -> Self {
        self.slip = slip;
        self
    }

    fn mail_at(&self) -> usize {
        SITES + self.places as usize
    }

    fn site(&self, state: &[u32], here: PlaceId) -> Site {
        (*self.sites.value(state[SITES + here.index()])).clone()
    }

    fn best(&self) -> u128 {
        self.finds.iter().copied().min().unwrap_or(u128::MAX)
    }

    /// Returns the maximum number of messages for this number of different bounds.
    fn allowance(&self) -> u32 {
        let mut values = self.finds.clone();
        values.sort_unstable();
        values.dedup();
        let edges: usize = (0..self.places)
            .map(|place| self.graph.outgoing(PlaceId(place), self.places).count())
            .sum();
        (values.len() * edges) as u32
    }

    /// Performs `act` at `here`, without message number `without`.
    fn event(
        &mut self,
        state: &[u32],
        here: PlaceId,
        without: Option<usize>,
        act: impl FnOnce(&mut Protocol<()>, &mut Around),
        next: &mut Vec<u32>,
    ) {
        let mut site = self.site(state, here);
        let mut around = Around {
            known: site.known,
            takes_in: self.slip != Slip::ApplyNothing,
            sent: Vec::new(),
            done: 0,
        };
        act(&mut site.protocol, &mut around);
        let mut mails = Vec::new();
        let mut has_sent = None;
        let mut bounds = 0;
        for (to, message) in around.sent {
            if let Message::Bound(bound) = message {
                has_sent = Some(bound);
                bounds += 1;
            }
            let mail = Mail {
                from: here,
                to,
                message,
            };
            mails.push(self.mails.number(mail).0);
        }
        replace_mail(state, self.mail_at(), without, &mails, next);
        next[SENT] += bounds;
        if let Some(bound) = has_sent {
            let best = site.has_sent.trailing_zeros().into();
            next[AGAIN] |= u32::from(bound >= best);
            site.has_sent |= 1 << bound;
        }
        site.known = around.known;
        site.must_look &= site.known < site.protocol.announced();
        next[DONE] += around.done;
        next[SITES + here.index()] = self.sites.number(site).0;
    }

    fn deliver(&mut self, state: &[u32], at: usize, next: &mut Vec<u32>) {
        let Mail { from, to, message } = (*self.mails.value(state[at])).clone();
        let slip = self.slip;
        let lifelines: Vec<_> = self.graph.outgoing(to, self.places).collect();
        let act = |protocol: &mut Protocol<()>, around: &mut Around| {
            let is_bound = matches!(message, Message::Bound(_));
            if is_bound && slip == Slip::Lose {
                return;
            }
            let taken = around.step(protocol, |protocol, step| {
                protocol.receive(from, message.clone(), step)
            });
            taken.expect("the places follow the protocol");
            match slip {
                Slip::SendNothing if is_bound => around.sent.clear(),
                Slip::SendEverything if is_bound && around.sent.is_empty() => {
                    let again = lifelines.iter().map(|to| (*to, message.clone()));
                    around.sent.extend(again);
                }
                _ => {}
            }
        };
        self.event(state, to, Some(at), act, next);
        if slip == Slip::WaitAtTheEnd && self.has_bounds(next) {
            next[DONE] = 0;
        }
    }

    fn has_bounds(&self, state: &[u32]) -> bool {
        let mails = &state[self.mail_at()..];
        mails.iter().any(|mail| self.mails.value(*mail).is_bound())
    }
}

impl System for Gossip {
    type Step = Step;

    fn start(&mut self) -> Vec<u32> {
        let mut state = vec![0; SITES];
        for place in (0..self.places).map(PlaceId) {
            let site = Site {
                protocol: Protocol::new(place, self.places, self.graph, 0),
                known: u128::MAX,
                has_sent: 0,
                must_look: false,
            };
            state.push(self.sites.number(site).0);
        }
        state
    }

    fn steps(&mut self, state: &[u32], each: &mut impl FnMut(Step, &[u32])) {
        let mut next = Vec::new();
        for here in (0..self.places).map(PlaceId) {
            for find in 0..self.finds.len() {
                if state[FOUND] & 1 << find != 0 {
                    continue;
                }
                let value = self.finds[find];
                let mut site = self.site(state, here);
                site.must_look |= value < site.known && value < site.protocol.announced();
                site.known = site.known.min(value);
                next.clear();
                next.extend_from_slice(state);
                next[FOUND] |= 1 << find;
                next[SITES + here.index()] = self.sites.number(site).0;
                each(Step::Find(here, value), &next);
            }
            let Site {
                protocol, known, ..
            } = self.site(state, here);
            if known < protocol.announced() {
                let act = |protocol: &mut Protocol<()>, around: &mut Around| {
                    around.event(protocol, Event::Bound(known));
                };
                self.event(state, here, None, act, &mut next);
                each(Step::Look(here), &next);
            }
            if protocol.place().phase() == Phase::Active {
                let act = |protocol: &mut Protocol<()>, around: &mut Around| {
                    around.event(protocol, Event::Dry)
                };
                self.event(state, here, None, act, &mut next);
                each(Step::Dry, &next);
            }
        }
        for at in self.mail_at()..state.len() {
            if at == self.mail_at() || state[at] != state[at - 1] {
                self.deliver(state, at, &mut next);
                each(Step::Deliver(state[at]), &next);
            }
        }
    }

    fn judge(&self, state: &[u32]) -> Option<Flaw> {
        let (sites, mails) = state[SITES..].split_at(self.places as usize);
        if state[AGAIN] != 0 || state[SENT] > self.allowance() {
            return Some(Flaw::Chatter);
        }
        if state[DONE] > 1 {
            return Some(Flaw::Repeated);
        }
        let sites: Vec<_> = sites.iter().map(|site| self.sites.value(*site)).collect();
        let bounds = mails
            .iter()
            .filter(|mail| self.mails.value(**mail).is_bound());
        let is_quiet = bounds.count() == mails.len()
            && sites
                .iter()
                .all(|site| site.protocol.place().phase() == Phase::Quiet);
        if is_quiet != (state[DONE] == 1) {
            // A bound on its way is no reason to wait.
            return Some(if is_quiet { Flaw::Late } else { Flaw::Early });
        }
        let is_told = mails.is_empty()
            && state[FOUND] == (1 << self.finds.len()) - 1
            && sites.iter().all(|site| !site.must_look);
        let all_know = || sites.iter().all(|site| site.known == self.best());
        (is_told && !all_know()).then_some(Flaw::Untold)
    }

    fn is_final(&self, state: &[u32]) -> bool {
        state[DONE] == 1
    }

    fn show(&self, step: Step) -> String {
        match step {
            Step::Find(here, value) => format!("{here}: finds {value}"),
            Step::Look(here) => format!("{here}: sends its bound"),
            Step::Dry => "home: runs dry".into(),
            Step::Deliver(mail) => {
                let Mail { from, to, message } = &*self.mails.value(mail);
                format!("{to}: takes from {from} {message:?}")
            }
        }
    }
}
