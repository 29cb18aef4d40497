//! What is checked about Tautline: the harness that loom models of the words run in, and what the
//! explorations of the protocols share.
#![forbid(unsafe_code)]

#[cfg(tautline_loom)]
pub mod model;
