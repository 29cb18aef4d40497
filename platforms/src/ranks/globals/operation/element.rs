//! Blocks of arrays, and operations on one element.

use super::{Applied, Call, Outcome};
use crate::ranks::globals::Datum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Deref, DerefMut};
use tautline_core::comm::{Number, Operator};
use tautline_core::wire::{Bulk, Encoding, Malformed, Portable, Unencodable, unpack};

/// The elements of a block of a [`GlobalArray`](super::super::GlobalArray), as a slice. They are
/// encoded by one copy. An operation must not replace a block by one of another length: accesses to
/// its elements would panic.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Block<T: Datum>(Bulk<T>);

impl<T: Datum> Block<T> {
    pub(in crate::ranks::globals) fn new(elements: impl Iterator<Item = T>) -> Self {
        Self(Bulk(elements.collect()))
    }
}

impl<T: Datum> Deref for Block<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0.0
    }
}

impl<T: Datum> DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0.0
    }
}

impl<T: Datum + fmt::Debug> fmt::Debug for Block<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The combination of an element with a number, which returns the former element.
pub(in crate::ranks::globals) struct AppliedAt<T> {
    /// Its index in the block.
    at: u64,
    by: Applied<T>,
}

impl<T: Number + Portable> AppliedAt<T> {
    pub(in crate::ranks::globals) fn new(operator: Operator, at: usize, by: T) -> Self {
        let (at, by) = (at as u64, Applied { operator, by });
        Self { at, by }
    }

    pub(super) fn decode(operator: Operator, args: &[u8]) -> Result<Self, Malformed> {
        let (at, by) = unpack::<(u64, T)>(args)?;
        let by = Applied { operator, by };
        Ok(Self { at, by })
    }

    pub(in crate::ranks::globals) fn apply(&self, block: &mut Block<T>) -> T {
        self.by.apply(&mut block[self.at as usize])
    }
}

impl<T: Number + Portable> Call<Block<T>> for AppliedAt<T> {
    fn run(self: Box<Self>, block: &mut Block<T>) -> Box<dyn Outcome> {
        Box::new(self.apply(block))
    }

    fn position(&self) -> u32 {
        self.by.position()
    }

    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(&(self.at, self.by.by), limit)
    }
}
