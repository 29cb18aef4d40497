//! Verification of Tautline: the harnesses that loom models and random schedules of the words run
//! in, and the exhaustive explorer of the protocols.
#![forbid(unsafe_code)]

pub mod explore;
#[cfg(tautline_loom)]
pub mod model;
pub mod phased;
#[cfg(tautline_shuttle)]
pub mod schedules;
pub mod simulated;
#[cfg(tautline_shuttle)]
pub mod virtual_time;
