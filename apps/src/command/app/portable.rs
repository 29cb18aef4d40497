//! The bag of any application on its way to another rank: the number of the application in the
//! table, and the encoded bag.
//!
//! Which type it has is only known once it has arrived: ranks run the same command, but the
//! balancer is compiled once for all applications.

use super::any::AnyBag;
use super::choice::Bags;
use crate::command::APPLICATIONS;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use tautline_core::wire::Bulk;

impl Serialize for AnyBag {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut all = (0_u32..).zip(APPLICATIONS);
        let is_own = |bags: &Bags| (bags.kind)() == self.kind();
        let known = all.find(|(_, application)| application.bags.as_ref().is_some_and(is_own));
        let (number, _) = known.expect("the bag of an application");
        let bytes = self.pack().map_err(S::Error::custom)?;
        (number, Bulk(bytes)).serialize(to)
    }
}

impl<'de> Deserialize<'de> for AnyBag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (number, Bulk(bytes)) = <(u32, Bulk<u8>)>::deserialize(from)?;
        let application = APPLICATIONS.get(number as usize);
        let bags = application.and_then(|application| application.bags.as_ref());
        let bags = bags.ok_or_else(|| D::Error::custom("no application"))?;
        (bags.unpack)(&bytes).map_err(D::Error::custom)
    }
}
