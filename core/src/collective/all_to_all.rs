//! Each rank sends a value to each other one.

use super::wave::{Outbox, Stray};
use crate::id::Rank;
use alloc::vec::Vec;

/// One all-to-all operation at one rank. A value may be a collection of any length, so the ranks need not know how much
/// the others send.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllToAll<T> {
    here: Rank,
    /// By rank, its own included.
    values: Vec<Option<T>>,
    missing: usize,
}

impl<T> AllToAll<T> {
    /// Creates the machine of `here` among `ranks`.
    ///
    /// # Panics
    /// If `here` is not one of the ranks.
    pub fn new(here: Rank, ranks: u32) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks} ranks");
        Self {
            here,
            values: (0..ranks).map(|_| None).collect(),
            missing: ranks as usize,
        }
    }

    /// Sends the values, one for each rank. Returns those of all ranks, by rank, if they have arrived.
    ///
    /// # Panics
    /// If there is not one value for each rank, or if it has begun before.
    pub fn begin(&mut self, values: Vec<T>, out: &mut impl Outbox<T>) -> Option<Vec<T>> {
        assert_eq!(values.len(), self.values.len(), "a value for each rank");
        // The ranks after this one first, so that not all begin with rank 0.
        let (here, ranks) = (self.here.index(), values.len());
        let mut values: Vec<_> = (0..).map(Rank).zip(values).collect();
        values.rotate_left((here + 1) % ranks);
        let (_, own) = values.pop()?;
        for (to, value) in values {
            out.send(to, value);
        }
        let begun = self.put(self.here, own);
        begun.expect("a rank begins once")
    }

    /// Processes the value of another rank. Returns those of all ranks, by rank, if it is the last.
    ///
    /// # Errors
    /// If that rank has sent one before, or does not exist.
    pub fn on(&mut self, from: Rank, value: T) -> Result<Option<Vec<T>>, Stray> {
        if from == self.here {
            return Err(Stray { from });
        }
        self.put(from, value)
    }

    fn put(&mut self, from: Rank, value: T) -> Result<Option<Vec<T>>, Stray> {
        match self.values.get_mut(from.index()) {
            Some(slot @ None) if self.missing > 0 => *slot = Some(value),
            _ => return Err(Stray { from }),
        }
        self.missing -= 1;
        if self.missing > 0 {
            return Ok(None);
        }
        Ok(Some(
            self.values.iter_mut().filter_map(Option::take).collect(),
        ))
    }
}
