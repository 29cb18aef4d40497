//! Global load balancing.
#![forbid(unsafe_code)]

mod bag;

pub use bag::{Bag, Share};
