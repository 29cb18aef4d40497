//! Balanced computations, and searches that are one.
#![forbid(unsafe_code)]

pub mod backtrack;
pub mod glb;
