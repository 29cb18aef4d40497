//! Finishes over places, driven by every program of a few activities.

use crate::explore::{Actors, Flaw, Out, View};
use std::collections::{BTreeMap, BTreeSet};
use tautline_core::finish::{
    Arrival, Effect, Event, FinishId, Finishes, Message, Outcome, Reason, Refusal, Spawn,
};
use tautline_core::machine::{Action, Machine, Step, Tolerance};
use tautline_core::{Layout, PlaceId};

/// A deliberate error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The home numbers reports in the order of their arrival.
    Renumber,
    /// A place that was cancelled spawns all the same.
    SpawnWhenCancelled,
    /// A place ignores cancellations: it does not pass them on, but counts them.
    KeepCancellation,
    /// Surviving places do not repeat the count.
    NoRecount,
    /// A place that forwards reports keeps their numbers to itself.
    DropNumbers,
    /// A nested finish does not know what it is nested in.
    OpenAlone,
    /// A place that fails does not report it.
    HideFailure,
    /// Reports are taken for those of the other finish.
    SwapFinishes,
    /// Activities from a lost place run.
    RunStale,
}

/// Activities that spawn each other anywhere, under one finish or several.
#[derive(Clone, Copy, Debug)]
pub struct Activities {
    /// The number of places.
    pub places: u32,
    /// How many places report to the same one.
    pub radix: u32,
    /// Activities spawned, at most.
    pub spawns: u32,
    /// Finishes opened inside activities, at most.
    pub nested: u32,
    /// Failures, at most.
    pub failures: u32,
    /// Whether place 1 has a finish, too.
    pub two: bool,
    /// Whether reports may wait to be combined; otherwise they are sent at once.
    pub combine: bool,
    /// Whether only reports are exposed to faults of the network, and refused messages are ignored.
    pub tolerant: bool,
    /// What is wrong.
    pub broken: Option<Break>,
}

impl Activities {
    /// Creates one finish with home 0, whose reports are sent to it directly.
    pub const fn new(places: u32, spawns: u32) -> Self {
        Self {
            places,
            radix: places,
            spawns,
            nested: 0,
            failures: 0,
            two: false,
            combine: false,
            tolerant: false,
            broken: None,
        }
    }
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    table: Finishes,
    running: BTreeMap<FinishId, u32>,
    /// Finishes that an activity here waits for, with the activity's finish.
    waiting: BTreeMap<FinishId, FinishId>,
    cancelled: BTreeSet<FinishId>,
    /// Finishes that an activity here belonged to.
    ran: BTreeSet<FinishId>,
    /// Activities that should not run; they never end.
    stale: BTreeMap<FinishId, u32>,
    /// Reports received, by sender: only kept where their own numbers are ignored.
    received: BTreeMap<PlaceId, u64>,
}

impl Site {
    /// The number of activities that may do something.
    fn free(&self, id: FinishId) -> u32 {
        let waiting = self.waiting.values().filter(|outer| **outer == id).count();
        self.running.get(&id).copied().unwrap_or(0) - waiting as u32
    }
}

/// What places send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// An activity.
    Activity(FinishId),
    /// A message of the protocol.
    Control(Message),
}

/// What an activity does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Spawns an activity.
    Spawn(FinishId, PlaceId),
    /// Ends.
    End(FinishId),
    /// Panics; its place continues.
    Panic(FinishId),
    /// Cancels its finish.
    Cancel(FinishId),
    /// Opens a finish and runs its body.
    Open(FinishId),
    /// The place sends what it held back.
    Flush,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    spawned: u32,
    nested: u32,
    failures: u32,
    opened: BTreeSet<FinishId>,
    /// Ended, with their outcomes.
    done: BTreeMap<FinishId, Option<Outcome>>,
    /// The outcome that takes precedence among those raised.
    raised: BTreeMap<FinishId, Outcome>,
    /// Finishes that lost an activity.
    lost: BTreeSet<FinishId>,
    flaw: Option<Flaw>,
}

impl Ghost {
    fn raise(&mut self, id: FinishId, outcome: &Outcome) {
        let known = self.raised.get(&id);
        if known.is_none_or(|known| outcome.precedes(known)) {
            self.raised.insert(id, outcome.clone());
        }
    }
}

/// The actions of a step.
#[derive(Default)]
struct Around {
    sent: Vec<(PlaceId, Message)>,
    cancelled: Vec<(FinishId, Outcome)>,
    done: Vec<(FinishId, Option<Outcome>)>,
}

impl Around {
    /// Lets a place take a step.
    fn step<R>(
        &mut self,
        table: &mut Finishes,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> R,
    ) -> R {
        let mut act = |action| match action {
            Action::Send(to, message) => self.sent.push((to, message)),
            Action::Effect(Effect::Cancel(id, outcome)) => self.cancelled.push((id, outcome)),
            Action::Effect(Effect::Done(id, outcome)) => self.done.push((id, outcome)),
        };
        take(table, &mut Step::new(&mut (), &mut act))
    }

    fn event(&mut self, table: &mut Finishes, event: Event) {
        self.step(table, |table, step| table.event(event, step));
    }

    fn arrived(
        &mut self,
        table: &mut Finishes,
        id: FinishId,
        from: PlaceId,
    ) -> Result<Arrival, Refusal> {
        self.step(table, |table, step| table.arrived(id, from, step))
    }
}

impl Activities {
    fn open(
        &self,
        site: &mut Site,
        outer: Option<FinishId>,
        around: &mut Around,
        out: &mut Out<Self>,
    ) {
        let parent = outer.filter(|_| self.broken != Some(Break::OpenAlone));
        let id = around.step(&mut site.table, |table, step| table.open(parent, step));
        out.ghost.opened.insert(id);
        site.running.insert(id, 1);
        site.ran.insert(id);
        if let Some(outer) = outer {
            site.waiting.insert(id, outer);
        }
    }

    /// Applies what the state machine did.
    fn apply(&self, here: PlaceId, site: &mut Site, mut around: Around, out: &mut Out<Self>) {
        if !self.combine {
            around.event(&mut site.table, Event::Flush);
        }
        for (id, outcome) in around.cancelled {
            site.cancelled.insert(id);
            for inner in site.waiting.iter().filter(|(_, outer)| **outer == id) {
                out.ghost.raise(*inner.0, &outcome);
            }
        }
        for (id, outcome) in around.done {
            site.waiting.remove(&id);
            if out.ghost.done.insert(id, outcome).is_some() {
                out.ghost.flaw = Some(Flaw::Repeated);
            }
        }
        let mut nested = site.waiting.iter();
        if nested
            .any(|(inner, outer)| site.cancelled.contains(outer) && !site.cancelled.contains(inner))
        {
            out.ghost.flaw = Some(Flaw::Untold);
        }
        for (to, mut message) in around.sent {
            match (self.broken, &mut message) {
                (Some(Break::DropNumbers), Message::Report(_, combined)) => {
                    combined.parts.retain(|(at, _)| *at == here);
                }
                (Some(Break::HideFailure), Message::Report(_, combined)) => combined.outcome = None,
                (Some(Break::HideFailure), Message::Fail(..)) => continue,
                (Some(Break::SwapFinishes), Message::Report(id, _)) if id.root == to => {
                    id.number ^= 1;
                }
                _ => {}
            }
            out.sent.push((to, Sent::Control(message)));
        }
    }

    fn fail(
        &self,
        site: &mut Site,
        id: FinishId,
        outcome: Outcome,
        around: &mut Around,
        out: &mut Out<Self>,
    ) {
        out.ghost.failures += 1;
        out.ghost.raise(id, &outcome);
        around.event(&mut site.table, Event::Fail(id, outcome));
    }

    fn spawn(
        &self,
        site: &mut Site,
        id: FinishId,
        to: PlaceId,
        around: &mut Around,
        out: &mut Out<Self>,
    ) {
        out.ghost.spawned += 1;
        match around.step(&mut site.table, |table, step| table.spawned(id, to, step)) {
            Spawn::Counted => out.sent.push((to, Sent::Activity(id))),
            Spawn::Refused(_) if self.broken == Some(Break::SpawnWhenCancelled) => {
                out.sent.push((to, Sent::Activity(id)));
            }
            Spawn::Refused(outcome) => out.ghost.raise(id, &outcome),
        }
    }

    fn control(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        mut message: Message,
        around: &mut Around,
        out: &mut Out<Self>,
    ) {
        match (self.broken, &mut message) {
            (Some(Break::Renumber), Message::Report(id, combined)) if id.root == here => {
                for (at, number) in &mut combined.parts {
                    let received = site.received.entry(*at).or_default();
                    *received += 1;
                    *number = *received;
                }
            }
            (Some(Break::NoRecount), Message::Recount(..)) => return,
            (Some(Break::KeepCancellation), Message::Cancel(id, _)) => {
                // An activity that does nothing.
                if around.arrived(&mut site.table, *id, from) == Ok(Arrival::Run)
                    && site.running.get(id).is_none_or(|running| *running == 0)
                {
                    around.event(&mut site.table, Event::Quiet(*id));
                }
                return;
            }
            _ => {}
        }
        let received = around.step(&mut site.table, |table, step| {
            table.receive(from, message, step)
        });
        if received.is_err() && !self.tolerant {
            out.ghost.flaw = Some(Flaw::Refused);
        }
    }
}

impl Actors for Activities {
    type Site = Site;
    type Message = Sent;
    type Act = Act;
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> Site {
        let mut site = Site {
            table: Finishes::with_radix(here, Layout::new(self.places, 1), self.radix),
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            ran: BTreeSet::new(),
            stale: BTreeMap::new(),
            received: BTreeMap::new(),
        };
        let mut around = Around::default();
        let second = self.two && here == PlaceId(1);
        if here == PlaceId::HOME || second {
            self.open(&mut site, None, &mut around, out);
        }
        if self.broken == Some(Break::SwapFinishes) && here == PlaceId::HOME {
            self.open(&mut site, None, &mut around, out);
        }
        self.apply(here, &mut site, around, out);
        site
    }

    fn acts(&self, here: PlaceId, site: &Site, ghost: &Ghost) -> Vec<Act> {
        let mut acts = Vec::new();
        for &id in site.running.keys().filter(|id| site.free(**id) > 0) {
            acts.push(Act::End(id));
            let cancelled = site.cancelled.contains(&id);
            if ghost.spawned < self.spawns
                && (!cancelled || self.broken == Some(Break::SpawnWhenCancelled))
            {
                let others = (0..self.places).map(PlaceId).filter(|to| *to != here);
                acts.extend(others.map(|to| Act::Spawn(id, to)));
            }
            if ghost.failures < self.failures {
                acts.extend([Act::Panic(id), Act::Cancel(id)]);
            }
            if ghost.nested < self.nested {
                acts.push(Act::Open(id));
            }
        }
        if self.combine {
            let mut around = Around::default();
            around.event(&mut site.table.clone(), Event::Flush);
            acts.extend((!around.sent.is_empty()).then_some(Act::Flush));
        }
        acts
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        let mut around = Around::default();
        match act {
            Act::Spawn(id, to) => self.spawn(site, id, to, &mut around, out),
            Act::End(id) => {
                let running = site.running.get_mut(&id).expect("only what runs ends");
                *running -= 1;
                if *running == 0 {
                    site.running.remove(&id);
                    around.event(&mut site.table, Event::Quiet(id));
                }
            }
            Act::Panic(id) => {
                let outcome = Outcome::Panicked {
                    at: here,
                    message: "panic".into(),
                };
                self.fail(site, id, outcome, &mut around, out);
            }
            Act::Cancel(id) => {
                let outcome = Outcome::Cancelled {
                    at: here,
                    reason: Reason::Found,
                };
                self.fail(site, id, outcome, &mut around, out);
            }
            Act::Open(id) => {
                out.ghost.nested += 1;
                self.open(site, Some(id), &mut around, out);
                if let (Some(outcome), Some(inner)) = (
                    site.table.cancelled(id).cloned(),
                    site.waiting.last_key_value().map(|(inner, _)| *inner),
                ) {
                    out.ghost.raise(inner, &outcome);
                }
            }
            Act::Flush => around.event(&mut site.table, Event::Flush),
        }
        self.apply(here, site, around, out);
    }

    fn deliver(
        &self,
        here: PlaceId,
        site: &mut Site,
        from: PlaceId,
        message: Sent,
        out: &mut Out<Self>,
    ) {
        let mut around = Around::default();
        match message {
            Sent::Control(message) => self.control(here, site, from, message, &mut around, out),
            Sent::Activity(id) => match around.arrived(&mut site.table, id, from) {
                Ok(Arrival::Run) => {
                    *site.running.entry(id).or_default() += 1;
                    site.ran.insert(id);
                }
                Ok(Arrival::Stale) if self.broken == Some(Break::RunStale) => {
                    *site.stale.entry(id).or_default() += 1;
                }
                Ok(Arrival::Skip | Arrival::Stale) => {}
                Err(_) => out.ghost.flaw = Some(Flaw::Refused),
            },
        }
        self.apply(here, site, around, out);
    }

    fn lost(&self, here: PlaceId, site: &mut Site, place: PlaceId, out: &mut Out<Self>) {
        let mut around = Around::default();
        let tolerance = around.step(&mut site.table, |table, step| table.lost(place, step));
        assert_eq!(tolerance, Tolerance::Tolerated, "finishes outlive places");
        self.apply(here, site, around, out);
    }

    fn note_loss(&self, site: Option<&Site>, message: Option<&Sent>, ghost: &mut Ghost) {
        if let Some(site) = site {
            ghost.lost.extend(site.running.keys());
        }
        if let Some(Sent::Activity(id)) = message {
            ghost.lost.insert(*id);
        }
    }

    fn is_exposed(&self, message: &Sent) -> bool {
        !self.tolerant || matches!(message, Sent::Control(Message::Report(..)))
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let ghost = &view.ghost;
        if ghost.flaw.is_some() {
            return ghost.flaw;
        }
        ghost.done.iter().find_map(|(id, outcome)| {
            let runs = view
                .living()
                .any(|(_, site)| site.running.contains_key(id) || site.stale.contains_key(id));
            let comes = view.parcels.iter().any(|parcel| {
                parcel.message == Some(Sent::Activity(*id)) && !view.is_lost(parcel.from)
            });
            if runs || comes {
                return Some(Flaw::Early);
            }
            let is_right = match view.lost {
                0 => outcome.as_ref() == ghost.raised.get(id),
                _ if ghost.lost.contains(id) => {
                    matches!(
                        outcome,
                        Some(Outcome::Lost { .. } | Outcome::Panicked { .. })
                    )
                }
                _ => true,
            };
            if !is_right {
                return Some(Flaw::Outcome);
            }
            let told = |at: PlaceId| view.sites[at.index()].cancelled.contains(id);
            let untold = view
                .living()
                .any(|(at, site)| site.ran.contains(id) && !told(at));
            (view.lost == 0 && told(id.root) && untold).then_some(Flaw::Untold)
        })
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        let mut opened = view.ghost.opened.iter().filter(|id| !view.is_lost(id.root));
        opened.all(|id| view.ghost.done.contains_key(id))
            && view
                .living()
                .all(|(_, site)| site.table.is_empty() && site.running.is_empty())
    }
}
