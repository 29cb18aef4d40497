//! Whether workers are pinned, to which processors, and why.
#![forbid(unsafe_code)]

use super::Builder;
use crate::Result;
use crate::host::pinning::{self, Pinning, Refusal};
use crate::setting::{NO_PIN, PIN, Source, environment};

/// The placement of the workers: by the system, or by pinning.
pub(crate) struct Placement {
    pub(crate) is_pinned: bool,
    /// Whether that is by default, and so only while no other runtime has workers on one of their
    /// processors.
    pub(super) yields: bool,
    pub(crate) source: Source,
    /// The reason to leave them unpinned where that is not requested.
    pub(crate) why_not: Option<String>,
}

impl Builder {
    pub(super) fn placement(&self, pinning: &Pinning) -> Result<Placement> {
        let is_asked = self.is_pinning_asked(pinning)?;
        let why_not = self.shared().filter(|_| !is_asked);
        let is_pinned = self.is_pinned()? && why_not.is_none();
        Ok(Placement {
            is_pinned,
            yields: is_pinned && !is_asked,
            source: match why_not {
                Some(_) => Source::Detected,
                None => self.pinning_source(pinning, is_pinned)?,
            },
            why_not,
        })
    }

    pub(super) fn planned_pinning(&self) -> Result<Pinning> {
        match &self.pinning {
            Some(pinning) => Ok(pinning.clone()),
            None if self.environment => Pinning::from_environment(&self.machine),
            None => Ok(Pinning::of(&self.machine)),
        }
    }

    fn is_pinned(&self) -> Result<bool> {
        match self.pinned {
            Some(pinned) => Ok(pinned),
            None => Ok(!self.environment || !environment::flag(&NO_PIN)?),
        }
    }

    /// Returns the reason to leave workers unpinned by default on this machine, if there is one.
    fn shared(&self) -> Option<String> {
        let (quota, allowed) = (self.machine.quota()?, self.machine.allowed().len());
        let refusal = Refusal::Shared { quota, allowed };
        self.machine.is_shared().then(|| refusal.line())
    }

    /// Whether the program or the environment requests that workers are pinned, or where.
    fn is_pinning_asked(&self, pinning: &Pinning) -> Result<bool> {
        Ok(self.pinned.is_some()
            || self.pinning_source(pinning, true)? != Source::Rule
            || self.source(false, &NO_PIN)? != Source::Rule)
    }

    fn pinning_source(&self, pinning: &Pinning, pinned: bool) -> Result<Source> {
        if !pinned {
            return self.source(self.pinned.is_some(), &NO_PIN);
        }
        let source = self.source(self.pinning.is_some(), &PIN)?;
        Ok(match source {
            Source::Rule if *pinning != Pinning::of(&self.machine) => {
                Source::Variable(pinning::OPENMP_VARIABLE)
            }
            source => source,
        })
    }

    /// Returns notes on a placement that users may not expect, and on a list of OpenMP's that was
    /// passed over.
    pub(super) fn surprises(
        &self,
        pinning: &Pinning,
        workers: usize,
        pinned: bool,
    ) -> Result<Vec<String>> {
        let source = self.source(self.pinning.is_some(), &PIN)?;
        let passed_over = match source {
            Source::Rule if self.environment => Pinning::passed_over(&self.machine),
            _ => None,
        };
        let surprise = pinning.surprise(workers, pinned);
        Ok(passed_over.into_iter().chain(surprise).collect())
    }
}
