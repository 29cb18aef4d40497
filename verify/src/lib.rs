//! What is checked about Tautline: the harnesses that loom models and random schedules of the words run in, the exhaustive
//! explorer of the protocols, and what every backend must do alike.
#![forbid(unsafe_code)]

pub mod conform;
pub mod explore;
pub mod link;
#[cfg(tautline_loom)]
pub mod model;
pub mod phased;
pub mod printed;
#[cfg(tautline_shuttle)]
pub mod schedules;
#[cfg(tautline_shuttle)]
pub mod virtual_time;
