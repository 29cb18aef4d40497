//! The paths of reports, and what messages must satisfy on them.

use super::Outcome;
use super::message::{Combined, FinishId, PeerErrorKind};
use crate::id::PlaceId;

/// The tree along which reports travel: rotated so that the home is its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tree {
    pub(super) places: u32,
    pub(super) radix: u32,
}

impl Tree {
    /// Returns where `at` sends its reports; itself for the home.
    pub(super) fn parent(self, id: FinishId, at: PlaceId) -> PlaceId {
        let places = u64::from(self.places);
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
    pub(super) fn check(
        self,
        here: PlaceId,
        id: FinishId,
        from: PlaceId,
    ) -> Result<(), PeerErrorKind> {
        let wrong = [from, id.root].into_iter().find(|at| at.0 >= self.places);
        match wrong {
            Some(at) => Err(PeerErrorKind::Place(at)),
            None if from == here => Err(PeerErrorKind::Place(from)),
            None => Ok(()),
        }
    }

    /// Checks an outcome that `here` received: it cannot be lost itself.
    pub(super) fn check_outcome(
        self,
        here: PlaceId,
        outcome: &Outcome,
    ) -> Result<(), PeerErrorKind> {
        let at = outcome.at();
        let is_alive = at == here && matches!(outcome, Outcome::Lost { .. });
        if at.0 >= self.places || is_alive {
            return Err(PeerErrorKind::Place(at));
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
    ) -> Result<(), PeerErrorKind> {
        if !combined.parts.is_sorted_by(|a, b| a < b)
            || !combined.counts.is_sorted_by(|a, b| a.0 < b.0)
        {
            return Err(PeerErrorKind::Order);
        }
        if combined.parts.is_empty() {
            return Err(PeerErrorKind::Path(from));
        }
        let direct = combined.epoch > 0;
        if !direct && self.parent(id, from) != here {
            return Err(PeerErrorKind::Path(from));
        }
        for &(at, number) in &combined.parts {
            if at.0 >= self.places {
                return Err(PeerErrorKind::Place(at));
            }
            if number == 0 {
                return Err(PeerErrorKind::Doubled(at, number));
            }
            if at != from && (direct || !self.passes(id, at, from)) {
                return Err(PeerErrorKind::Path(at));
            }
        }
        combined
            .outcome
            .iter()
            .try_for_each(|outcome| self.check_outcome(here, outcome))
    }
}
