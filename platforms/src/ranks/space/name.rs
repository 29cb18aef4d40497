//! The name of a space in errors.

use super::Key;
use super::message::Kept;
use super::roles::Roles;
use crate::ranks::error::{RankError, RankErrorKind};
use std::fmt;
use std::panic::Location;
use tautline_core::Rank;
use tautline_core::space::{Failure, Message, SpaceMessage};

/// Keys that an error names, at most.
const NAMED: usize = 5;

pub(super) struct Name {
    pub(super) site: &'static Location<'static>,
    /// The types of the keys and of the values.
    pub(super) types: [&'static str; 2],
}

/// The key of a message, if it has one, as the end of a sentence about that.
pub(super) struct About<K>(Option<K>);

impl<K: Key> About<K> {
    pub(super) fn of<V>(message: &Kept<K, V>) -> Self {
        Self(match message {
            SpaceMessage::Of(
                Message::Put { key, .. } | Message::Fetch { key } | Message::Data { key, .. },
            ) => Some(key.clone()),
            SpaceMessage::Of(Message::End(_)) | SpaceMessage::Round(_) => None,
        })
    }
}

impl<K: fmt::Debug> fmt::Display for About<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(key) => write!(f, ", of the key {key:?}"),
            None => Ok(()),
        }
    }
}

/// Keys for which reads wait: the first ones, and the number of others.
pub(super) struct Keys<'a, K>(pub(super) &'a [(&'a K, u32)]);

impl<K: fmt::Debug> fmt::Display for Keys<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0.len() == 1 { "" } else { "s" };
        write!(f, "key{plural}")?;
        for (at, (key, _)) in self.0.iter().take(NAMED).enumerate() {
            write!(f, "{} {key:?}", if at == 0 { "" } else { "," })?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [key, value] = self.types;
        write!(f, "the space of {value} by {key}, opened at {}", self.site)
    }
}

impl Name {
    fn error(&self, kind: RankErrorKind, rank: Rank, why: impl fmt::Display) -> RankError {
        RankError::of_object(kind, rank, format_args!("{self}: {why}"))
    }

    /// Returns the error of reads whose home was lost.
    pub(super) fn lost<K: Key>(&self, key: &K, home: Rank) -> RankError {
        let why = format_args!("{home}, the home of {key:?}, was lost");
        self.error(RankErrorKind::Lost, home, why)
    }

    /// Returns the error with which it has ended.
    pub(super) fn failed<K: Key>(&self, failure: &Failure<K>) -> RankError {
        let (kind, rank) = match failure {
            Failure::PutTwice { second, .. } => (RankErrorKind::Violated, *second),
            Failure::Abandoned { by, .. } => (RankErrorKind::Failed, *by),
        };
        self.error(kind, rank, failure)
    }

    /// Returns the error of a close whose messages cannot be counted.
    pub(super) fn uncounted(&self, lost: Rank) -> RankError {
        let why = format_args!("{lost} was lost before all ranks had closed it");
        self.error(RankErrorKind::Lost, lost, why)
    }

    /// Returns the error of a close while reads wait, if there are any.
    pub(super) fn never_put<K: Key>(
        &self,
        roles: &Roles<K>,
        waiting: &[(&K, u32)],
    ) -> Option<RankError> {
        let reads: u32 = waiting.iter().map(|(_, reads)| reads).sum();
        let named = waiting.iter().take(NAMED);
        let named: Vec<_> = named
            .map(|(key, _)| format!("{key:?} of {}", roles.home(key)))
            .collect();
        let more = match waiting.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (noun, verb) = match reads {
            1 => ("read", "waits"),
            _ => ("reads", "wait"),
        };
        let (here, named) = (roles.here, named.join(", "));
        let why = format_args!(
            "closed while {reads} {noun} of {here} {verb} for {named}{more}, which no rank puts"
        );
        (reads > 0).then(|| self.error(RankErrorKind::Diverged, roles.here, why))
    }
}
