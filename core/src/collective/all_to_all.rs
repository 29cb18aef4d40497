//! Each rank sends a value to each other one.

use super::wave::Stray;
use crate::id::Rank;
use crate::machine::{Machine, Step};
use alloc::vec::Vec;

/// One all-to-all operation at one rank. A value may be a collection of any length, so the ranks
/// need not know the amount that the others send.
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

    /// Takes the value of a rank. Ends with those of all ranks, by rank, if it is the last.
    fn put(&mut self, from: Rank, value: T, step: &mut Step<'_, Self>) -> Result<(), Stray> {
        match self.values.get_mut(from.index()) {
            Some(slot @ None) if self.missing > 0 => *slot = Some(value),
            _ => return Err(Stray),
        }
        self.missing -= 1;
        if self.missing == 0 {
            step.effect(self.values.iter_mut().filter_map(Option::take).collect());
        }
        Ok(())
    }
}

/// The event is the values that this rank sends, the effect those that it receives, each by rank.
impl<T> Machine for AllToAll<T> {
    type Peer = Rank;
    type Message = T;
    type Event = Vec<T>;
    type Effect = Vec<T>;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If there is not one value for each rank, or if it has begun before.
    fn event(&mut self, values: Vec<T>, step: &mut Step<'_, Self>) {
        assert_eq!(values.len(), self.values.len(), "a value for each rank");
        // The ranks after this one first, so that not all begin with rank 0.
        let (here, ranks) = (self.here.index(), values.len());
        let mut values: Vec<_> = (0..).map(Rank).zip(values).collect();
        values.rotate_left((here + 1) % ranks);
        let own = values.pop().map(|(_, own)| own);
        for (to, value) in values {
            step.send(to, value);
        }
        let own = own.expect("one of the ranks is this one");
        let begun = self.put(self.here, own, step);
        begun.expect("a rank begins once");
    }

    fn receive(&mut self, from: Rank, value: T, step: &mut Step<'_, Self>) -> Result<(), Stray> {
        match from == self.here {
            true => Err(Stray),
            false => self.put(from, value, step),
        }
    }
}
