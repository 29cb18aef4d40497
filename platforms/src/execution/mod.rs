//! The runtime: its plan, its threads, and the ways into it.
#![forbid(unsafe_code)]

pub(crate) mod detached;
pub(crate) mod engine;
pub mod plan;
pub mod runtime;
#[cfg(feature = "serde")]
pub(crate) mod serves;
pub mod variables;
