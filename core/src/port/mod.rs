//! What a machine must lend the core: one capability a file.
//!
//! Required methods are the port; a backend that implements only those is complete and correct.
#![forbid(unsafe_code)]

mod clock;
mod park;
mod relax;

pub use clock::Clock;
pub use park::Park;
pub use relax::{Relax, Spin};
