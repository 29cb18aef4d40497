//! The facade.

pub mod uts;
