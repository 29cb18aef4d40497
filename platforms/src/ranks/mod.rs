//! Computations over ranks.
#![forbid(unsafe_code)]

pub mod comm;
mod engine;
pub(crate) mod error;
pub mod protocol;
mod rooted;
pub mod world;
