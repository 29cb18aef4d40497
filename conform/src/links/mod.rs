//! Links to test with: a reference implementation, and delays around any link.

mod delayed;
mod plain;

pub use delayed::Delayed;
pub use plain::Plain;
