//! What each message does at its receiver.

use super::Finishes;
use crate::finish::Outcome;
use crate::finish::branch::Branch;
use crate::finish::message::{Actions, Combined, FinishId, PeerErrorKind};
use crate::id::{PlaceId, Rank};
use alloc::vec::Vec;

impl Finishes {
    pub(super) fn on_report(
        &mut self,
        from: PlaceId,
        id: FinishId,
        combined: Combined,
        out: &mut impl Actions,
    ) -> Result<(), PeerErrorKind> {
        self.tree.check(self.here, id, from)?;
        self.tree.check_report(self.here, id, from, &combined)?;
        if self.lost.contains_key(&id.root) || self.lost.contains_key(&from) {
            return Ok(());
        }
        if id.root != self.here {
            if combined.epoch != 0 {
                return Err(PeerErrorKind::NotHome);
            }
            if self
                .branches
                .get(&id)
                .is_some_and(|branch| branch.epoch > 0)
            {
                return Ok(());
            }
            return self.held.entry(id).or_default().merge(&combined);
        }
        let Some(root) = self.homes.get_mut(&id.number) else {
            // Without a loss no report is under way when the finish ends.
            return match self.lost.is_empty() {
                true => Err(PeerErrorKind::Unknown(id)),
                false => Ok(()),
            };
        };
        if combined.epoch > root.epoch {
            return Err(PeerErrorKind::Epoch(combined.epoch));
        }
        if combined.epoch == root.epoch {
            root.home.on_combined(&combined)?;
        }
        if let Some(outcome) = combined.outcome {
            self.learn(id, outcome, out);
        }
        self.try_end(id, out);
        Ok(())
    }

    pub(super) fn on_fail(
        &mut self,
        from: PlaceId,
        id: FinishId,
        outcome: Outcome,
        out: &mut impl Actions,
    ) -> Result<(), PeerErrorKind> {
        self.tree.check(self.here, id, from)?;
        self.tree.check_outcome(self.here, &outcome)?;
        if id.root != self.here {
            return Err(PeerErrorKind::NotHome);
        }
        if id.number >= self.next {
            return Err(PeerErrorKind::Unknown(id));
        }
        // Otherwise the report was faster.
        if self.homes.contains_key(&id.number) {
            self.learn(id, outcome, out);
        }
        Ok(())
    }

    pub(super) fn on_cancel(
        &mut self,
        from: PlaceId,
        id: FinishId,
        outcome: Outcome,
        out: &mut impl Actions,
    ) -> Result<(), PeerErrorKind> {
        self.tree.check_outcome(self.here, &outcome)?;
        if let Some(branch) = self.arrival(id, from)? {
            branch.arrived(from);
            self.cancel(id, outcome, out);
            self.settle(id, out);
        }
        Ok(())
    }

    pub(super) fn on_recount(
        &mut self,
        from: PlaceId,
        id: FinishId,
        lost: Vec<(PlaceId, Rank)>,
        out: &mut impl Actions,
    ) -> Result<(), PeerErrorKind> {
        self.check_home(from, id)?;
        if !lost.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(PeerErrorKind::Order);
        }
        let wrong = |at: &PlaceId| at.0 >= self.tree.places || *at == self.here || *at == id.root;
        if let Some((at, _)) = lost.iter().find(|(at, _)| wrong(at)) {
            return Err(PeerErrorKind::Place(*at));
        }
        if self.lost.contains_key(&from) {
            return Ok(());
        }
        for &(place, rank) in &lost {
            self.lost(place, rank, out);
        }
        let here = self.here;
        let branch = self.branches.entry(id).or_insert_with(|| Branch::new(here));
        if lost.len() as u32 > branch.epoch {
            branch.recount(&lost);
            self.held.remove(&id);
            self.settle(id, out);
        }
        Ok(())
    }

    pub(super) fn on_over(&mut self, from: PlaceId, id: FinishId) -> Result<(), PeerErrorKind> {
        self.check_home(from, id)?;
        match self.branches.get(&id) {
            None if self.lost.contains_key(&from) => Ok(()),
            None => Err(PeerErrorKind::Unknown(id)),
            Some(branch) if branch.is_active => Err(PeerErrorKind::Running(id)),
            Some(_) => {
                self.branches.remove(&id);
                Ok(())
            }
        }
    }

    /// Checks that a message about a finish comes from its home.
    fn check_home(&self, from: PlaceId, id: FinishId) -> Result<(), PeerErrorKind> {
        self.tree.check(self.here, id, from)?;
        match from == id.root {
            true => Ok(()),
            false => Err(PeerErrorKind::NotFromHome(id)),
        }
    }
}
