//! All finishes that one place takes part in.

mod everywhere;
mod receive;

use crate::finish::branch::Branch;
use crate::finish::message::{Combined, Effect, Event, FinishId, Message, Refusal};
use crate::finish::route::Tree;
use crate::finish::{Home, Outcome};
use crate::id::{Layout, PlaceId};
use crate::machine::{Machine, Step, Tolerance};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The finishes of one place.
///
/// Activities inside the place are counted by the driver, with a [`Counter`](super::Counter) for
/// each finish; [`Event::Quiet`] reports that the counter is zero. Only what crosses places is
/// recorded here. An activity that waits for a nested finish still runs.
///
/// ```
/// use tautline_core::finish::{Arrival, Effect, Event, Finishes, Message, Spawn};
/// use tautline_core::machine::{Action, Machine, Step, no_calls};
/// use tautline_core::{Layout, PlaceId};
///
/// let (home, away) = (PlaceId(1), PlaceId(0));
/// let layout = Layout::new(2, 1);
/// let mut at_home = Finishes::new(home, layout);
/// let mut elsewhere = Finishes::new(away, layout);
///
/// let mut actions = Vec::new();
/// let mut act = |action: Action<Finishes>| actions.push(action);
/// let step = &mut Step::new(no_calls(), &mut act);
///
/// // The body spawns an activity at place 0, and ends.
/// let id = at_home.open(None, step);
/// assert_eq!(at_home.spawned(id, away, step), Spawn::Counted);
/// at_home.event(Event::Quiet(id), step);
///
/// // The activity arrives, runs and ends.
/// assert_eq!(elsewhere.arrived(id, home, step), Ok(Arrival::Run));
/// elsewhere.event(Event::Quiet(id), step);
/// elsewhere.event(Event::Flush, step);
///
/// let Some(Action::Send(_, report @ Message::Report(..))) = actions.pop() else {
///     panic!("the counts of place 0 are sent to the home")
/// };
/// let mut act = |action: Action<Finishes>| actions.push(action);
/// at_home.receive(away, report, &mut Step::new(&mut (), &mut act))?;
///
/// // The finish has ended, and place 0 forgets it.
/// let [Action::Send(_, over), Action::Effect(Effect::Done(_, None))] = &actions[..] else {
///     panic!("the home ends the finish")
/// };
/// elsewhere.receive(home, over.clone(), &mut Step::new(&mut (), &mut |_| ()))?;
/// assert!(elsewhere.is_empty() && at_home.is_empty());
/// # Ok::<(), tautline_core::finish::Refusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finishes {
    here: PlaceId,
    tree: Tree,
    /// The number of the next finish whose home is here.
    next: u64,
    homes: BTreeMap<u64, Root>,
    branches: BTreeMap<FinishId, Branch>,
    /// Reports that wait to be forwarded.
    held: BTreeMap<FinishId, Combined>,
    lost: BTreeSet<PlaceId>,
}

/// A finish whose home is here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Root {
    home: Home,
    outcome: Option<Outcome>,
    /// The finish of the activity that waits for this one.
    parent: Option<FinishId>,
    /// The number of lost places that the counts exclude.
    epoch: u32,
}

/// The fate of a spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Spawn {
    /// The driver sends the activity with the finish's id.
    Counted,
    /// The finish was cancelled, or the place is lost; the activity must not be sent.
    Refused(Outcome),
}

/// The fate of an activity that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Arrival {
    /// The driver counts it, and runs it.
    Run,
    /// The finish was cancelled: the driver discards it without counting it.
    Skip,
    /// The finish or its sender belongs to a lost place; the driver discards it.
    Stale,
}

impl Finishes {
    const RADIX: u32 = 8;

    /// Creates the state of `here`, one of the places of `layout`.
    ///
    /// # Panics
    /// If `here` is not one of them.
    pub fn new(here: PlaceId, layout: Layout) -> Self {
        Self::with_radix(here, layout, Self::RADIX)
    }

    /// As [`new`](Self::new), with the number of places that report to the same place; the same at
    /// all places.
    ///
    /// # Panics
    /// If `here` is not one of the places, or `radix` is zero.
    pub fn with_radix(here: PlaceId, layout: Layout, radix: u32) -> Self {
        let places = layout.places();
        assert!(here.0 < places, "{here} of {places} places");
        assert!(radix > 0, "reports need a place to go to");
        Self {
            here,
            tree: Tree { layout, radix },
            next: 0,
            homes: BTreeMap::new(),
            branches: BTreeMap::new(),
            held: BTreeMap::new(),
            lost: BTreeSet::new(),
        }
    }

    /// Whether nothing is kept here.
    pub fn is_empty(&self) -> bool {
        self.homes.is_empty() && self.branches.is_empty() && self.held.is_empty()
    }

    /// Returns why finish `id` was cancelled here, if it was.
    pub fn cancelled(&self, id: FinishId) -> Option<&Outcome> {
        self.branches.get(&id)?.cancelled.as_ref()
    }

    /// Begins a finish whose home is here; its body runs. Called when the first activity is to
    /// leave this place. `parent` is the finish of the activity that waits: its cancellation
    /// cancels this one.
    pub fn open(&mut self, parent: Option<FinishId>, step: &mut Step<'_, Self>) -> FinishId {
        let id = FinishId {
            root: self.here,
            number: self.next,
        };
        self.next += 1;
        let root = Root {
            home: Home::sparse(self.here, self.tree.layout.places()),
            outcome: None,
            parent,
            epoch: 0,
        };
        self.homes.insert(id.number, root);
        let mut body = Branch::new(self.here);
        body.is_active = true;
        body.arrived(self.here);
        self.branches.insert(id, body);
        if !self.lost.is_empty() {
            self.recount(id, step);
        }
        if let Some(outcome) = parent.and_then(|parent| self.cancelled(parent).cloned()) {
            self.fail(id, outcome, step);
        }
        id
    }

    /// Records that an activity of `id`, which runs here, spawns one at another place.
    ///
    /// # Panics
    /// If no activity of `id` runs here, or `to` is not another place.
    pub fn spawned(&mut self, id: FinishId, to: PlaceId, step: &mut Step<'_, Self>) -> Spawn {
        assert!(
            to != self.here && to.0 < self.tree.layout.places(),
            "{to} is not another place"
        );
        if self.lost.contains(&to) && self.branches.contains_key(&id) {
            self.fail(id, self.loss_of(to), step);
        }
        let branch = self.branches.get_mut(&id).filter(|branch| branch.is_active);
        let branch = branch.expect("a spawn without an activity");
        match &branch.cancelled {
            Some(outcome) => Spawn::Refused(outcome.clone()),
            None => {
                branch.spawned(to);
                Spawn::Counted
            }
        }
    }

    /// Records that an activity of `id`, spawned at `from`, has arrived.
    ///
    /// # Errors
    /// If no correct place sends it.
    pub fn arrived(
        &mut self,
        id: FinishId,
        from: PlaceId,
        step: &mut Step<'_, Self>,
    ) -> Result<Arrival, Refusal> {
        let Some(branch) = self.arrival(id, from)? else {
            return Ok(Arrival::Stale);
        };
        branch.arrived(from);
        if branch.cancelled.is_none() {
            branch.is_active = true;
            return Ok(Arrival::Run);
        }
        self.settle(id, step);
        Ok(Arrival::Skip)
    }
}

impl Machine for Finishes {
    type Peer = PlaceId;
    type Message = Message;
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Quiet(id) => self.quiet(id, step),
            Event::Fail(id, outcome) => self.fail(id, outcome, step),
            Event::Flush => self.flush(step),
        }
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Report(id, combined) => self.on_report(from, id, combined, step),
            Message::Fail(id, outcome) => self.on_fail(from, id, outcome, step),
            Message::Cancel(id, outcome) => self.on_cancel(from, id, outcome, step),
            Message::Recount(id, lost) => self.on_recount(from, id, &lost, step),
            Message::Over(id) => self.on_over(from, id),
        }
    }

    /// Processes the loss of a place: at every other place, for each place of a lost rank. What it
    /// had sent was processed before, or never will be. Further calls for the same place have no
    /// effect.
    fn lost(&mut self, place: PlaceId, step: &mut Step<'_, Self>) -> Tolerance {
        let is_other = place != self.here && place.0 < self.tree.layout.places();
        if !is_other || !self.lost.insert(place) {
            return Tolerance::Tolerated;
        }
        let outcome = self.loss_of(place);
        let ids: Vec<_> = self.branches.keys().copied().collect();
        self.held.retain(|id, _| id.root != place);
        for id in ids {
            if id.root == place {
                self.orphan(id, &outcome, step);
            } else if id.root == self.here {
                self.recount(id, step);
            } else if let Some(branch) = self.branches.get_mut(&id)
                && branch.knows(place)
                && branch.raise(&outcome)
            {
                self.tell_home(id, &outcome, step);
            }
        }
        Tolerance::Tolerated
    }
}

/// Events.
impl Finishes {
    fn quiet(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        let branch = self.branches.get_mut(&id).filter(|branch| branch.is_active);
        branch.expect("quiet without an activity").is_active = false;
        if self.lost.contains(&id.root) {
            self.branches.remove(&id);
        } else {
            self.report(id, step);
        }
    }

    fn fail(&mut self, id: FinishId, outcome: Outcome, step: &mut Step<'_, Self>) {
        let branch = self.branches.get_mut(&id);
        let branch = branch.filter(|branch| branch.is_active || id.root == self.here);
        if branch
            .expect("a failure without an activity")
            .raise(&outcome)
        {
            self.tell_home(id, &outcome, step);
        }
        self.cancel(id, outcome, step);
        self.settle(id, step);
    }

    fn flush(&mut self, step: &mut Step<'_, Self>) {
        let Self {
            here,
            tree,
            branches,
            held,
            ..
        } = self;
        held.retain(|id, combined| {
            let waits = branches.get(id).is_some_and(|branch| branch.is_active);
            if !waits {
                let message = Message::Report(*id, combined.take());
                step.send(tree.parent(*id, *here), message);
            }
            waits
        });
    }
}

/// Parts of several events.
impl Finishes {
    /// Returns the outcome of activities at a lost place.
    fn loss_of(&self, at: PlaceId) -> Outcome {
        let rank = self.tree.layout.rank_of(at);
        Outcome::Lost { at, rank }
    }

    /// Returns the branch that an arrival of `id` is counted in; `None` if the arrival is stale.
    fn arrival(&mut self, id: FinishId, from: PlaceId) -> Result<Option<&mut Branch>, Refusal> {
        self.tree.check(self.here, id, from)?;
        if self.lost.contains(&from) || self.lost.contains(&id.root) {
            return Ok(None);
        }
        if id.root == self.here && !self.homes.contains_key(&id.number) {
            return Err(Refusal::Unknown(id));
        }
        let here = self.here;
        Ok(Some(
            self.branches.entry(id).or_insert_with(|| Branch::new(here)),
        ))
    }

    /// Reports the changes while no activity runs here.
    fn settle(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        if self
            .branches
            .get(&id)
            .is_some_and(|branch| !branch.is_active)
        {
            self.report(id, step);
        }
    }

    fn report(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        let Some(branch) = self.branches.get_mut(&id) else {
            return;
        };
        let combined = branch.report();
        if id.root == self.here {
            if let Some(root) = self.homes.get_mut(&id.number) {
                let added = root.home.on_own(&combined);
                debug_assert!(added.is_ok(), "the counts of this place are its own");
                self.try_end(id, step);
            }
        } else if combined.epoch > 0 {
            step.send(id.root, Message::Report(id, combined));
        } else {
            let held = self.held.entry(id).or_default();
            if held.merge(&combined).is_err() {
                // A count from below is near its limit.
                let full = core::mem::replace(held, combined);
                step.send(self.tree.parent(id, self.here), Message::Report(id, full));
            }
        }
    }

    /// Passes an outcome raised here to the home.
    fn tell_home(&mut self, id: FinishId, outcome: &Outcome, step: &mut Step<'_, Self>) {
        if id.root != self.here {
            step.send(id.root, Message::Fail(id, outcome.clone()));
        } else if let Some(root) = self.homes.get_mut(&id.number) {
            Outcome::merge(&mut root.outcome, outcome);
        }
    }

    /// At the home, which does not end yet: takes an outcome in and cancels.
    fn learn(&mut self, id: FinishId, outcome: Outcome, step: &mut Step<'_, Self>) {
        let Some(root) = self.homes.get_mut(&id.number) else {
            return;
        };
        Outcome::merge(&mut root.outcome, &outcome);
        if let Outcome::Lost { at, .. } = outcome {
            self.lost(at, step);
        }
        let is_done = self
            .homes
            .get(&id.number)
            .is_none_or(|root| root.home.is_done());
        if !is_done {
            self.cancel(id, outcome, step);
            self.settle(id, step);
        }
    }

    /// Cancels `id` here and at the places it was spawned at, and the finishes that its activities
    /// here wait for.
    fn cancel(&mut self, id: FinishId, outcome: Outcome, step: &mut Step<'_, Self>) {
        let mut ids = Vec::from([id]);
        let mut next = 0;
        while let Some(&id) = ids.get(next) {
            next += 1;
            let Some(branch) = self.branches.get_mut(&id) else {
                continue;
            };
            if branch.cancelled.is_some() {
                continue;
            }
            branch.cancelled = Some(outcome.clone());
            step.effect(Effect::Cancel(id, outcome.clone()));
            for to in branch.targets() {
                if !self.lost.contains(&to) {
                    branch.spawned(to);
                    step.send(to, Message::Cancel(id, outcome.clone()));
                }
            }
            for (&number, root) in &mut self.homes {
                if root.parent == Some(id) {
                    Outcome::merge(&mut root.outcome, &outcome);
                    ids.push(FinishId {
                        root: self.here,
                        number,
                    });
                }
            }
        }
        for nested in ids.drain(1..).rev() {
            self.settle(nested, step);
        }
    }

    /// At a place that waits for a lost home: cancels what runs.
    fn orphan(&mut self, id: FinishId, outcome: &Outcome, step: &mut Step<'_, Self>) {
        self.cancel(id, outcome.clone(), step);
        if self
            .branches
            .get(&id)
            .is_some_and(|branch| !branch.is_active)
        {
            self.branches.remove(&id);
        }
    }

    /// At the home: repeats the count without the lost places.
    fn recount(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        let (Some(root), Some(branch)) =
            (self.homes.get_mut(&id.number), self.branches.get_mut(&id))
        else {
            return;
        };
        let lost: Vec<_> = self.lost.iter().copied().collect();
        root.epoch = lost.len() as u32;
        let is_lost = |at| self.lost.contains(&at);
        root.home = Home::repeated(self.here, self.tree.layout.places(), is_lost);
        branch.recount(&lost);
        let mut outcome = None;
        for &at in lost.iter().filter(|at| branch.knows(**at)) {
            let rank = self.tree.layout.rank_of(at);
            Outcome::merge(&mut outcome, &Outcome::Lost { at, rank });
        }
        for at in (0..self.tree.layout.places()).map(PlaceId) {
            if at != self.here && !is_lost(at) {
                step.send(at, Message::Recount(id, lost.clone()));
            }
        }
        match outcome {
            Some(outcome) => self.fail(id, outcome, step),
            None => self.settle(id, step),
        }
    }

    /// At the home: ends the finish if all activities have ended.
    fn try_end(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        let is_done = |root: &Root| root.home.is_done();
        if !self.homes.get(&id.number).is_some_and(is_done) {
            return;
        }
        if let Some(root) = self.homes.remove(&id.number) {
            self.branches.remove(&id);
            for at in root.home.members() {
                if at != self.here && !self.lost.contains(&at) {
                    step.send(at, Message::Over(id));
                }
            }
            step.effect(Effect::Done(id, root.outcome));
        }
    }
}
