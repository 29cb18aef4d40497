//! The activities of a place, and its part in their finishes.

use std::collections::{BTreeMap, BTreeSet};
use tautline_core::PlaceId;
use tautline_core::finish::{self, Arrival, FinishId, Finishes, Message, Outcome, Refusal, Spawn};
use tautline_core::machine::{Action, Machine, Step, Tolerance};

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    finishes: Finishes,
    running: BTreeMap<FinishId, u32>,
    /// Finishes that an activity here waits for, with the activity's finish.
    waiting: BTreeMap<FinishId, FinishId>,
    cancelled: BTreeSet<FinishId>,
    /// Finishes that an activity here belonged to.
    ran: BTreeSet<FinishId>,
    /// Whether reports may wait to be combined.
    combine: bool,
}

/// A message between places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// An activity.
    Activity(FinishId),
    /// A message of the protocol.
    Control(Message),
}

/// An act of an activity, as the place's machine processes it.
#[derive(Clone, Debug)]
pub enum Event {
    /// Opens a finish inside the one that it belongs to, which is the parent unless that is left
    /// out by error.
    Open {
        /// The finish of the activity; without one, the finish is that of the program.
        outer: Option<FinishId>,
        /// The finish that the new one is nested in.
        parent: Option<FinishId>,
    },
    /// Begins a finish with an activity at every place.
    OpenEverywhere,
    /// An activity of a finish of this place, which had reported, spawns again.
    Resume(FinishId),
    /// Spawns an activity.
    Spawn(FinishId, PlaceId),
    /// Spawns an activity that is not counted.
    SpawnUncounted(FinishId, PlaceId),
    /// Ends.
    End(FinishId),
    /// Fails; its place continues.
    Fail(FinishId, Outcome),
    /// The place sends what it held back.
    Flush,
}

/// The outcomes of activities and finishes.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A finish has begun.
    Opened(FinishId),
    /// A finish is to end with this outcome, or one that takes precedence.
    Raised(FinishId, Outcome),
    /// The activities of a finish here are cancelled.
    Cancelled(FinishId),
    /// An activity was not spawned.
    Refused(FinishId, PlaceId, Outcome),
    /// An activity that arrived from a lost place, or for one, does not run.
    Stale(FinishId),
    /// A finish has ended.
    Done(FinishId, Option<Outcome>),
}

impl Place {
    pub(super) fn new(finishes: Finishes, combine: bool) -> Self {
        Self {
            finishes,
            running: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            ran: BTreeSet::new(),
            combine,
        }
    }

    /// Returns the finishes with activities that may do something.
    pub(super) fn free(&self) -> impl Iterator<Item = FinishId> {
        let waiting = |id| self.waiting.values().filter(|outer| **outer == id).count();
        let running = self.running.iter().map(|(id, running)| (*id, *running));
        running.filter_map(move |(id, running)| (running > waiting(id) as u32).then_some(id))
    }

    /// Returns the finishes with activities here.
    pub(super) fn running(&self) -> impl Iterator<Item = FinishId> {
        self.running.keys().copied()
    }

    pub(super) fn runs(&self, id: FinishId) -> bool {
        self.running.contains_key(&id)
    }

    pub(super) fn has_run(&self, id: FinishId) -> bool {
        self.ran.contains(&id)
    }

    pub(super) fn is_cancelled(&self, id: FinishId) -> bool {
        self.cancelled.contains(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.finishes.is_empty() && self.running.is_empty()
    }

    /// Whether a finish was cancelled, but not one that an activity of it waits for.
    pub(super) fn leaves_nested(&self) -> bool {
        let mut nested = self.waiting.iter();
        nested.any(|(inner, outer)| self.is_cancelled(*outer) && !self.is_cancelled(*inner))
    }

    /// Whether reports wait to be sent.
    pub(super) fn holds(&self) -> bool {
        let (mut finishes, mut sends) = (self.finishes.clone(), false);
        let mut act = |_| sends = true;
        finishes.event(finish::Event::Flush, &mut Step::new(&mut (), &mut act));
        sends
    }
}

/// The steps of [`Finishes`].
impl Place {
    /// Lets the finishes take a step. Effects are carried out after all steps.
    fn step<T>(
        &mut self,
        effects: &mut Vec<finish::Effect>,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> T,
    ) -> T {
        let finishes = &mut self.finishes;
        step.within(
            |action, act| match action {
                Action::Send(to, message) => act(Action::Send(to, Sent::Control(message))),
                Action::Effect(effect) => effects.push(effect),
            },
            |step| take(finishes, step),
        )
    }

    fn process(
        &mut self,
        event: finish::Event,
        effects: &mut Vec<finish::Effect>,
        step: &mut Step<'_, Self>,
    ) {
        self.step(effects, step, |finishes, step| finishes.event(event, step));
    }

    /// Carries out the effects of the finishes.
    fn carry_out(&mut self, mut effects: Vec<finish::Effect>, step: &mut Step<'_, Self>) {
        if !self.combine {
            self.process(finish::Event::Flush, &mut effects, step);
        }
        let mut done = Vec::new();
        for effect in effects {
            match effect {
                finish::Effect::Done(id, outcome) => done.push((id, outcome)),
                finish::Effect::Cancel(id, outcome) => {
                    self.cancelled.insert(id);
                    step.effect(Effect::Cancelled(id));
                    for (inner, _) in self.waiting.iter().filter(|(_, outer)| **outer == id) {
                        step.effect(Effect::Raised(*inner, outcome.clone()));
                    }
                }
            }
        }
        for (id, outcome) in done {
            self.waiting.remove(&id);
            step.effect(Effect::Done(id, outcome));
        }
    }

    fn open(
        &mut self,
        outer: Option<FinishId>,
        parent: Option<FinishId>,
        effects: &mut Vec<finish::Effect>,
        step: &mut Step<'_, Self>,
    ) {
        let id = self.step(effects, step, |finishes, step| finishes.open(parent, step));
        step.effect(Effect::Opened(id));
        self.running.insert(id, 1);
        self.ran.insert(id);
        if let Some(outer) = outer {
            self.waiting.insert(id, outer);
            if let Some(outcome) = self.finishes.cancelled(outer) {
                step.effect(Effect::Raised(id, outcome.clone()));
            }
        }
    }

    fn open_everywhere(&mut self, effects: &mut Vec<finish::Effect>, step: &mut Step<'_, Self>) {
        let id = self.step(effects, step, Finishes::open_everywhere);
        step.effect(Effect::Opened(id));
        self.running.insert(id, 1);
        self.ran.insert(id);
    }

    fn spawn(
        &mut self,
        id: FinishId,
        to: PlaceId,
        effects: &mut Vec<finish::Effect>,
        step: &mut Step<'_, Self>,
    ) {
        let spawn = self.step(effects, step, |finishes, step| {
            finishes.spawned(id, to, step)
        });
        match spawn {
            Spawn::Counted => step.send(to, Sent::Activity(id)),
            Spawn::Refused(outcome) => step.effect(Effect::Refused(id, to, outcome)),
        }
    }
}

impl Machine for Place {
    type Peer = PlaceId;
    type Message = Sent;
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        let mut effects = Vec::new();
        match event {
            Event::Open { outer, parent } => self.open(outer, parent, &mut effects, step),
            Event::OpenEverywhere => self.open_everywhere(&mut effects, step),
            Event::Resume(id) => {
                assert!(self.finishes.resume(id), "only an open finish resumes");
                self.running.insert(id, 1);
            }
            Event::Spawn(id, to) => self.spawn(id, to, &mut effects, step),
            Event::SpawnUncounted(id, to) => step.send(to, Sent::Activity(id)),
            Event::End(id) => {
                let running = self.running.get_mut(&id).expect("only what runs ends");
                *running -= 1;
                if *running == 0 {
                    self.running.remove(&id);
                    self.process(finish::Event::Quiet(id), &mut effects, step);
                }
            }
            Event::Fail(id, outcome) => {
                self.process(finish::Event::Fail(id, outcome), &mut effects, step);
            }
            Event::Flush => self.process(finish::Event::Flush, &mut effects, step),
        }
        self.carry_out(effects, step);
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: Sent,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let mut effects = Vec::new();
        match message {
            Sent::Control(message) => self.step(&mut effects, step, |finishes, step| {
                finishes.receive(from, message, step)
            })?,
            Sent::Activity(id) => {
                let arrived = self.step(&mut effects, step, |finishes, step| {
                    finishes.arrived(id, from, step)
                });
                match arrived? {
                    Arrival::Run => {
                        *self.running.entry(id).or_default() += 1;
                        self.ran.insert(id);
                    }
                    Arrival::Stale => step.effect(Effect::Stale(id)),
                    Arrival::Skip => {}
                }
            }
        }
        self.carry_out(effects, step);
        Ok(())
    }

    fn lost(&mut self, place: PlaceId, step: &mut Step<'_, Self>) -> Tolerance {
        let mut effects = Vec::new();
        let tolerance = self.step(&mut effects, step, |finishes, step| {
            finishes.lost(place, step)
        });
        self.carry_out(effects, step);
        tolerance
    }
}
