//! Sources that make other claims of the ones that they receive.

mod select;
mod zip;

pub(in super::super) use select::{Backwards, Ordered, Step, Within};
pub(in super::super) use zip::{Chain, Zip};
