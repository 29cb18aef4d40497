//! Links to test with: a reference implementation, and delays around any link.

mod collectives;
mod delayed;
mod packets;
mod plain;
mod world;

pub use delayed::Delayed;
pub use plain::Plain;
