//! The messages of a space, as the exchange uses them.

use super::message::{Undecoded, decode};
use super::over::Over;
use super::{Key, Value};
use crate::ranks::error::RankError;
use std::sync::Arc;
use tautline_core::wire::{self, Fault, Receiver};
use tautline_core::{PlaceId, Rank};

/// Keeps the space until the channels end.
pub(super) struct Inlet<K: Key, V: Value>(pub(super) Arc<Over<K, V>>);

impl<K: Key, V: Value> Receiver for Inlet<K, V> {
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let from = Rank(from.0);
        match decode(&*self.0.codec, body) {
            Ok(message) => self.0.received(from, message),
            Err(Undecoded::Malformed(malformed)) => return Err(malformed.into()),
            Err(Undecoded::Panicked(key, text)) => {
                let why = format_args!("decoding the value of {key:?} panicked: {text}");
                self.0.abandon(why);
            }
        }
        Ok(())
    }

    fn left(&self, rank: Rank) -> Result<(), Fault> {
        self.0.lost(rank);
        Ok(())
    }

    fn lost(&self, error: &wire::Error) -> bool {
        self.0.lost(error.peer);
        true
    }

    fn fail(&self, error: &wire::Error) {
        self.0.fail(&RankError::from(error.clone()));
    }
}
