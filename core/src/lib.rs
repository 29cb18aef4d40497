//! The core of Tautline: `no_std`, generic over the machine.
//!
//! From the bottom up: [`sync`], [`port`] and [`watch`]; the lock-free structures ([`deque`], [`phaser`]); the
//! grain tuner ([`grain`]), the tree of memories ([`hierarchy`]) and the chunks of loops ([`taper`]);
//! protocols as state machines without I/O ([`lifeline`], [`finish`], [`flow`], [`defer`]); and the drivers that programs are written
//! against ([`task`], [`glb`]). A module imports only from layers below its own.
#![cfg_attr(not(any(tautline_loom, tautline_shuttle)), no_std)]
#![warn(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod channel;
#[cfg(feature = "alloc")]
pub mod collective;
#[cfg(feature = "alloc")]
pub mod defer;
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
pub mod loops;
#[cfg(feature = "alloc")]
pub mod phaser;
pub mod port;
pub mod sync;
pub mod taper;
#[cfg(feature = "alloc")]
pub mod task;
pub mod watch;
#[cfg(feature = "wire")]
pub mod wire;

pub use id::{PlaceId, Rank, WorkerId};
