//! Computations over ranks.
#![forbid(unsafe_code)]

pub mod comm;
pub mod protocol;
pub mod world;
