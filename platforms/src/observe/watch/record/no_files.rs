//! No trace and no life story: the feature `story` is off.

use crate::Result;
use crate::observe::watch::observe::Observe;
use crate::observe::watch::times::TimeTable;
use tautline_core::watch::{Observer, State};
use tautline_core::{PlaceId, WorkerId};

/// Records nothing.
pub(super) struct Recorder;

impl Observer for Recorder {
    fn span(&mut self, _: State, _: u64, _: u64) {}
}

/// No files.
pub(super) struct Files;

impl Files {
    /// Refuses if a file is named.
    pub(super) fn open(observe: &Observe) -> Result<Self> {
        match observe.trace.as_ref().or(observe.life.as_ref()) {
            None => Ok(Self),
            Some(target) => {
                let allowed = "needs the feature `story` of the crate tautline";
                Err(target.refused(allowed.to_owned()))
            }
        }
    }

    pub(super) fn recorder(_: &Observe, _: usize) -> Recorder {
        Recorder
    }

    pub(super) fn write(
        &mut self,
        _: u64,
        _: u32,
        _: &[((PlaceId, WorkerId), &Recorder)],
        _: &TimeTable,
    ) {
    }
}
