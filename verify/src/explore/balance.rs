//! The balancer's protocol over a few places and a tiny tree, one worker a place.

use super::world::{Tasks, World};
use super::{Flaw, Interner, System, Tree, replace_mail};
use std::collections::HashMap;
use std::rc::Rc;
use tautline_core::PlaceId;
use tautline_core::glb::{self, Message, Protocol, Share, Steal};
use tautline_core::lifeline::{Graph, Phase};
use tautline_core::machine::Machine;

const PLACES_MAX: usize = u32::BITS as usize;

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceFault {
    /// One request along a lifeline is lost.
    LoseRequest,
    /// One victim does not record the thief it has nothing for.
    ForgetThief,
    /// One answer without loot is lost.
    LoseAnswer,
    /// One loot along a lifeline comes twice.
    DoubleLoot,
    /// The home takes reports as if they were numbered in the order of their arrival.
    IgnoreNumbers,
    /// Reports do not tell what was spawned.
    HideSpawns,
}

/// The states that are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// Every state, by everything that must always hold.
    Every,
    /// Only the end: announced once, not early, count exact, and reached.
    Ends,
}

/// The places of one balanced computation.
#[derive(Debug)]
pub struct Balance {
    places: u32,
    graph: Graph,
    random_steals: usize,
    steal: Share,
    tree: Tree,
    total: u32,
    fault: Option<BalanceFault>,
    checks: Checks,
    sites: Interner<Site>,
    /// By number of the site.
    views: Vec<View>,
    mails: Interner<Mail>,
    /// The successors of an event at a place, one for each number drawn.
    effects: HashMap<(u32, Event), Rc<[Effect]>>,
}

/// One place: everything that decides what it does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Site {
    here: PlaceId,
    protocol: Protocol<Tasks>,
    bag: Tasks,
    /// By place, reports received: only kept where their own numbers are ignored.
    received: Vec<u64>,
}

/// The properties of a site that the checks use, places as bits.
#[derive(Clone, Copy, Debug)]
struct View {
    phase: Phase,
    waits: bool,
    tasks: u32,
    lifelines: u32,
    requested: u32,
    thieves: u32,
    thief_twice: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mail {
    from: PlaceId,
    to: PlaceId,
    message: Message<Tasks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Work,
    Surplus,
    Dry,
    Deliver(u32),
    /// The same, with the request's flag cleared.
    DeliverForgotten(u32),
}

#[derive(Debug)]
struct Effect {
    site: u32,
    sent: Vec<u32>,
    processed: u32,
    done: u32,
    greedy: bool,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    place: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Event(Event),
    Lose(u32),
    Double(u32),
}

// The words of a state; the messages in flight follow the sites, as a sorted multiset.
const DONE: usize = 0;
const PROCESSED: usize = 1;
const FAULTS: usize = 2;
/// A place requested work while it had some.
const GREEDY: usize = 3;
const SITES: usize = 4;

impl Balance {
    /// `tree`'s roots at the home of `places` places.
    ///
    /// # Panics
    /// More than 32 places.
    pub fn new(places: u32, graph: Graph, random_steals: usize, steal: Steal, tree: Tree) -> Self {
        assert!(
            places as usize <= PLACES_MAX,
            "places are bits of a word here"
        );
        Self {
            places,
            graph,
            random_steals,
            steal: steal.into(),
            total: tree.size(tree.roots()),
            tree,
            fault: None,
            checks: Checks::Every,
            sites: Interner::default(),
            views: Vec::new(),
            mails: Interner::default(),
            effects: HashMap::new(),
        }
    }

    /// The same with a fault, under these checks.
    pub fn with_fault(mut self, fault: BalanceFault, checks: Checks) -> Self {
        self.fault = Some(fault);
        self.checks = checks;
        self
    }

    fn mail_at(&self) -> usize {
        SITES + self.places as usize
    }

    fn site(&mut self, site: Site) -> u32 {
        let place = site.protocol.place();
        let mut view = View {
            phase: place.phase(),
            waits: place.waits_for().is_some(),
            tasks: self.tree.size(&site.bag),
            lifelines: 0,
            requested: 0,
            thieves: 0,
            thief_twice: false,
        };
        for (buddy, requested) in place.lifelines() {
            view.lifelines |= 1 << buddy.0;
            view.requested |= u32::from(*requested) << buddy.0;
        }
        for thief in place.thieves() {
            view.thief_twice |= view.thieves >> thief.0 & 1 != 0;
            view.thieves |= 1 << thief.0;
        }
        let (number, is_new) = self.sites.number(site);
        if is_new {
            self.views.push(view);
        }
        number
    }

    fn views<'a>(&'a self, state: &'a [u32]) -> impl Iterator<Item = &'a View> {
        let sites = &state[SITES..self.mail_at()];
        sites.iter().map(|site| &self.views[*site as usize])
    }

    fn mails<'a>(&'a self, state: &'a [u32]) -> impl Iterator<Item = &'a Mail> {
        let mails = &state[self.mail_at()..];
        mails.iter().map(|mail| &*self.mails.values[*mail as usize])
    }

    /// Returns the successors of `event` at a place, one for every series of numbers it may draw.
    fn effects(&mut self, site: u32, event: Event) -> Rc<[Effect]> {
        if let Some(known) = self.effects.get(&(site, event)) {
            return Rc::clone(known);
        }
        let before = self.sites.value(site);
        let mut effects = Vec::new();
        let mut drawn = Vec::new();
        loop {
            let mut world = World::new(&before.bag, self.steal, drawn);
            let mut after = (*before).clone();
            let processed = self.happen(&mut after, event, &mut world);
            drawn = std::mem::take(&mut world.draws.numbers);
            effects.push(self.effect(after, world, processed));
            // The next series: the last number that can still grow, grown by one.
            while drawn.last().is_some_and(|(number, n)| number + 1 == *n) {
                drawn.pop();
            }
            match drawn.last_mut() {
                Some((number, _)) => *number += 1,
                None => break,
            }
        }
        let effects: Rc<[Effect]> = effects.into();
        self.effects.insert((site, event), Rc::clone(&effects));
        effects
    }

    /// Lets `event` happen at `site`; the number of tasks processed.
    fn happen(&self, site: &mut Site, event: Event, world: &mut World) -> u32 {
        match event {
            Event::Work => {
                let kind = world.bag.pop().expect("only a place that has work works");
                world.bag.extend_from_slice(self.tree.children(kind));
                return 1;
            }
            Event::Surplus => world.step(&mut site.protocol, |protocol, step| {
                protocol.event(glb::Event::Surplus, step);
            }),
            Event::Dry => world.step(&mut site.protocol, |protocol, step| {
                protocol.event(glb::Event::Dry, step);
            }),
            Event::Deliver(mail) | Event::DeliverForgotten(mail) => {
                let mail = self.mails.value(mail);
                let mut message = mail.message.clone();
                if let (Event::DeliverForgotten(_), Message::Request { lifeline }) =
                    (event, &mut message)
                {
                    *lifeline = false;
                }
                if let (Some(BalanceFault::IgnoreNumbers), Message::Report(report)) =
                    (self.fault, &mut message)
                {
                    site.received[mail.from.index()] += 1;
                    report.number = site.received[mail.from.index()];
                }
                let taken = world.step(&mut site.protocol, |protocol, step| {
                    protocol.receive(mail.from, message, step)
                });
                taken.expect("the places follow the protocol");
            }
        }
        0
    }

    fn effect(&mut self, mut after: Site, world: World, processed: u32) -> Effect {
        let here = after.here;
        let asks =
            |(_, message): &(PlaceId, Message<Tasks>)| matches!(message, Message::Request { .. });
        let greedy = !world.bag.is_empty() && world.sent.iter().any(asks);
        after.bag = world.bag;
        let sent = world.sent.into_iter().map(|(to, mut message)| {
            if let (Some(BalanceFault::HideSpawns), Message::Report(report)) =
                (self.fault, &mut message)
            {
                report.counts.retain(|(_, change)| *change < 0);
            }
            let mail = Mail {
                from: here,
                to,
                message,
            };
            self.mails.number(mail).0
        });
        let sent = sent.collect();
        Effect {
            site: self.site(after),
            sent,
            processed,
            done: world.done,
            greedy,
        }
    }

    /// All outcomes of `event` at `place`, which takes away the mail at `without`.
    fn event(
        &mut self,
        state: &[u32],
        place: u32,
        event: Event,
        without: Option<usize>,
        each: &mut impl FnMut(Step, &[u32]),
    ) {
        let at = SITES + place as usize;
        let mut next = Vec::with_capacity(state.len() + 4);
        for effect in self.effects(state[at], event).iter() {
            if event == Event::Surplus && effect.site == state[at] {
                continue;
            }
            replace_mail(state, self.mail_at(), without, &effect.sent, &mut next);
            next[at] = effect.site;
            next[DONE] += effect.done;
            next[PROCESSED] += effect.processed;
            next[FAULTS] += u32::from(matches!(event, Event::DeliverForgotten(_)));
            next[GREEDY] |= u32::from(effect.greedy);
            let what = What::Event(event);
            each(Step { place, what }, &next);
        }
    }

    /// Returns the fates of the mail at `at`.
    fn mail(&mut self, state: &[u32], at: usize, each: &mut impl FnMut(Step, &[u32])) {
        let mail = state[at];
        let Mail { to, message, .. } = (*self.mails.value(mail)).clone();
        let place = to.0;
        self.event(state, place, Event::Deliver(mail), Some(at), each);
        if state[FAULTS] > 0 {
            return;
        }
        let lifeline_request = message == (Message::Request { lifeline: true });
        let what = match self.fault {
            Some(BalanceFault::ForgetThief) if lifeline_request => {
                return self.event(state, place, Event::DeliverForgotten(mail), Some(at), each);
            }
            Some(BalanceFault::LoseRequest) if lifeline_request => What::Lose(mail),
            Some(BalanceFault::LoseAnswer) if message == Message::Answer(None) => What::Lose(mail),
            Some(BalanceFault::DoubleLoot) if matches!(message, Message::Loot(_)) => {
                What::Double(mail)
            }
            _ => return,
        };
        let mut next = state.to_vec();
        next[FAULTS] = 1;
        match what {
            What::Lose(_) => drop(next.remove(at)),
            _ => next.insert(at, mail),
        }
        each(Step { place, what }, &next);
    }

    /// Returns the flaw of the end of the computation, if this is its end.
    fn judge_end(&self, state: &[u32]) -> Option<Flaw> {
        if state[DONE] == 0 {
            return None;
        }
        let at_rest = self
            .views(state)
            .all(|view| view.phase == Phase::Quiet && view.tasks == 0);
        if !at_rest || state.len() > self.mail_at() {
            Some(Flaw::Early)
        } else if state[DONE] > 1 {
            Some(Flaw::Repeated)
        } else {
            (state[PROCESSED] != self.total).then_some(Flaw::Count)
        }
    }

    /// No task is lost or doubled; only an active place has work, and a place with work sends no
    /// request.
    fn judge_work(&self, state: &[u32]) -> Option<Flaw> {
        let loot = |mail: &Mail| match &mail.message {
            Message::Answer(Some(loot)) | Message::Loot(loot) => self.tree.size(loot),
            _ => 0,
        };
        let held: u32 = self.views(state).map(|view| view.tasks).sum();
        let flying: u32 = self.mails(state).map(loot).sum();
        if state[PROCESSED] + held + flying != self.total {
            return Some(Flaw::Count);
        }
        let idle_work = |view: &View| {
            (view.phase != Phase::Active && view.tasks > 0)
                || (view.phase == Phase::Quiet && view.waits)
        };
        (state[GREEDY] > 0 || self.views(state).any(idle_work)).then_some(Flaw::Activity)
    }

    /// Of the requests of a place, random and along lifelines, one at most has no answer, and only
    /// while the place waits for it.
    fn judge_requests(&self, state: &[u32]) -> Option<Flaw> {
        let mut unanswered = [0; PLACES_MAX];
        for mail in self.mails(state) {
            match mail.message {
                Message::Request { .. } => unanswered[mail.from.index()] += 1,
                Message::Answer(_) => unanswered[mail.to.index()] += 1,
                _ => {}
            }
        }
        let mut places = self.views(state).zip(unanswered);
        let is_flawed = places.any(|(view, requests)| requests > u32::from(view.waits));
        is_flawed.then_some(Flaw::Requests)
    }

    /// A lifeline's flag is set while exactly one request along it is in flight, recorded, or about
    /// to be met by loot that is in flight; a quiet place has asked along all of its own.
    fn judge_lifelines(&self, state: &[u32]) -> Option<Flaw> {
        if self.views(state).any(|view| view.thief_twice) {
            return Some(Flaw::Lifeline);
        }
        for (here, view) in (0u32..).zip(self.views(state)) {
            if view.phase == Phase::Quiet && view.requested != view.lifelines {
                return Some(Flaw::Lifeline);
            }
            for (buddy, there) in (0u32..).zip(self.views(state)) {
                if view.lifelines >> buddy & 1 == 0 {
                    continue;
                }
                let mut requests = there.thieves >> here & 1;
                // At most one answer, since at most one request is outstanding.
                let mut answer = 0;
                for mail in self.mails(state) {
                    let ends = (mail.from.0, mail.to.0);
                    match &mail.message {
                        Message::Request { lifeline: true } if ends == (here, buddy) => {
                            requests += 1;
                        }
                        Message::Loot(_) if ends == (buddy, here) => requests += 1,
                        // Does not tell whether it answers along the lifeline; if it does not, and
                        // the flag is set, another request must be outstanding.
                        Message::Answer(Some(_)) if ends == (buddy, here) => answer = 1,
                        _ => {}
                    }
                }
                let flag = view.requested >> buddy & 1;
                if requests != flag && (flag == 0 || requests + answer != 1) {
                    return Some(Flaw::Lifeline);
                }
            }
        }
        None
    }

    /// From work there is a path over requests along lifelines to every quiet place.
    fn judge_paths(&self, state: &[u32]) -> Option<Flaw> {
        let mut reached = 0u32;
        for (place, view) in self.views(state).enumerate() {
            reached |= u32::from(view.tasks > 0) << place;
        }
        for mail in self.mails(state) {
            if matches!(mail.message, Message::Answer(Some(_)) | Message::Loot(_)) {
                reached |= 1 << mail.to.0;
            }
        }
        if reached == 0 {
            return None;
        }
        loop {
            let before = reached;
            for (place, view) in self.views(state).enumerate() {
                if reached >> place & 1 != 0 {
                    reached |= view.thieves;
                } else if view.phase != Phase::Quiet && view.lifelines & reached != 0 {
                    // It sends requests along all its lifelines before it becomes quiet.
                    reached |= 1 << place;
                }
            }
            for mail in self.mails(state) {
                if mail.message == (Message::Request { lifeline: true }) {
                    reached |= (reached >> mail.to.0 & 1) << mail.from.0;
                }
            }
            if reached == before {
                break;
            }
        }
        let misrouted =
            |(place, view): (usize, &View)| view.phase == Phase::Quiet && reached >> place & 1 == 0;
        self.views(state)
            .enumerate()
            .any(misrouted)
            .then_some(Flaw::Misrouted)
    }
}

impl System for Balance {
    type Step = Step;

    fn start(&mut self) -> Vec<u32> {
        let mut state = vec![0; SITES];
        for here in (0..self.places).map(PlaceId) {
            let bag = match here {
                PlaceId::HOME => self.tree.roots().to_vec(),
                _ => Vec::new(),
            };
            state.push(0);
            *state.last_mut().expect("just pushed") = self.site(Site {
                here,
                protocol: Protocol::new(here, self.places, self.graph, self.random_steals),
                bag,
                received: vec![0; self.places as usize],
            });
        }
        state
    }

    fn steps(&mut self, state: &[u32], each: &mut impl FnMut(Step, &[u32])) {
        for place in 0..self.places {
            let site = state[SITES + place as usize];
            let view = self.views[site as usize];
            if view.tasks > 0 {
                self.event(state, place, Event::Work, None, each);
                if view.thieves != 0 {
                    self.event(state, place, Event::Surplus, None, each);
                }
            } else if view.phase == Phase::Active {
                self.event(state, place, Event::Dry, None, each);
            }
        }
        for at in self.mail_at()..state.len() {
            if at == self.mail_at() || state[at] != state[at - 1] {
                self.mail(state, at, each);
            }
        }
    }

    fn judge(&self, state: &[u32]) -> Option<Flaw> {
        let end = self.judge_end(state);
        if end.is_some() || self.checks == Checks::Ends {
            return end;
        }
        self.judge_work(state)
            .or_else(|| self.judge_requests(state))
            .or_else(|| self.judge_lifelines(state))
            .or_else(|| self.judge_paths(state))
    }

    fn is_final(&self, state: &[u32]) -> bool {
        state[DONE] == 1
    }

    fn show(&self, step: Step) -> String {
        let at = PlaceId(step.place);
        let mail = |number| self.mails.value(number);
        match step.what {
            What::Event(Event::Work) => format!("{at}: does a task"),
            What::Event(Event::Surplus) => format!("{at}: serves its thieves"),
            What::Event(Event::Dry) => format!("{at}: is dry"),
            What::Event(Event::Deliver(number)) => {
                format!(
                    "{at}: takes from {} {:?}",
                    mail(number).from,
                    mail(number).message
                )
            }
            What::Event(Event::DeliverForgotten(number)) => {
                format!(
                    "{at}: takes and forgets from {} {:?}",
                    mail(number).from,
                    mail(number).message
                )
            }
            What::Lose(number) => format!("lost: {:?}", mail(number)),
            What::Double(number) => format!("doubled: {:?}", mail(number)),
        }
    }
}
