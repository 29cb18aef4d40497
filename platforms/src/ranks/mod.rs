//! Computations over ranks.
#![forbid(unsafe_code)]

mod collective;
pub mod comm;
mod engine;
pub(crate) mod error;
pub mod globals;
pub mod protocol;
pub(crate) mod space;
pub(crate) mod statistics;
pub mod team;
pub mod world;
