//! A part of a search in transit to another process: paths with open branches, and its results.

use super::part::Part;
use super::{Found, Position, Search};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The position is not sent: the receiver makes its own from the path.
impl<P: Position> Serialize for Search<P>
where
    P::Branches: Serialize,
    <P::Branches as Iterator>::Item: Serialize,
    P::Sum: Serialize,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.parts(), self.found()).serialize(to)
    }
}

impl<'de, P: Position> Deserialize<'de> for Search<P>
where
    P::Branches: Deserialize<'de>,
    <P::Branches as Iterator>::Item: Deserialize<'de>,
    P::Sum: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        type Parts<B> = (Part<B>, Vec<Part<B>>);
        let ((walk, mut waiting), found) =
            <(Parts<P::Branches>, Found<P::Sum>)>::deserialize(from)?;
        if !walk.is_done() {
            waiting.push(walk);
        }
        match Self::received(waiting, found) {
            Some(search) => Ok(search),
            None => Err(D::Error::custom("more branches than can be counted")),
        }
    }
}
