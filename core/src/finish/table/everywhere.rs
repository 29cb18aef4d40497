//! Finishes with an activity at every place, and homes whose activities the driver counts.

use super::Finishes;
use crate::finish::message::FinishId;
use crate::id::PlaceId;
use crate::machine::Step;

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
