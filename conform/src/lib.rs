//! Suites that every backend must pass, one or more for each capability of [`tautline_core::port`].
//!
//! | capability | suites |
//! |---|---|
//! | messages between places | [`balances`] |
//! | [`Link`](tautline_core::port::Link) | [`carries`], [`loses`], [`waits`] |
//! | [`PacketLink`](tautline_core::comm::PacketLink) | [`conveys`], [`combines`] |
//! | [`Memory`](tautline_core::channel::Memory) of a ring | [`exchanges`] |
//! | [`Roster`](tautline_core::channel::Roster) | [`attends`] |
//! | [`Transport`](tautline_core::port::Transport) | [`delivers`] |
//! | [`Park`](tautline_core::port::Park) | [`parks`] |
//! | [`Barrier`](tautline_core::port::Barrier) | [`meets`], [`blocks`] |
//! | [`Thread`](tautline_core::port::Thread) | [`seats`], [`grows`] |
//! | [`Fence`](tautline_core::port::Fence) | [`fences`] |
//! | [`Clock`](tautline_core::port::Clock) | [`ticks`], [`keeps_time`] |
//! | [`Unwind`](tautline_core::port::Unwind) | [`unwinds`] |
//!
//! A backend calls these suites from its tests, for each capability that it offers. [`faults`] has
//! broken implementations that they must find.
//!
//! ```
//! use std::time::Instant;
//! use tautline_core::port::Clock;
//!
//! struct Nanoseconds(Instant);
//!
//! impl Clock for Nanoseconds {
//!     fn now(&self) -> u64 {
//!         self.0.elapsed().as_nanos() as u64
//!     }
//! }
//!
//! // In a test; panics if the clock does not conform.
//! tautline_conform::ticks(&Nanoseconds(Instant::now()), || ());
//! ```
//! Suites with threads run them on a [`Harness`]: on [`Threads`] of the standard library, or,
//! without feature `std`, on whatever a board has. Those of links, transports, rosters and panics
//! need that feature.
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod balance;
mod barrier;
mod clock;
#[cfg(feature = "std")]
mod collectives;
#[cfg(feature = "std")]
pub mod faults;
mod fence;
mod harness;
#[cfg(feature = "std")]
mod link;
#[cfg(feature = "std")]
pub mod links;
mod numbers;
#[cfg(feature = "std")]
mod packets;
mod park;
mod ring;
#[cfg(feature = "std")]
mod roster;
mod thread;
#[cfg(feature = "std")]
mod threads;
#[cfg(feature = "std")]
mod transport;
#[cfg(feature = "std")]
mod unwind;

pub use balance::{Done, Offer, Tree, balances, configurations};
pub use barrier::{blocks, meets};
pub use clock::{keeps_time, ticks};
pub use fence::fences;
pub use harness::{Body, Harness};
pub use park::parks;
pub use ring::exchanges;
pub use thread::{grows, seats};
#[cfg(feature = "std")]
pub use {
    collectives::combines,
    link::{carries, loses, waits},
    packets::conveys,
    roster::attends,
    threads::Threads,
    transport::delivers,
    unwind::unwinds,
};
