//! The paths of reports, and what messages must satisfy on them.

use super::Outcome;
use super::message::{Combined, FinishId, Refusal};
use crate::id::{Layout, PlaceId};

/// The tree along which reports travel: rotated so that the home is its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    pub(super) layout: Layout,
    pub(super) radix: u32,
}

impl Tree {
    /// Returns where `at` sends its reports; itself for the home.
    pub(super) fn parent(self, id: FinishId, at: PlaceId) -> PlaceId {
        let places = u64::from(self.layout.places());
        let (root, at) = (u64::from(id.root.0), u64::from(at.0));
        let rotated = (at + places - root) % places;
        let parent = rotated.saturating_sub(1) / u64::from(self.radix);
        PlaceId(((parent + root) % places) as u32)
    }

    /// Whether reports of `at` pass `by`.
    pub(super) fn passes(self, id: FinishId, mut at: PlaceId, by: PlaceId) -> bool {
        while at != by {
            if at == id.root {
                return false;
            }
            at = self.parent(id, at);
        }
        true
    }

    /// Checks the names in a message that `here` received.
    pub(super) fn check(self, here: PlaceId, id: FinishId, from: PlaceId) -> Result<(), Refusal> {
        let wrong = [from, id.root]
            .into_iter()
            .find(|at| at.0 >= self.layout.places());
        match wrong {
            Some(at) => Err(Refusal::Place(at)),
            None if from == here => Err(Refusal::Place(from)),
            None => Ok(()),
        }
    }

    /// Checks an outcome that `here` received: it cannot be lost itself, and a loss names the
    /// place's rank.
    pub(super) fn check_outcome(self, here: PlaceId, outcome: &Outcome) -> Result<(), Refusal> {
        let at = outcome.at();
        let is_false = match outcome {
            Outcome::Lost { rank, .. } => at == here || *rank != self.layout.rank_of(at),
            Outcome::Panicked { .. } | Outcome::Cancelled { .. } => false,
        };
        if at.0 >= self.layout.places() || is_false {
            return Err(Refusal::Place(at));
        }
        Ok(())
    }

    /// Checks form and path of a report that `here` received.
    pub(super) fn check_report(
        self,
        here: PlaceId,
        id: FinishId,
        from: PlaceId,
        combined: &Combined,
    ) -> Result<(), Refusal> {
        if !combined.parts.is_sorted_by(|a, b| a < b)
            || !combined.counts.is_sorted_by(|a, b| a.0 < b.0)
        {
            return Err(Refusal::Order);
        }
        if combined.parts.is_empty() {
            return Err(Refusal::Path(from));
        }
        let direct = combined.epoch > 0;
        if !direct && self.parent(id, from) != here {
            return Err(Refusal::Path(from));
        }
        for &(at, number) in &combined.parts {
            if at.0 >= self.layout.places() {
                return Err(Refusal::Place(at));
            }
            if number == 0 {
                return Err(Refusal::Doubled(at, number));
            }
            if at != from && (direct || !self.passes(id, at, from)) {
                return Err(Refusal::Path(at));
            }
        }
        combined
            .outcome
            .iter()
            .try_for_each(|outcome| self.check_outcome(here, outcome))
    }
}
