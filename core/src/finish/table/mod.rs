//! All finishes that one place takes part in.

mod receive;

use crate::finish::branch::Branch;
use crate::finish::message::{Actions, Combined, FinishId, Message, PeerError, PeerErrorKind};
use crate::finish::route::Tree;
use crate::finish::{Home, Outcome};
use crate::id::{PlaceId, Rank};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The finishes of one place: a state machine without I/O.
///
/// Activities inside the place are counted by the driver, with a [`Counter`](super::Counter) for each finish; it calls
/// [`quiet`](Self::quiet) when the counter is zero. Only what crosses places is recorded here. An activity that waits for a
/// nested finish still runs.
///
/// ```
/// use tautline_core::PlaceId;
/// use tautline_core::finish::{Actions, Arrival, FinishId, Finishes, Message, Outcome, Spawn};
///
/// /// Messages under way, and the outcomes of finishes that have ended.
/// #[derive(Default)]
/// struct Net(Vec<(PlaceId, Message)>, Vec<Option<Outcome>>);
///
/// impl Actions for Net {
///     fn send(&mut self, to: PlaceId, message: Message) {
///         self.0.push((to, message));
///     }
///     fn cancel(&mut self, _: FinishId, _: &Outcome) {}
///     fn done(&mut self, _: FinishId, outcome: Option<Outcome>) {
///         self.1.push(outcome);
///     }
/// }
///
/// let (home, away) = (PlaceId(1), PlaceId(0));
/// let mut net = Net::default();
/// let mut at_home = Finishes::new(home, 2);
/// let mut elsewhere = Finishes::new(away, 2);
///
/// // The body spawns an activity at place 0, and ends.
/// let id = at_home.open(None, &mut net);
/// assert_eq!(at_home.spawned(id, away, &mut net), Spawn::Counted);
/// at_home.quiet(id, &mut net);
///
/// // The activity arrives, runs and ends.
/// assert_eq!(elsewhere.arrived(id, home, &mut net), Ok(Arrival::Run));
/// elsewhere.quiet(id, &mut net);
/// elsewhere.flush(&mut net);
///
/// let (_, report) = net.0.pop().unwrap();
/// at_home.on(away, report, &mut net)?;
/// assert_eq!(net.1, [None]);
///
/// // Place 0 forgets the finish.
/// let (_, over) = net.0.pop().unwrap();
/// elsewhere.on(home, over, &mut net)?;
/// assert!(elsewhere.is_empty() && at_home.is_empty());
/// # Ok::<(), tautline_core::finish::PeerError>(())
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
    lost: BTreeMap<PlaceId, Rank>,
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

/// What becomes of a spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Spawn {
    /// The driver sends the activity with the finish's id.
    Counted,
    /// The finish was cancelled, or the place is lost; the activity must not be sent.
    Refused(Outcome),
}

/// What becomes of an activity that arrives.
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

    /// Creates the state of `here`, one of `places` places.
    ///
    /// # Panics
    /// If `here` is not one of them.
    pub fn new(here: PlaceId, places: u32) -> Self {
        Self::with_radix(here, places, Self::RADIX)
    }

    /// As [`new`](Self::new), with the number of places that report to the same place; the same at all places.
    ///
    /// # Panics
    /// If `here` is not one of the places, or `radix` is zero.
    pub fn with_radix(here: PlaceId, places: u32, radix: u32) -> Self {
        assert!(here.0 < places, "{here} of {places} places");
        assert!(radix > 0, "reports need a place to go to");
        Self {
            here,
            tree: Tree { places, radix },
            next: 0,
            homes: BTreeMap::new(),
            branches: BTreeMap::new(),
            held: BTreeMap::new(),
            lost: BTreeMap::new(),
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

    /// Begins a finish whose home is here; its body runs. Called when the first activity is to leave this place.
    /// `parent` is the finish of the activity that waits: its cancellation cancels this one.
    pub fn open(&mut self, parent: Option<FinishId>, out: &mut impl Actions) -> FinishId {
        let id = FinishId {
            root: self.here,
            number: self.next,
        };
        self.next += 1;
        let root = Root {
            home: Home::sparse(self.here, self.tree.places),
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
            self.recount(id, out);
        }
        if let Some(outcome) = parent.and_then(|parent| self.cancelled(parent).cloned()) {
            self.fail(id, outcome, out);
        }
        id
    }

    /// Records that an activity of `id`, which runs here, spawns one at another place.
    ///
    /// # Panics
    /// If no activity of `id` runs here, or `to` is not another place.
    pub fn spawned(&mut self, id: FinishId, to: PlaceId, out: &mut impl Actions) -> Spawn {
        assert!(
            to != self.here && to.0 < self.tree.places,
            "{to} is not another place"
        );
        if let (Some(&rank), true) = (self.lost.get(&to), self.branches.contains_key(&id)) {
            self.fail(id, Outcome::Lost { at: to, rank }, out);
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
        out: &mut impl Actions,
    ) -> Result<Arrival, PeerError> {
        let error = |kind| PeerError { from, kind };
        let Some(branch) = self.arrival(id, from).map_err(error)? else {
            return Ok(Arrival::Stale);
        };
        branch.arrived(from);
        if branch.cancelled.is_none() {
            branch.is_active = true;
            return Ok(Arrival::Run);
        }
        self.settle(id, out);
        Ok(Arrival::Skip)
    }

    /// Reports that all activities of `id` that ran here have ended.
    ///
    /// # Panics
    /// If no activity of `id` runs here.
    pub fn quiet(&mut self, id: FinishId, out: &mut impl Actions) {
        let branch = self.branches.get_mut(&id).filter(|branch| branch.is_active);
        branch.expect("quiet without an activity").is_active = false;
        if self.lost.contains_key(&id.root) {
            self.branches.remove(&id);
        } else {
            self.report(id, out);
        }
    }

    /// Records that an activity of `id` failed here, or requests to cancel them all. At the home it may be called
    /// until the finish has ended.
    ///
    /// # Panics
    /// If no activity of `id` runs here and its home is elsewhere, or it has ended.
    pub fn fail(&mut self, id: FinishId, outcome: Outcome, out: &mut impl Actions) {
        let branch = self.branches.get_mut(&id);
        let branch = branch.filter(|branch| branch.is_active || id.root == self.here);
        if branch
            .expect("a failure without an activity")
            .raise(&outcome)
        {
            self.tell_home(id, &outcome, out);
        }
        self.cancel(id, outcome, out);
        self.settle(id, out);
    }

    /// Sends reports towards their homes. Called when the driver is about to wait, or more often: reports that
    /// wait for the next call are sent as one.
    pub fn flush(&mut self, out: &mut impl Actions) {
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
                out.send(tree.parent(*id, *here), message);
            }
            waits
        });
    }

    /// Processes a message.
    ///
    /// # Errors
    /// If no correct place sends it; nothing has changed then.
    pub fn on(
        &mut self,
        from: PlaceId,
        message: Message,
        out: &mut impl Actions,
    ) -> Result<(), PeerError> {
        let done = match message {
            Message::Report(id, combined) => self.on_report(from, id, combined, out),
            Message::Fail(id, outcome) => self.on_fail(from, id, outcome, out),
            Message::Cancel(id, outcome) => self.on_cancel(from, id, outcome, out),
            Message::Recount(id, lost) => self.on_recount(from, id, lost, out),
            Message::Over(id) => self.on_over(from, id),
        };
        done.map_err(|kind| PeerError { from, kind })
    }

    /// Reports that `place` is lost with its rank. What it had sent was processed before, or never will be. Called at
    /// every place; further calls for the same place have no effect.
    pub fn lost(&mut self, place: PlaceId, rank: Rank, out: &mut impl Actions) {
        let is_other = place != self.here && place.0 < self.tree.places;
        if !is_other || self.lost.insert(place, rank).is_some() {
            return;
        }
        let outcome = Outcome::Lost { at: place, rank };
        let ids: Vec<_> = self.branches.keys().copied().collect();
        self.held.retain(|id, _| id.root != place);
        for id in ids {
            if id.root == place {
                self.orphan(id, &outcome, out);
            } else if id.root == self.here {
                self.recount(id, out);
            } else if let Some(branch) = self.branches.get_mut(&id)
                && branch.knows(place)
                && branch.raise(&outcome)
            {
                self.tell_home(id, &outcome, out);
            }
        }
    }
}

/// Parts of several events.
impl Finishes {
    /// Returns the branch that an arrival of `id` is counted in; `None` if the arrival is stale.
    fn arrival(
        &mut self,
        id: FinishId,
        from: PlaceId,
    ) -> Result<Option<&mut Branch>, PeerErrorKind> {
        self.tree.check(self.here, id, from)?;
        if self.lost.contains_key(&from) || self.lost.contains_key(&id.root) {
            return Ok(None);
        }
        if id.root == self.here && !self.homes.contains_key(&id.number) {
            return Err(PeerErrorKind::Unknown(id));
        }
        let here = self.here;
        Ok(Some(
            self.branches.entry(id).or_insert_with(|| Branch::new(here)),
        ))
    }

    /// Reports what has changed while no activity runs here.
    fn settle(&mut self, id: FinishId, out: &mut impl Actions) {
        if self
            .branches
            .get(&id)
            .is_some_and(|branch| !branch.is_active)
        {
            self.report(id, out);
        }
    }

    fn report(&mut self, id: FinishId, out: &mut impl Actions) {
        let Some(branch) = self.branches.get_mut(&id) else {
            return;
        };
        let combined = branch.report();
        if id.root == self.here {
            if let Some(root) = self.homes.get_mut(&id.number) {
                let added = root.home.on_own(&combined);
                debug_assert!(added.is_ok(), "the counts of this place are its own");
                self.try_end(id, out);
            }
        } else if combined.epoch > 0 {
            out.send(id.root, Message::Report(id, combined));
        } else {
            let held = self.held.entry(id).or_default();
            if held.merge(&combined).is_err() {
                // A count from below is near its limit.
                let full = core::mem::replace(held, combined);
                out.send(self.tree.parent(id, self.here), Message::Report(id, full));
            }
        }
    }

    /// Passes an outcome raised here to the home.
    fn tell_home(&mut self, id: FinishId, outcome: &Outcome, out: &mut impl Actions) {
        if id.root != self.here {
            out.send(id.root, Message::Fail(id, outcome.clone()));
        } else if let Some(root) = self.homes.get_mut(&id.number) {
            Outcome::merge(&mut root.outcome, outcome);
        }
    }

    /// At the home, which does not end yet: takes an outcome in and cancels.
    fn learn(&mut self, id: FinishId, outcome: Outcome, out: &mut impl Actions) {
        let Some(root) = self.homes.get_mut(&id.number) else {
            return;
        };
        Outcome::merge(&mut root.outcome, &outcome);
        if let Outcome::Lost { at, rank } = outcome {
            self.lost(at, rank, out);
        }
        let is_done = self
            .homes
            .get(&id.number)
            .is_none_or(|root| root.home.is_done());
        if !is_done {
            self.cancel(id, outcome, out);
            self.settle(id, out);
        }
    }

    /// Cancels `id` here and at the places it was spawned at, and the finishes that its activities
    /// here wait for.
    fn cancel(&mut self, id: FinishId, outcome: Outcome, out: &mut impl Actions) {
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
            out.cancel(id, &outcome);
            for to in branch.targets() {
                if !self.lost.contains_key(&to) {
                    branch.spawned(to);
                    out.send(to, Message::Cancel(id, outcome.clone()));
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
            self.settle(nested, out);
        }
    }

    /// At a place that waits for a lost home: cancels what runs.
    fn orphan(&mut self, id: FinishId, outcome: &Outcome, out: &mut impl Actions) {
        self.cancel(id, outcome.clone(), out);
        if self
            .branches
            .get(&id)
            .is_some_and(|branch| !branch.is_active)
        {
            self.branches.remove(&id);
        }
    }

    /// At the home: repeats the count without the lost places.
    fn recount(&mut self, id: FinishId, out: &mut impl Actions) {
        let (Some(root), Some(branch)) =
            (self.homes.get_mut(&id.number), self.branches.get_mut(&id))
        else {
            return;
        };
        let lost: Vec<_> = self.lost.iter().map(|(at, rank)| (*at, *rank)).collect();
        root.epoch = lost.len() as u32;
        let is_lost = |at| self.lost.contains_key(&at);
        root.home = Home::repeated(self.here, self.tree.places, is_lost);
        branch.recount(&lost);
        let mut outcome = None;
        for &(at, rank) in lost.iter().filter(|(at, _)| branch.knows(*at)) {
            Outcome::merge(&mut outcome, &Outcome::Lost { at, rank });
        }
        for at in (0..self.tree.places).map(PlaceId) {
            if at != self.here && !is_lost(at) {
                out.send(at, Message::Recount(id, lost.clone()));
            }
        }
        match outcome {
            Some(outcome) => self.fail(id, outcome, out),
            None => self.settle(id, out),
        }
    }

    /// At the home: ends the finish if all activities have ended.
    fn try_end(&mut self, id: FinishId, out: &mut impl Actions) {
        let is_done = |root: &Root| root.home.is_done();
        if !self.homes.get(&id.number).is_some_and(is_done) {
            return;
        }
        if let Some(root) = self.homes.remove(&id.number) {
            self.branches.remove(&id);
            for at in root.home.members() {
                if at != self.here && !self.lost.contains_key(&at) {
                    out.send(at, Message::Over(id));
                }
            }
            out.done(id, root.outcome);
        }
    }
}
