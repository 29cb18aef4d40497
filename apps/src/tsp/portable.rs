//! Branches of a search on their way to another process.

use super::bag::{Found, Tsp};
use super::part::Part;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

impl Serialize for Tsp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.all().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Tsp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (parts, target, found) = <(Vec<Part>, Option<usize>, Found)>::deserialize(from)?;
        match parts.iter().all(Part::is_consistent) {
            true => Ok(Self::received(parts, target, found)),
            false => Err(D::Error::custom(
                "branches that do not belong to their path",
            )),
        }
    }
}
