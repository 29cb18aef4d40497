//! Sources and results on their way to another process.

use super::bag::Bc;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// Loot is sources only; results travel once the computation has ended.
impl Serialize for Bc {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.all().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Bc {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        type Results = Vec<(Vec<u128>, u64)>;
        let (intervals, results) = <(Vec<(u32, u32)>, Results)>::deserialize(from)?;
        if intervals.iter().any(|(low, high)| low >= high) {
            return Err(D::Error::custom("an interval without sources"));
        }
        if results
            .iter()
            .any(|(sums, _)| sums.len() != results[0].0.len())
        {
            return Err(D::Error::custom("results of graphs that differ in size"));
        }
        Ok(Self::received(intervals, results))
    }
}
