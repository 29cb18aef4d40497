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
        let is_open = id.root == self.here && self.homes.contains_key(&id.number);
        if let Some(branch) = self.branches.get_mut(&id).filter(|_| is_open) {
            branch.is_active = true;
        }
        is_open
    }
}
