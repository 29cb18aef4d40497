//! The finish over places, driven by every program of a few activities.

use super::{Flaw, Interner, System, replace_mail};
use tautline_core::PlaceId;
use tautline_core::finish::{Home, Ledger, Report};

/// Activities that spawn each other anywhere, under one finish.
///
/// Any running activity may spawn at any place or end, in every order; each spawn and each report is
/// a message, delivered in every order.
#[derive(Debug)]
pub struct Counts {
    places: u32,
    activities: u32,
    spawn_here: bool,
    ignore_numbers: bool,
    sites: Interner<Site>,
    mails: Interner<Mail>,
}

/// What one place knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Site {
    ledger: Ledger,
    home: Option<Home>,
    running: u32,
    /// By place, reports received: only kept where their own numbers are ignored.
    received: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Mail {
    Spawn(PlaceId),
    Report(PlaceId, Report),
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// An activity at the first place spawns one at the second.
    Spawn(PlaceId, PlaceId),
    /// An activity ends.
    End(PlaceId),
    /// A message is delivered.
    Deliver(u32),
}

/// Why no report is refused.
const CORRECT: &str = "the places follow the protocol";

const DONE: usize = 0;
const SPAWNED: usize = 1;
const SITES: usize = 2;

impl Counts {
    /// All programs of up to `activities` activities over `places` places.
    pub fn new(places: u32, activities: u32) -> Self {
        Self {
            places,
            activities,
            spawn_here: true,
            ignore_numbers: false,
            sites: Interner::default(),
            mails: Interner::default(),
        }
    }

    /// Whether activities may spawn at their own place; true by default.
    pub fn spawn_here(mut self, allowed: bool) -> Self {
        self.spawn_here = allowed;
        self
    }

    /// A fault: the home takes reports as if they were numbered in the order of their arrival.
    pub fn ignore_numbers(mut self) -> Self {
        self.ignore_numbers = true;
        self
    }

    fn mail_at(&self) -> usize {
        SITES + self.places as usize
    }

    /// Makes `site` the state of the place `here`.
    fn put(&mut self, next: &mut [u32], here: PlaceId, site: Site) {
        next[SITES + here.index()] = self.sites.number(site).0;
    }

    fn end(&mut self, state: &[u32], here: PlaceId, next: &mut Vec<u32>) {
        let mut site = (*self.sites.value(state[SITES + here.index()])).clone();
        site.running -= 1;
        site.ledger.ended();
        let mut mail = None;
        let mut done = 0;
        if site.running == 0 {
            let report = site.ledger.report();
            match &mut site.home {
                Some(home) => done = u32::from(home.on(here, report).expect(CORRECT)),
                None => mail = Some(self.mails.number(Mail::Report(here, report)).0),
            }
        }
        replace_mail(state, self.mail_at(), None, mail.as_slice(), next);
        next[DONE] += done;
        self.put(next, here, site);
    }

    fn deliver(&mut self, state: &[u32], at: usize, next: &mut Vec<u32>) {
        replace_mail(state, self.mail_at(), Some(at), &[], next);
        match (*self.mails.value(state[at])).clone() {
            Mail::Spawn(here) => {
                let mut site = (*self.sites.value(state[SITES + here.index()])).clone();
                site.running += 1;
                self.put(next, here, site);
            }
            Mail::Report(from, mut report) => {
                let mut site = (*self.sites.value(state[SITES])).clone();
                if self.ignore_numbers {
                    site.received[from.index()] += 1;
                    report.number = site.received[from.index()];
                }
                let home = site.home.as_mut().expect("place 0 is the home");
                next[DONE] += u32::from(home.on(from, report).expect(CORRECT));
                self.put(next, PlaceId::HOME, site);
            }
        }
    }
}

impl System for Counts {
    type Step = Step;

    fn start(&mut self) -> Vec<u32> {
        let mut state = vec![0, 1];
        for place in 0..self.places {
            let is_home = place == 0;
            let site = Site {
                ledger: Ledger::new(PlaceId(place)),
                home: is_home.then(|| Home::new(PlaceId::HOME, self.places)),
                running: u32::from(is_home),
                received: vec![0; self.places as usize],
            };
            state.push(self.sites.number(site).0);
        }
        state
    }

    fn steps(&mut self, state: &[u32], each: &mut impl FnMut(Step, &[u32])) {
        let mut next = Vec::new();
        for here in (0..self.places).map(PlaceId) {
            let site = self.sites.value(state[SITES + here.index()]);
            if site.running == 0 {
                continue;
            }
            self.end(state, here, &mut next);
            each(Step::End(here), &next);
            if state[SPAWNED] == self.activities {
                continue;
            }
            for at in (0..self.places).map(PlaceId) {
                if at == here && !self.spawn_here {
                    continue;
                }
                let mut site = (*site).clone();
                site.ledger.spawned(at);
                let mail = self.mails.number(Mail::Spawn(at)).0;
                replace_mail(state, self.mail_at(), None, &[mail], &mut next);
                next[SPAWNED] += 1;
                self.put(&mut next, here, site);
                each(Step::Spawn(here, at), &next);
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
        if state[DONE] == 0 {
            return None;
        }
        let runs = |site: &u32| self.sites.value(*site).running > 0;
        let (sites, mails) = state[SITES..].split_at(self.places as usize);
        if !mails.is_empty() || sites.iter().any(runs) {
            Some(Flaw::Early)
        } else {
            (state[DONE] > 1).then_some(Flaw::Repeated)
        }
    }

    fn is_final(&self, state: &[u32]) -> bool {
        state[DONE] == 1
    }

    fn show(&self, step: Step) -> String {
        match step {
            Step::Spawn(here, at) => format!("{here}: spawns at {at}"),
            Step::End(here) => format!("{here}: an activity ends"),
            Step::Deliver(mail) => match &*self.mails.value(mail) {
                Mail::Spawn(at) => format!("{at}: an activity begins"),
                Mail::Report(from, report) => format!("home: takes from {from} {report:?}"),
            },
        }
    }
}
