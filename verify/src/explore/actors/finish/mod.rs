//! Finishes over places, driven by every program of a few activities.

mod place;

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use place::{Effect, Event, Place, Sent};
use std::collections::{BTreeMap, BTreeSet};
use tautline_core::finish::{FinishId, Finishes, Message, Outcome, Reason};
use tautline_core::machine::no_calls;
use tautline_core::{Layout, PlaceId};

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishFault {
    /// The home numbers reports in the order of their arrival.
    Renumber,
    /// A place that was cancelled spawns all the same.
    SpawnWhenCancelled,
    /// A place takes cancellations for activities: it does not pass them on, but counts them.
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
    /// The number of places that report to the same one.
    pub radix: u32,
    /// Activities spawned, at most.
    pub spawns: u32,
    /// Finishes opened inside activities, at most.
    pub nested: u32,
    /// Failures, at most.
    pub failures: u32,
    /// Whether place 1 has a finish, too.
    pub two: bool,
    /// Whether every place has an activity at the beginning.
    pub everywhere: bool,
    /// The times that a home whose activities have ended spawns again, at most.
    pub resumes: u32,
    /// Whether reports may wait to be combined; otherwise they are sent at once.
    pub combine: bool,
    /// Whether only reports are exposed to faults of the network, and refused messages are ignored.
    pub tolerant: bool,
    /// The injected fault, if any.
    pub fault: Option<FinishFault>,
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
            everywhere: false,
            resumes: 0,
            combine: false,
            tolerant: false,
            fault: None,
        }
    }
}

/// The state of a place's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kept {
    /// Activities that should not run; they never end.
    stale: BTreeMap<FinishId, u32>,
    /// Reports received, by sender: only kept where their own numbers are ignored.
    received: BTreeMap<PlaceId, u64>,
}

/// An act of an activity.
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
    /// An activity that the counts exclude spawns again.
    Resume(FinishId),
    /// The place sends what it held back.
    Flush,
}

/// The history, as far as checks need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    spawned: u32,
    nested: u32,
    failures: u32,
    resumed: u32,
    opened: BTreeSet<FinishId>,
    /// Ended, with their outcomes.
    done: BTreeMap<FinishId, Option<Outcome>>,
    /// The outcome that takes precedence among those raised.
    raised: BTreeMap<FinishId, Outcome>,
    /// Finishes that lost an activity.
    lost: BTreeSet<FinishId>,
}

impl Ghost {
    fn raise(&mut self, id: FinishId, outcome: &Outcome) {
        let known = self.raised.get(&id);
        if known.is_none_or(|known| outcome.precedes(known)) {
            self.raised.insert(id, outcome.clone());
        }
    }
}

impl Checked for Activities {
    type Machine = Place;
    type Driver = Kept;
    type Act = Act;
    type Ghost = Ghost;

    fn peers(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId) -> PartOf<Self> {
        let layout = Layout::new(self.places, 1);
        let finishes = Finishes::with_radix(here, layout, self.radix);
        Part {
            machine: Place::new(finishes, self.combine),
            driver: Kept::default(),
        }
    }

    fn first(&self, here: PlaceId) -> Vec<Event> {
        if self.everywhere {
            return vec![Event::OpenEverywhere];
        }
        let homes = match here {
            PlaceId::HOME if self.fault == Some(FinishFault::SwapFinishes) => 2,
            PlaceId::HOME => 1,
            _ => usize::from(self.two && here == PlaceId(1)),
        };
        let (outer, parent) = (None, None);
        vec![Event::Open { outer, parent }; homes]
    }

    fn acts(&self, here: PlaceId, Part { machine, .. }: &PartOf<Self>, ghost: &Ghost) -> Vec<Act> {
        let mut acts = Vec::new();
        for id in machine.free() {
            acts.push(Act::End(id));
            let spawns =
                !machine.is_cancelled(id) || self.fault == Some(FinishFault::SpawnWhenCancelled);
            if ghost.spawned < self.spawns && spawns {
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
        let is_quiet = |id: &&FinishId| id.root == here && !machine.runs(**id);
        let open = ghost
            .opened
            .iter()
            .filter(|id| !ghost.done.contains_key(id));
        if ghost.resumed < self.resumes {
            acts.extend(open.filter(is_quiet).map(|id| Act::Resume(*id)));
        }
        acts.extend((self.combine && machine.holds()).then_some(Act::Flush));
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event> {
        let here = at.here;
        let mut fail = |id, outcome| {
            at.ghost.failures += 1;
            at.ghost.raise(id, &outcome);
            Event::Fail(id, outcome)
        };
        Some(match act {
            Act::Spawn(id, to) => {
                at.ghost.spawned += 1;
                Event::Spawn(id, to)
            }
            Act::End(id) => Event::End(id),
            Act::Panic(id) => {
                let message = "panic".into();
                fail(id, Outcome::Panicked { at: here, message })
            }
            Act::Cancel(id) => {
                let reason = Reason::Found;
                fail(id, Outcome::Cancelled { at: here, reason })
            }
            Act::Open(id) => {
                at.ghost.nested += 1;
                Event::Open {
                    outer: Some(id),
                    parent: (self.fault != Some(FinishFault::OpenAlone)).then_some(id),
                }
            }
            Act::Resume(id) => {
                at.ghost.resumed += 1;
                Event::Resume(id)
            }
            Act::Flush => Event::Flush,
        })
    }

    fn calls(_: &mut Kept) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Place, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Opened(id) => {
                at.ghost.opened.insert(id);
            }
            Effect::Raised(id, outcome) => at.ghost.raise(id, &outcome),
            Effect::Refused(id, to, _) if self.fault == Some(FinishFault::SpawnWhenCancelled) => {
                return Some(Event::SpawnUncounted(id, to));
            }
            Effect::Refused(id, _, outcome) => at.ghost.raise(id, &outcome),
            Effect::Stale(id) if self.fault == Some(FinishFault::RunStale) => {
                *at.driver.stale.entry(id).or_default() += 1;
            }
            Effect::Stale(_) | Effect::Cancelled(_) => {}
            Effect::Done(id, outcome) => {
                if at.ghost.done.insert(id, outcome).is_some() {
                    at.find(Flaw::Repeated);
                }
            }
        }
        None
    }

    fn send(&self, at: &mut At<'_, Self>, to: PlaceId, mut message: Sent) -> Option<Sent> {
        let Sent::Control(control) = &mut message else {
            return Some(message);
        };
        match (self.fault, control) {
            (Some(FinishFault::DropNumbers), Message::Report(_, combined)) => {
                combined.parts.retain(|(from, _)| *from == at.here);
            }
            (Some(FinishFault::HideFailure), Message::Report(_, combined)) => {
                combined.outcome = None
            }
            (Some(FinishFault::HideFailure), Message::Fail(..)) => return None,
            (Some(FinishFault::SwapFinishes), Message::Report(id, _)) if id.root == to => {
                id.number ^= 1
            }
            _ => {}
        }
        Some(message)
    }

    fn receive(
        &self,
        at: &mut At<'_, Self>,
        from: PlaceId,
        mut message: Sent,
    ) -> Option<(PlaceId, Sent)> {
        match (self.fault, &mut message) {
            (Some(FinishFault::Renumber), Sent::Control(Message::Report(id, combined)))
                if id.root == at.here =>
            {
                for (place, number) in &mut combined.parts {
                    let received = at.driver.received.entry(*place).or_default();
                    *received += 1;
                    *number = *received;
                }
            }
            (Some(FinishFault::NoRecount), Sent::Control(Message::Recount(..))) => return None,
            (Some(FinishFault::KeepCancellation), Sent::Control(Message::Cancel(id, _))) => {
                message = Sent::Activity(*id);
            }
            _ => {}
        }
        Some((from, message))
    }

    fn tolerates(&self, message: &Sent) -> bool {
        self.tolerant && matches!(message, Sent::Control(_))
    }

    fn is_exposed(&self, message: &Sent) -> bool {
        !self.tolerant || matches!(message, Sent::Control(Message::Report(..)))
    }

    fn note_loss(&self, part: Option<&PartOf<Self>>, message: Option<&Sent>, ghost: &mut Ghost) {
        if let Some(part) = part {
            ghost.lost.extend(part.machine.running());
        }
        if let Some(Sent::Activity(id)) = message {
            ghost.lost.insert(*id);
        }
    }

    fn stepped(&self, at: &mut At<'_, Self>, _: &Place, after: &Place) {
        if after.leaves_nested() {
            at.find(Flaw::Untold);
        }
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let ghost = &view.ghost.ghost;
        ghost.done.iter().find_map(|(id, outcome)| {
            let runs =
                |part: &PartOf<Self>| part.machine.runs(*id) || part.driver.stale.contains_key(id);
            let runs = view.living().any(|(_, part)| runs(part));
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
            let told = |at: PlaceId| view.sites[at.index()].machine.is_cancelled(*id);
            let untold = view
                .living()
                .any(|(at, part)| part.machine.has_run(*id) && !told(at));
            (view.lost == 0 && told(id.root) && untold).then_some(Flaw::Untold)
        })
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let Ghost { opened, done, .. } = &view.ghost.ghost;
        let mut opened = opened.iter().filter(|id| !view.is_lost(id.root));
        opened.all(|id| done.contains_key(id))
            && view.living().all(|(_, part)| part.machine.is_empty())
    }
}
