//! The name of an object in errors.

use crate::ranks::error::{RankError, RankErrorKind};
use crate::ranks::globals::message::{Ending, ObjectId, Origin};
use crate::ranks::team::text_of;
use std::any::Any;
use std::fmt;
use tautline_core::Rank;

/// The name of an object, for errors.
pub(in crate::ranks::globals) struct Name {
    pub(in crate::ranks::globals) here: Rank,
    pub(in crate::ranks::globals) id: ObjectId,
    pub(in crate::ranks::globals) type_name: &'static str,
    pub(in crate::ranks::globals) origin: Origin,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            type_name,
            origin,
            ..
        } = self;
        write!(f, "{id} ({type_name}, created at {origin})")
    }
}

impl Name {
    pub(in crate::ranks::globals) fn error(
        &self,
        kind: RankErrorKind,
        rank: Rank,
        why: impl fmt::Display,
    ) -> RankError {
        let line = format_args!("{self}: {why}");
        RankError::of_object(kind, rank, line)
    }

    /// Returns the error of a change that has panicked at a rank.
    pub(in crate::ranks::globals) fn panicked(
        &self,
        at: Rank,
        payload: &(dyn Any + Send),
    ) -> RankError {
        self.panicked_with(at, &text_of(payload))
    }

    pub(in crate::ranks::globals) fn panicked_with(&self, at: Rank, text: &str) -> RankError {
        let why = format_args!("its change panicked at {at}: {text}");
        self.error(RankErrorKind::Panicked, at, why)
    }

    /// Returns the error of an object that has ended.
    pub(in crate::ranks::globals) fn ended(&self, ending: &Ending) -> RankError {
        let (here, home) = (self.here, self.id.home);
        match ending {
            Ending::Differs(there) => {
                let why = format_args!("at another rank it is {there}");
                self.error(RankErrorKind::Diverged, home, why)
            }
            Ending::Unusable(why) => self.error(RankErrorKind::Encoding, here, why),
            Ending::Violated(rank) => {
                let why = format_args!("{rank} has sent what no rank sends about it");
                self.error(RankErrorKind::Violated, *rank, why)
            }
            Ending::Freed => self.error(RankErrorKind::Freed, home, "it was freed"),
        }
    }

    /// Returns the error of a value that does not travel.
    pub(in crate::ranks::globals) fn unusable(&self, why: impl fmt::Display) -> RankError {
        self.error(RankErrorKind::Encoding, self.here, why)
    }

    /// Returns the error of a value that was lost with a rank.
    pub(in crate::ranks::globals) fn lost(&self, rank: Rank) -> RankError {
        let why = format_args!("{rank}, which had its value, has ended");
        self.error(RankErrorKind::Lost, rank, why)
    }
}
