//! The machine: its processors and memories, and the processors of workers.
#![forbid(unsafe_code)]

pub(crate) mod division;
#[cfg(any(feature = "describe", feature = "sim"))]
pub(crate) mod file;
pub mod pinning;
pub mod platform;
