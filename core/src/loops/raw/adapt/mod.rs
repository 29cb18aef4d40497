//! Sources that make other claims of the ones that they receive.

mod select;
mod zip;

pub use select::{Backwards, Ordered, Step, Within};
pub use zip::{Chain, Zip};
