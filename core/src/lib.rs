//! The core of Tautline: mechanism without machine.
//!
//! From the ground up: [`sync`], [`port`] and [`watch`], then words ([`deque`], [`phaser`]), the grain tuner ([`grain`]) and
//! the tree of memories ([`hierarchy`]), then protocols as state machines without I/O ([`lifeline`],
//! [`finish`], [`flow`]), then the drivers that programs are written
//! against ([`glb`]). A module imports only from lower floors.
#![cfg_attr(not(any(tautline_loom, tautline_shuttle)), no_std)]
#![warn(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod deque;
pub mod finish;
pub mod flow;
#[cfg(feature = "alloc")]
pub mod glb;
pub mod grain;
#[cfg(feature = "alloc")]
pub mod hierarchy;
mod id;
pub mod lifeline;
#[cfg(feature = "alloc")]
pub mod phaser;
pub mod port;
pub mod sync;
#[cfg(feature = "alloc")]
pub mod task;
pub mod watch;

pub use id::{PlaceId, WorkerId};
