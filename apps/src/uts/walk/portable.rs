//! A part of the search on its way to another process: intervals and counts.

use super::{Counts, Uts};
use crate::uts::hash::Interval;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use tautline_core::wire::Bulk;

/// Stale intervals are not serialized.
impl Serialize for Uts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let words = self.stack[..self.top].iter().map(Interval::words);
        (Bulk(words.collect()), &self.counts).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Uts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (words, counts) = <(Bulk<[u32; 8]>, Counts)>::deserialize(from)?;
        let stack: Vec<_> = words.0.into_iter().map(Interval::of).collect();
        if stack.iter().any(|interval| interval.low >= interval.high) {
            return Err(D::Error::custom("an interval without nodes"));
        }
        if !stack.is_sorted_by_key(|interval| interval.depth) {
            return Err(D::Error::custom(
                "intervals not in the order of their depths",
            ));
        }
        let mut bag = Self::with(stack);
        bag.counts = counts;
        Ok(bag)
    }
}
