//! Transitions of a place that receives messages.

use super::Finishes;
use crate::finish::Outcome;
use crate::finish::branch::Branch;
use crate::finish::message::{Combined, FinishId, Refusal};
use crate::id::PlaceId;
use crate::machine::{Machine, Step};

impl Finishes {
    pub(super) fn on_report(
        &mut self,
        from: PlaceId,
        id: FinishId,
        combined: Combined,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.tree.check(self.here, id, from)?;
        self.tree.check_report(self.here, id, from, &combined)?;
        if self.lost.contains(&id.root) || self.lost.contains(&from) {
            return Ok(());
        }
        if id.root != self.here {
            if combined.epoch != 0 {
                return Err(Refusal::NotHome);
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
            // Without a loss no report is in flight when the finish ends.
            return match self.lost.is_empty() {
                true => Err(Refusal::Unknown(id)),
                false => Ok(()),
            };
        };
        if combined.epoch > root.epoch {
            return Err(Refusal::Epoch(combined.epoch));
        }
        if combined.epoch == root.epoch {
            let branch = self.branches.get(&id);
            let is_active = branch.is_some_and(|branch| branch.is_active);
            match is_active && root.home.may_end_by(&combined) {
                false => _ = root.home.on_combined(&combined)?,
                true => {
                    // An activity here is in no report that could end the finish.
                    let mut home = root.home.clone();
                    if home.on_combined(&combined)? {
                        return Err(Refusal::Running(id));
                    }
                    root.home = home;
                }
            }
        }
        if let Some(outcome) = combined.outcome {
            self.learn(id, outcome, step);
        }
        self.try_end(id, step);
        Ok(())
    }

    pub(super) fn on_fail(
        &mut self,
        from: PlaceId,
        id: FinishId,
        outcome: Outcome,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.tree.check(self.here, id, from)?;
        self.tree.check_outcome(self.here, &outcome)?;
        if id.root != self.here {
            return Err(Refusal::NotHome);
        }
        if id.number >= self.next {
            return Err(Refusal::Unknown(id));
        }
        // Otherwise the report was faster.
        if self.homes.contains_key(&id.number) {
            self.learn(id, outcome, step);
        }
        Ok(())
    }

    pub(super) fn on_cancel(
        &mut self,
        from: PlaceId,
        id: FinishId,
        outcome: Outcome,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.tree.check_outcome(self.here, &outcome)?;
        if let Some(branch) = self.arrival(id, from)? {
            branch.arrived(from);
            self.cancel(id, outcome, step);
            self.settle(id, step);
        }
        Ok(())
    }

    pub(super) fn on_recount(
        &mut self,
        from: PlaceId,
        id: FinishId,
        lost: &[PlaceId],
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        self.check_home(from, id)?;
        if !lost.is_sorted_by(|a, b| a < b) {
            return Err(Refusal::Order);
        }
        let wrong =
            |at: &PlaceId| at.0 >= self.tree.layout.places() || *at == self.here || *at == id.root;
        if let Some(at) = lost.iter().find(|at| wrong(at)) {
            return Err(Refusal::Place(*at));
        }
        if self.lost.contains(&from) {
            return Ok(());
        }
        for &place in lost {
            self.lost(place, step);
        }
        let here = self.here;
        let branch = self.branches.entry(id).or_insert_with(|| Branch::new(here));
        if lost.len() as u32 > branch.epoch {
            branch.recount(lost);
            self.held.remove(&id);
            self.settle(id, step);
        }
        Ok(())
    }

    pub(super) fn on_over(&mut self, from: PlaceId, id: FinishId) -> Result<(), Refusal> {
        self.check_home(from, id)?;
        match self.branches.get(&id) {
            None if self.lost.contains(&from) => Ok(()),
            None => Err(Refusal::Unknown(id)),
            Some(branch) if branch.is_active => Err(Refusal::Running(id)),
            Some(_) => {
                self.branches.remove(&id);
                Ok(())
            }
        }
    }

    /// Checks that a message about a finish comes from its home.
    fn check_home(&self, from: PlaceId, id: FinishId) -> Result<(), Refusal> {
        self.tree.check(self.here, id, from)?;
        match from == id.root {
            true => Ok(()),
            false => Err(Refusal::NotFromHome(id)),
        }
    }
}
