//! Finishes with an activity at every place, homes whose activities the driver counts, and the
//! activities that a home awaits, for reports.

use super::Finishes;
use crate::finish::message::FinishId;
use crate::id::PlaceId;
use crate::machine::Step;
use alloc::vec::Vec;

impl Finishes {
    /// Begins the first finish of place 0, which has an activity at every place from the start:
    /// called once at each place, before all else, without a message.
    ///
    /// # Panics
    /// If something has begun here.
    pub fn open_everywhere(&mut self, step: &mut Step<'_, Self>) -> FinishId {
        let (root, number) = (PlaceId(0), 0);
        assert!(self.is_empty() && self.next == 0, "it is the first finish");
        let id = FinishId { root, number };
        if self.here != root {
            let arrived = self.arrived(id, root, step);
            assert!(arrived.is_ok(), "place 0 is another place");
            return id;
        }
        let opened = self.open(None, step);
        for to in (1..self.tree.layout.places()).map(PlaceId) {
            _ = self.spawned(opened, to, step);
        }
        opened
    }

    /// Lets activities of a finish whose home is here spawn again after
    /// [`Quiet`](crate::finish::Event::Quiet). Returns false if the finish has ended.
    pub fn resume(&mut self, id: FinishId) -> bool {
        let root = (id.root == self.here).then(|| self.homes.get_mut(&id.number));
        let (Some(root), Some(branch)) = (root.flatten(), self.branches.get_mut(&id)) else {
            return false;
        };
        if !branch.is_active {
            branch.is_active = true;
            let added = root.home.on_own(&branch.resumed());
            debug_assert!(added.is_ok(), "the counts of this place are its own");
        }
        true
    }
}

impl Finishes {
    /// Whether activities of a finish run here.
    pub fn is_active(&self, id: FinishId) -> bool {
        self.branches
            .get(&id)
            .is_some_and(|branch| branch.is_active)
    }

    /// Returns the places with activities of a finish that have not ended, ascending, with their
    /// number, as far as this place knows: only the home does. A place with 0 of them must still
    /// report, after a loss. Empty if only reports are missing.
    ///
    /// ```
    /// use tautline_core::finish::{Event, Finishes, Spawn};
    /// use tautline_core::machine::{Step, no_calls};
    /// use tautline_core::{Layout, PlaceId};
    ///
    /// let mut home = Finishes::new(PlaceId(1), Layout::new(3, 1));
    /// let mut act = |_| ();
    /// let step = &mut Step::new(no_calls(), &mut act);
    /// let id = home.open(None, step);
    /// for _ in 0..2 {
    ///     assert_eq!(home.spawned(id, PlaceId(2), step), Spawn::Counted);
    /// }
    /// assert_eq!(home.awaited(id), [(PlaceId(1), 1), (PlaceId(2), 2)]);
    /// // The body has ended.
    /// tautline_core::machine::Machine::event(&mut home, Event::Quiet(id), step);
    /// assert_eq!(home.awaited(id), [(PlaceId(2), 2)]);
    /// ```
    pub fn awaited(&self, id: FinishId) -> Vec<(PlaceId, u64)> {
        let root = (id.root == self.here).then(|| self.homes.get(&id.number));
        let Some(root) = root.flatten() else {
            return Vec::new();
        };
        let mut live = root.home.live();
        let own = self.branches.get(&id);
        for (at, change) in own.into_iter().flat_map(|own| own.unreported()) {
            let live = live.entry(at).or_default();
            *live = live.saturating_add(change);
        }
        live.retain(|_, count| *count > 0);
        for at in root.home.awaited() {
            live.entry(*at).or_default();
        }
        let counts = live.into_iter();
        counts
            .map(|(at, count)| (at, count.unsigned_abs()))
            .collect()
    }
}
